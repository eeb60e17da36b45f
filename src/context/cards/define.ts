/** How a kind of card is declared: a zod schema for its payload, and what of the payload identifies it. */
import { z } from 'zod';
import { blake3Hex } from '../../ledger/chain.ts';
import { TurnwrightError } from '../../ledger/errors.ts';
import { canonicalJson, type Json, type JsonObject } from '../../ledger/json.ts';
import { oneLine } from '../one-line.ts';
import { type Problems, problemsOf, unusable } from './explain.ts';

/** Short enough that `emit_<type>_card` stays within the 64 characters providers accept. */
const TYPE_FORM = /^[a-z][a-z0-9-]{0,39}$/;
/** A fence names its card's type beside the payload's members. */
const RESERVED_MEMBER = 'type';

export interface CardSpec<Schema extends z.ZodObject> {
  /** Lower-case letters, digits and `-`, at most 40 characters; it never changes once cards are stored. */
  readonly type: string;
  /** The first sentence stands alone in the catalogue of tools. */
  readonly description: string;
  /** Counts up when the schema changes; every presentation names the one it was checked against. */
  readonly schemaVersion: number;
  /** Strict or loose at every level, so that no member is lost on the way to the ledger; without `type`. */
  readonly schema: Schema;
  /** One line; white space in it collapses. */
  title(payload: z.output<Schema>): string;
  /** What a later turn sees of the card until it recalls the whole; one line, like the title. */
  identity(payload: z.output<Schema>): string;
}

export type CardCheck =
  | {
      readonly ok: true;
      /** Validated, with defaults filled in and its keys in canonical order; nothing is ever shortened. */
      readonly payload: JsonObject;
      /** blake3 of the payload's canonical JSON, in hex. */
      readonly payloadDigest: string;
      readonly title: string;
      readonly identity: string;
    }
  | { readonly ok: false; readonly problems: Problems };

export interface CardDefinition {
  readonly type: string;
  /** `emit_<type>_card`, with `-` as `_`. */
  readonly tool: string;
  readonly description: string;
  readonly schemaVersion: number;
  readonly inputSchema: JsonObject;
  /** Never throws, whatever the payload holds. */
  check(payload: Json): CardCheck;
}

/** @throws TurnwrightError `config_invalid` when the declaration cannot become a card. */
export function defineCard<Schema extends z.ZodObject>(spec: CardSpec<Schema>): CardDefinition {
  checkSpec(spec);
  const inputSchema = jsonSchemaOf(spec.type, spec.schema);
  return Object.freeze({
    type: spec.type,
    tool: `emit_${spec.type.replaceAll('-', '_')}_card`,
    description: spec.description,
    schemaVersion: spec.schemaVersion,
    inputSchema,
    check: (payload: Json) => checkPayload(spec, inputSchema, payload),
  });
}

function checkPayload<Schema extends z.ZodObject>(
  spec: CardSpec<Schema>,
  inputSchema: JsonObject,
  payload: Json,
): CardCheck {
  try {
    const result = spec.schema.safeParse(payload, { reportInput: true });
    if (!result.success) return { ok: false, problems: problemsOf(inputSchema, result.error.issues) };
    const canonical = canonicalJson(result.data);
    return {
      ok: true,
      payload: JSON.parse(canonical) as JsonObject,
      payloadDigest: blake3Hex(canonical),
      title: oneLine(spec.title(result.data).toWellFormed()) || spec.type,
      identity: oneLine(spec.identity(result.data).toWellFormed()),
    };
  } catch (error) {
    // A declaration's own code failed, or the payload nests too deep to walk.
    return { ok: false, problems: unusable(error) };
  }
}

/** Types say most of this already, but cards are also declared in JavaScript. */
function checkSpec(spec: CardSpec<z.ZodObject>): void {
  if (!TYPE_FORM.test(spec.type))
    refuse(
      spec.type,
      'type must begin with a lower-case letter and hold at most 40 such letters, digits or "-"',
    );
  if (spec.description.trim() === '') refuse(spec.type, 'description is empty; say what the card shows');
  if (!Number.isSafeInteger(spec.schemaVersion) || spec.schemaVersion < 1)
    refuse(spec.type, `schemaVersion is ${spec.schemaVersion}; it must be a whole number from 1`);
  for (const name of ['title', 'identity'] as const)
    if (typeof spec[name] !== 'function')
      refuse(spec.type, `${name} must be a function of the payload that returns a line of text`);
}

function jsonSchemaOf(type: string, schema: z.ZodObject): JsonObject {
  let made: z.core.JSONSchema.BaseSchema;
  const losing: string[] = [];
  try {
    // The output form is made only to refuse transforms and dates: a stored payload must stay JSON data.
    z.toJSONSchema(schema, { io: 'output' });
    made = z.toJSONSchema(schema, {
      io: 'input',
      override: ({ zodSchema, jsonSchema, path }) => {
        dropSafeIntegerBounds(jsonSchema);
        const { def } = zodSchema._zod;
        if (def.type === 'object' && def.catchall === undefined) losing.push(placeOf(path));
      },
    });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return refuse(type, `schema must be a z.strictObject of plain JSON values: ${reason}`, cause);
  }
  const [first] = losing;
  if (first !== undefined)
    refuse(type, `schema would drop unknown members ${first}; use z.strictObject or z.looseObject there`);
  if (made.type !== 'object') refuse(type, 'schema must be a z.strictObject');
  if (made.properties !== undefined && Object.hasOwn(made.properties, RESERVED_MEMBER))
    refuse(type, `schema has a member "${RESERVED_MEMBER}", where a fence names the card; call it otherwise`);
  const { $schema: _, ...rest } = made;
  return JSON.parse(JSON.stringify(rest), (_key, value: unknown) => Object.freeze(value)) as JsonObject;
}

/** `z.int()` states the bounds of safe integers, which would cost tokens on every request and say nothing. */
function dropSafeIntegerBounds(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
}

function placeOf(path: readonly (string | number)[]): string {
  return path.length === 0 ? 'of the payload' : `at ${path.join('/')}`;
}

function refuse(type: unknown, reason: string, cause?: unknown): never {
  throw new TurnwrightError('config_invalid', `Card ${JSON.stringify(type)} cannot be defined: ${reason}.`, {
    cause,
  });
}
