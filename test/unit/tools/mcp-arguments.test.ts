import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../src/ledger/json.ts';
import { checkArguments } from '../../../src/tools/mcp/check-arguments.ts';

const SCHEMAS = 600;
const VALUES = 5;
const PAIRS = SCHEMAS * VALUES;
const LEAST_SHARE = 0.01;
/** A bound against hanging, not a speed test. */
const HANG_MS = 5_000;

const keys = fc.constantFrom('a', 'b', 'c');
const scalars = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer({ min: -2, max: 6 }),
  fc.constantFrom(0.5, -1.5),
  fc.constantFrom('', 'x', 'xyz', '😀', '😀😀😀'),
);

const values: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    scalars,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(keys, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value;

const bounds = fc.record(
  {
    minimum: fc.integer({ min: -1, max: 3 }),
    maximum: fc.integer({ min: 0, max: 5 }),
    exclusiveMinimum: fc.integer({ min: -1, max: 2 }),
    exclusiveMaximum: fc.integer({ min: 1, max: 5 }),
    minLength: fc.integer({ min: 0, max: 2 }),
    maxLength: fc.integer({ min: 0, max: 3 }),
    minItems: fc.integer({ min: 0, max: 2 }),
    maxItems: fc.integer({ min: 0, max: 2 }),
    enum: fc.array(scalars, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: [], noNullPrototype: true },
);

/** `left`: whether the schema may hold keywords that are left to the server. */
function schemas(left: boolean): fc.Arbitrary<JsonObject> {
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => {
    const typed = (type: string, more: fc.Arbitrary<object>) =>
      more.map((members) => ({ type, ...members }) as unknown as JsonObject);
    const object = fc.record(
      {
        properties: fc.dictionary(keys, tie('schema'), { noNullPrototype: true }),
        required: fc.uniqueArray(keys, { maxLength: 2 }),
        additionalProperties: fc.boolean(),
      },
      { requiredKeys: [], noNullPrototype: true },
    );
    const known: fc.Arbitrary<JsonObject>[] = [
      fc.constantFrom('string', 'number', 'integer', 'boolean', 'null').chain((type) => typed(type, bounds)),
      bounds as unknown as fc.Arbitrary<JsonObject>,
      typed('object', object),
      typed('array', fc.record({ items: tie('schema') }, { requiredKeys: [], noNullPrototype: true })),
      fc.array(tie('schema'), { minLength: 1, maxLength: 2 }).map((allOf) => ({ allOf })),
      fc.array(tie('schema'), { minLength: 1, maxLength: 2 }).map((anyOf) => ({ anyOf })),
    ];
    const others: fc.Arbitrary<JsonObject>[] = [
      fc.array(tie('schema'), { minLength: 1, maxLength: 2 }).map((oneOf) => ({ oneOf })),
      tie('schema').map((not) => ({ not })),
      tie('schema').map((given) => ({ if: { type: 'string' }, else: given })),
      tie('schema').map((a) => ({ patternProperties: { '^a$': a }, additionalProperties: false })),
      fc.constant({ type: 'string', pattern: '^x' }),
    ];
    return { schema: fc.oneof({ maxDepth: 3, depthSize: 'small' }, ...known, ...(left ? others : [])) };
  });
  return schema;
}

const asArguments = (schema: JsonObject): JsonObject => ({
  type: 'object',
  properties: { given: schema },
  required: ['given'],
});

const reference = new AjvJsonSchemaValidator();

/** Checks a law on many pairs, and that both answers of the reference occurred often enough to mean something. */
function law(left: boolean, holds: (isFit: boolean, isTaken: boolean) => boolean): void {
  const counted = { fit: 0, unfit: 0 };
  const candidates = fc.array(values, { minLength: VALUES, maxLength: VALUES });
  fc.assert(
    fc.property(schemas(left), candidates, (given, several) => {
      const schema = asArguments(given);
      const isFit = reference.getValidator(schema as never);
      return several.every((value) => {
        const args: JsonObject = { given: value };
        const { valid } = isFit(args);
        counted[valid ? 'fit' : 'unfit'] += 1;
        return holds(valid, checkArguments('tool', schema, args) === null);
      });
    }),
    { numRuns: SCHEMAS },
  );
  console.info(`arguments that fit their schema: ${counted.fit}, that do not: ${counted.unfit}`);
  for (const count of Object.values(counted)) expect(count / PAIRS).toBeGreaterThan(LEAST_SHARE);
}

describe('the check of arguments against a JSON schema', () => {
  it('SUR-02 never refuses what fits the schema, whatever keywords that has', () => {
    law(true, (isFit, isTaken) => !isFit || isTaken);
  });

  it('SUR-02 refuses what does not fit, where the schema has only keywords that are looked at', () => {
    law(false, (isFit, isTaken) => isFit === isTaken);
  });

  it('SUR-02 leaves a place with a reference to the server, whatever stands beside it', () => {
    const schema = { type: 'object', properties: { a: { $ref: '#/$defs/x', type: 'string' } } };
    expect(checkArguments('tool', schema, { a: 1 })).toBe(null);
  });

  it('SUR-02 takes names that mean something to JavaScript as names', () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"integer"}}}',
    ) as JsonObject;
    const closed = { ...schema, additionalProperties: false };
    expect(checkArguments('tool', schema, JSON.parse('{"__proto__":"x"}') as JsonObject)).toMatch(
      /__proto__/,
    );
    expect(checkArguments('tool', closed, { constructor: 1 })).toMatch(/constructor: no such property/);
    expect(checkArguments('tool', { type: 'object', required: ['toString'] }, {})).toMatch(/toString/);
  });

  it('SUR-02 ends soon on a hostile schema and on large arguments', () => {
    let deep: JsonObject = { type: 'integer' };
    for (let depth = 0; depth < 3_000; depth += 1) deep = { allOf: [deep, deep] };
    const many = {
      type: 'array',
      items: { enum: Array.from({ length: 10_000 }, (_, index) => `v${index}`) },
    };
    const large = Array.from({ length: 500_000 }, () => 'x');
    const startedMs = performance.now();
    expect(checkArguments('tool', { type: 'object', properties: { a: deep } }, { a: 'x' })).toBe(null);
    expect(checkArguments('tool', { type: 'object', properties: { a: many } }, { a: large })).not.toBe(null);
    expect(
      checkArguments(
        'tool',
        { type: 'object', properties: { a: { pattern: '^(a+)+$' } } },
        {
          a: 'a'.repeat(5_000_000),
        },
      ),
    ).toBe(null);
    expect(performance.now() - startedMs).toBeLessThan(HANG_MS);
  });
});
