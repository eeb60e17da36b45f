import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readFences } from '../../../src/context/cards/fences.ts';
import {
  BUILTIN_CARDS,
  type CardDefinition,
  createCards,
  defineCard,
} from '../../../src/context/cards/index.ts';
import {
  type PresentContext,
  type Presented,
  presentCall,
  presentFence,
} from '../../../src/context/cards/present.ts';
import { blake3Hex } from '../../../src/ledger/chain.ts';
import { TurnwrightError } from '../../../src/ledger/errors.ts';
import { byteLength, canonicalJson, type Json, type JsonObject } from '../../../src/ledger/json.ts';
import { type Presentation, presentation as presentationBody } from '../../../src/ledger/presentation.ts';
import { Tally } from '../ledger/sample.ts';

const cards = createCards(BUILTIN_CARDS);
const fresh: PresentContext = { id: 'p1', earlier: [], evidence: [] };

function callOf(name: string, args: Json) {
  return { name, args, id: 'call_1', step: 1, index: 0 };
}

function emit(type: string, args: Json, context: PresentContext = fresh): Presented {
  return presentCall(cards, callOf(`emit_${type}_card`, args), context);
}

function shown(presented: Presented): Presentation {
  if (presented.kind !== 'presented') throw new Error(`not presented: ${JSON.stringify(presented)}`);
  return presented.presentation;
}

function refusal(presented: Presented): string {
  if (presented.kind !== 'refused') throw new Error(`not refused: ${JSON.stringify(presented)}`);
  return presented.message;
}

const METRIC = { title: 'Copper', value: 9_120.5, unit: 'USD/t' };

/** One payload of each kind, with every member there is. */
const SAMPLES: Readonly<Record<string, JsonObject>> = {
  metric: { ...METRIC, change: '+3 %', asOf: '2 May', note: 'spot' },
  table: {
    title: 'Rivers',
    columns: ['name', 'km'],
    rows: [
      ['Elbe', 1_094],
      ['Oder', null],
    ],
  },
  chart: {
    title: 'Rain',
    kind: 'bar',
    summary: 'Wetter in autumn',
    labels: ['Mar', 'Oct'],
    series: [
      { name: 'north', values: [20, 60] },
      { name: 'south', values: [10, null] },
    ],
  },
  entity: { title: 'Ada', kind: 'person', fields: [{ label: 'Born', value: '1815' }] },
  checklist: { title: 'Move', items: [{ label: 'Pack', done: true, note: 'boxes' }, { label: 'Carry' }] },
  timeline: { title: 'War', items: [{ when: '1914', label: 'Outbreak', note: 'in summer' }] },
  research: {
    title: 'Batteries',
    takeaways: ['Cells get cheaper', 'Salt is next'],
    body: 'A long story.',
    sources: [
      { title: 'Cell prices', url: 'https://a.example/cells', snippet: 'prices fell again' },
      { title: 'notes.md' },
    ],
  },
};

/** The same data with the members of every object in another order. */
function reversed(value: Json): Json {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  );
}

describe('a card call', () => {
  it('EVI-04 becomes a presentation that holds its source, canonical payload, digest and evidence', () => {
    const presented = presentCall(
      cards,
      { name: 'emit_metric_card', args: reversed(METRIC), id: 'call_9', step: 3, index: 2 },
      { id: 'p4', earlier: [], evidence: ['e2', 'e5'] },
    );
    expect(shown(presented)).toEqual({
      presentation: 'p4',
      source: { kind: 'tool-call', callId: 'call_9', step: 3, index: 2 },
      type: 'metric',
      schemaVersion: 1,
      title: 'Copper',
      payload: METRIC,
      payloadDigest: blake3Hex('{"title":"Copper","unit":"USD/t","value":9120.5}'),
      digest: 'Copper: 9120.5 USD/t',
      derivedFrom: ['e2', 'e5'],
    });
    expect(Object.keys(shown(presented).payload as JsonObject)).toEqual(['title', 'unit', 'value']);
    expect(presentationBody.parse(shown(presented))).toEqual(shown(presented));
  });

  it('EVI-04 is answered with a short ack that repeats nothing of the payload', () => {
    expect(emit('metric', METRIC)).toMatchObject({ ack: '{"ok":true,"presentation":"p1"}' });
    expect(emit('table', SAMPLES.table ?? null, { ...fresh, id: 'p12' })).toMatchObject({
      ack: '{"ok":true,"presentation":"p12"}',
    });
  });

  it('EVI-04 of a payload the turn has shown already writes nothing and names the card that stands', () => {
    const first = shown(emit('metric', METRIC, { ...fresh, id: 'p3' }));
    const second = shown(emit('metric', { ...METRIC, value: 1 }, { ...fresh, id: 'p4', earlier: [first] }));
    const context = { id: 'p5', earlier: [first, second], evidence: ['e9'] };
    expect(emit('metric', reversed(METRIC), context)).toEqual({
      kind: 'repeated',
      of: 'p3',
      ack: '{"ok":true,"presentation":"p3","repeated":true}',
    });
    expect(emit('metric', { ...METRIC, value: 2 }, context).kind).toBe('presented');
  });

  it('EVI-04 EVA-05 followed by the same fence twice leaves one presentation, sourced from the call', () => {
    const fence = `\`\`\`card\n${JSON.stringify({ type: 'metric', ...METRIC })}\n\`\`\``;
    const written: Presentation[] = [];
    const take = (present: (context: PresentContext) => Presented) => {
      const made = present({ id: `p${written.length + 1}`, earlier: [...written], evidence: [] });
      if (made.kind === 'presented') written.push(made.presentation);
      return made.kind;
    };
    const fences = readFences(`Here it is.\n\n${fence}\n\nAgain:\n\n${fence}\n`);
    expect(take((context) => emit('metric', METRIC, context))).toBe('presented');
    expect(fences.map((one) => take((context) => presentFence(cards, one, 2, context)))).toEqual([
      'repeated',
      'repeated',
    ]);
    expect(written).toMatchObject([{ presentation: 'p1', source: { kind: 'tool-call' } }]);
  });

  it('EVI-04 keeps calls of one id in different steps apart by step and index', () => {
    const at = (step: number, index: number, value: number) =>
      shown(
        presentCall(
          cards,
          { name: 'emit_metric_card', args: { title: 'a', value }, id: 'call_0', step, index },
          fresh,
        ),
      ).source;
    expect(at(1, 0, 1)).not.toEqual(at(2, 0, 1));
    expect(at(1, 0, 1)).not.toEqual(at(1, 1, 1));
  });

  it('EVI-04 that does not fit is refused with each member, what was found and what is allowed', () => {
    const args = { title: 5, value: true, unit: 'x'.repeat(201), colour: 'red', "it's": 1 };
    expect(refusal(emit('metric', args)).split('\n')).toEqual([
      'The payload of emit_metric_card does not fit:',
      '- title: found 5; allowed is a string.',
      '- value: found true; allowed is a number or a string.',
      `- unit: found "${'x'.repeat(59)}…"; allowed is a string of at most 200 characters.`,
      '- the payload: found "colour", "it\'s"; its members are title, value, unit, change, asOf, note.',
      'Correct it and call emit_metric_card again.',
    ]);
    const nested = { title: 'a', items: [{ label: 'b' }, { done: 'no', why: 1 }] };
    expect(refusal(emit('checklist', nested)).split('\n').slice(1, -1)).toEqual([
      '- items[1].label: found nothing; allowed is a string.',
      '- items[1].done: found "no"; allowed is true or false.',
      '- items[1]: found "why"; its members are label, done, note.',
    ]);
    expect(refusal(emit('metric', null))).toContain('- the payload: found null; allowed is an object.');
    expect(refusal(emit('timeline', { title: 'a', items: {} }))).toContain(
      '- items: found an empty object; allowed is a list.',
    );
    expect(refusal(emit('research', { title: 'a', takeaways: [], sources: [] }))).toContain(
      '- takeaways: found a list of 0; allowed is at least 1 items.',
    );
    expect(refusal(emit('chart', { ...SAMPLES.chart, kind: 'cake' }))).toContain(
      '- kind: found "cake"; allowed is one of "line", "bar", "area", "pie".',
    );
  });

  it('EVI-04 whose rows or series miss cells is refused, and no link leads elsewhere than to the web', () => {
    expect(refusal(emit('table', { title: 'a', columns: ['x', 'y'], rows: [[1, 2], [1]] }))).toContain(
      '- rows[1]: found a list of 1; allowed is a list of 2 cells, one for each column.',
    );
    expect(
      refusal(emit('chart', { ...SAMPLES.chart, series: [{ name: 'a', values: [1, 2, 3] }] })),
    ).toContain('- series[0].values: found a list of 3; allowed is a list of 2 values, one for each label.');
    for (const url of ['javascript:alert(1)', 'file:///etc/passwd', 'https://a b', ''])
      expect(
        refusal(emit('research', { title: 'a', takeaways: ['b'], sources: [{ title: 'c', url }] })),
      ).toContain(`- sources[0].url: found ${JSON.stringify(url)}; allowed is an http or https address.`);
  });

  it('EVI-04 of a tool that is no card tool names those there are', () => {
    expect(refusal(presentCall(cards, callOf('emit_pie_card', {}), fresh))).toBe(
      'There is no card tool "emit_pie_card". The card tools are: emit_chart_card, emit_checklist_card, ' +
        'emit_entity_card, emit_metric_card, emit_research_card, emit_table_card, emit_timeline_card.',
    );
    expect(refusal(presentCall(createCards([]), callOf('x', {}), fresh))).toContain('card tools are: none.');
  });

  it('EVI-04 never throws, whatever its arguments are, and its messages stay short', () => {
    const tally = new Tally();
    const member = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constantFrom(...Object.values(SAMPLES).flatMap((sample) => Object.values(sample))),
    );
    const nearly = fc
      .tuple(fc.constantFrom(...Object.values(SAMPLES)), fc.string({ maxLength: 8 }), member)
      .map(([sample, key, value]) => {
        const at = Object.keys(sample)[key.length % Object.keys(sample).length] ?? key;
        return key.length > 6 ? { ...sample, [key]: value } : { ...sample, [at]: value };
      });
    const args = fc.oneof(fc.jsonValue({ maxDepth: 4 }), nearly, fc.constantFrom(...Object.values(SAMPLES)));
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(SAMPLES)), args, (type, given) => {
        const presented = emit(type, given as Json);
        if (presented.kind === 'refused') expect(presented.message.length).toBeLessThanOrEqual(1_000);
        else expect(presentationBody.parse(shown(presented)).type).toBe(type);
        tally.count({ presented: presented.kind === 'presented', refused: presented.kind === 'refused' });
      }),
      { numRuns: 2_000 },
    );
    tally.report('card calls with any arguments');
    let deep: Json = 'x';
    for (let level = 0; level < 50_000; level += 1) deep = [deep];
    expect(emit('metric', { title: 'a', value: deep }).kind).toBe('refused');
    expect(emit('metric', deep).kind).toBe('refused');
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key${index}`, index]));
    expect(refusal(emit('metric', many)).length).toBeLessThanOrEqual(1_000);
    const wrong = { title: 'a', columns: ['b'], rows: Array.from({ length: 1_000 }, () => [1, 2]) };
    expect(refusal(emit('table', wrong))).toMatch(/\n- and \d+ more\.\nCorrect it/);
  });
});

describe('the payload of a card', () => {
  it('EVI-04 has one digest in whatever order its members were written', () => {
    const tally = new Tally();
    const free = defineCard({
      type: 'free',
      description: 'Shows anything.',
      schemaVersion: 2,
      schema: z.looseObject({}),
      title: () => 'Free',
      identity: () => '',
    });
    const digestOf = (value: Json) => {
      const checked = free.check(value);
      return checked.ok ? checked.payloadDigest : null;
    };
    fc.assert(
      fc.property(fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 3 })), (value) => {
        const data = JSON.parse(JSON.stringify(value)) as JsonObject;
        expect(digestOf(data)).toBe(blake3Hex(canonicalJson(data)));
        expect(digestOf(reversed(data))).toBe(digestOf(data));
        tally.count({
          'several members': Object.keys(data).length > 1,
          'written differently': JSON.stringify(reversed(data)) !== JSON.stringify(data),
        });
      }),
      { numRuns: 500 },
    );
    tally.report('digests of payloads');
    for (const [type, sample] of Object.entries(SAMPLES))
      expect(shown(emit(type, reversed(sample))).payloadDigest).toBe(blake3Hex(canonicalJson(sample)));
  });

  it('EVI-04 is never cut, whatever it holds and however long it is', () => {
    for (const [type, sample] of Object.entries(SAMPLES))
      expect(shown(emit(type, sample)).payload).toEqual(sample);
    const rows = Array.from({ length: 900 }, (_, row) => [row, `${row} `.repeat(150)]);
    const long = { title: 'Long', columns: ['n', 'text'], rows };
    expect(byteLength(canonicalJson(shown(emit('table', long)).payload))).toBe(
      byteLength(canonicalJson(long)),
    );
    const body = `${'word '.repeat(3_000)}end`;
    expect(shown(emit('research', { ...SAMPLES.research, body })).payload).toMatchObject({ body });
  });

  it('EVI-04 is bounded in code points, so that a text of emoji may be as long as one of letters', () => {
    expect(emit('metric', { title: '🜁'.repeat(200), value: 1 }).kind).toBe('presented');
    expect(emit('metric', { title: '🜁'.repeat(201), value: 1 }).kind).toBe('refused');
    expect(emit('metric', { title: 'a'.repeat(200), value: 1 }).kind).toBe('presented');
    expect(emit('metric', { title: 'a'.repeat(201), value: 1 }).kind).toBe('refused');
  });
});

describe('the identity of a card', () => {
  const identity = (type: string, args?: Json) => shown(emit(type, args ?? SAMPLES[type] ?? null)).digest;

  it('EVI-04 is every field of a metric', () => {
    expect(identity('metric')).toBe('Copper: 9120.5 USD/t | +3 % | as of 2 May | spot');
    expect(identity('metric', { title: 'Doors', value: 'two' })).toBe('Doors: two');
  });

  it('EVI-04 is the title, columns, row count and first row of a table', () => {
    expect(identity('table')).toBe('Rivers | columns: name, km | 2 rows | first row: Elbe, 1094');
    expect(identity('table', { title: 'None', columns: ['a'], rows: [] })).toBe('None | columns: a | 0 rows');
  });

  it('EVI-04 is the title, series names, point count and summary of a chart', () => {
    expect(identity('chart')).toBe('Rain | series: north, south | 4 points | Wetter in autumn');
  });

  it('EVI-04 is the title, kind and fields of an entity', () => {
    expect(identity('entity')).toBe('Ada | person | Born: 1815');
  });

  it('EVI-04 is the title and item labels of a checklist and a timeline', () => {
    expect(identity('checklist')).toBe('Move | Pack | Carry');
    expect(identity('timeline')).toBe('War | Outbreak');
  });

  it('EVI-04 is the takeaways and the titles and addresses of the sources of research, and no snippet', () => {
    expect(identity('research')).toBe(
      'Cells get cheaper | Salt is next | Cell prices <https://a.example/cells> | notes.md',
    );
  });

  it('EVI-04 of a research card of 4 kB is several times smaller than the card', () => {
    const card = {
      title: 'How cells age',
      takeaways: [
        'Heat ages cells faster than use',
        'Half charge keeps best',
        'Makers differ by a factor of two',
      ],
      sources: ['Heat', 'Charge', 'Makers', 'Tests'].map((title, index) => ({
        title,
        url: `https://cells.example/${index}`,
        snippet: `${title} was measured over many years. `.repeat(24).trim(),
      })),
    };
    const { payload, digest } = shown(emit('research', card));
    const bytes = byteLength(canonicalJson(payload));
    expect(bytes).toBeGreaterThan(3_500);
    expect(bytes).toBeLessThan(4_500);
    expect(byteLength(digest) * 5).toBeLessThan(bytes);
    for (const takeaway of card.takeaways) expect(digest).toContain(takeaway);
    for (const { title, url } of card.sources) expect(digest).toContain(`${title} <${url}>`);
    expect(digest).not.toContain('measured');
  });

  it('EVI-04 and the title are one line of valid text, and a blank title gives way to the type', () => {
    const made = shown(emit('metric', { title: ' a\r\n\tb ', value: 'x\ny \ud800' }));
    expect(made.title).toBe('a b');
    expect(made.digest).toBe('a b : x y \ufffd');
    expect(made.payload).toEqual({ title: ' a\r\n\tb ', value: 'x\ny \ud800' });
    expect(shown(emit('metric', { title: ' \n', value: 1 })).title).toBe('metric');
  });
});

describe('the kinds of card', () => {
  const base = {
    type: 'release-note',
    description: 'Shows a release.',
    schemaVersion: 3,
    schema: z.strictObject({ version: z.string(), breaking: z.boolean().default(false) }),
    title: (card: { version: string }) => card.version,
    identity: (card: { version: string; breaking: boolean }) => `${card.version} ${card.breaking}`,
  };

  it('EVI-04 are seven, each with a tool of its own, and every schema stays small', () => {
    expect(cards.all.map((card) => card.tool)).toEqual([
      'emit_chart_card',
      'emit_checklist_card',
      'emit_entity_card',
      'emit_metric_card',
      'emit_research_card',
      'emit_table_card',
      'emit_timeline_card',
    ]);
    for (const card of cards.all) expect(byteLength(canonicalJson(card.inputSchema))).toBeLessThan(700);
  });

  it('EVI-04 are extended by a declaration, found by type and by tool, in one order however given', () => {
    const own = defineCard(base);
    const more = createCards([own, ...BUILTIN_CARDS]);
    expect(more.byTool('emit_release_note_card')).toBe(own);
    expect(more.byType('release-note')).toBe(own);
    expect(more.byType('emit_release_note_card')).toBeUndefined();
    expect(more.all).toEqual(createCards([...BUILTIN_CARDS, own].reverse()).all);
    const made = shown(presentCall(more, callOf('emit_release_note_card', { version: '2.0' }), fresh));
    expect(made).toMatchObject({
      type: 'release-note',
      schemaVersion: 3,
      title: '2.0',
      payload: { breaking: false, version: '2.0' },
      digest: '2.0 false',
    });
  });

  it('EVI-04 of one type twice are refused', () => {
    expect(() => createCards([...BUILTIN_CARDS, defineCard({ ...base, type: 'metric' })])).toThrow(
      /Two cards have the type "metric"/,
    );
  });

  it('EVI-04 are plain data that nobody can change', () => {
    const own = defineCard({
      ...base,
      schema: z.strictObject({ version: z.int().max(9), breaking: z.boolean() }),
    } as never);
    expect(own.inputSchema).toEqual({
      type: 'object',
      properties: { version: { type: 'integer', maximum: 9 }, breaking: { type: 'boolean' } },
      required: ['version', 'breaking'],
      additionalProperties: false,
    });
    const frozen = (value: unknown): boolean =>
      typeof value !== 'object' ||
      value === null ||
      (Object.isFrozen(value) && Object.values(value).every(frozen));
    expect(frozen(own)).toBe(true);
  });

  it('EVI-04 refuse a declaration that cannot work, and say why', () => {
    const defining = (change: object) => () => defineCard({ ...base, ...change });
    for (const type of ['', 'Metric', 'a_b', 'a.b', '1a', 'a'.repeat(41)])
      expect(defining({ type })).toThrow(/cannot be defined: type must begin/);
    expect(defineCard({ ...base, type: 'a'.repeat(40) }).tool.length).toBeLessThanOrEqual(64);
    expect(defining({ description: ' ' })).toThrow(/description is empty/);
    for (const schemaVersion of [0, 1.5, Number.NaN])
      expect(defining({ schemaVersion })).toThrow(/schemaVersion is .*; it must be a whole number from 1/);
    expect(defining({ title: 'version' })).toThrow(/title must be a function/);
    expect(defining({ identity: undefined })).toThrow(/identity must be a function/);
    expect(defining({ schema: z.strictObject({ on: z.date() }) })).toThrow(/plain JSON values: Date cannot/);
    expect(defining({ schema: z.strictObject({ n: z.string().transform(Number) }) })).toThrow(
      TurnwrightError,
    );
    expect(defining({ schema: z.string() })).toThrow(/schema must be a z.strictObject\./);
    expect(defining({ schema: z.strictObject({ type: z.string() }) })).toThrow(/has a member "type"/);
    expect(defining({ schema: z.object({ a: z.string() }) })).toThrow(
      /would drop unknown members of the payload; use z.strictObject or z.looseObject/,
    );
    expect(defining({ schema: z.strictObject({ a: z.array(z.object({ b: z.string() })) }) })).toThrow(
      /would drop unknown members at properties\/a\/items/,
    );
  });

  it('EVI-04 answer for a declaration whose own code fails with a refusal', () => {
    const failing = (change: Partial<typeof base>): readonly [CardDefinition, Presented] => {
      const own = defineCard({ ...base, ...change });
      return [own, presentCall(createCards([own]), callOf(own.tool, { version: '1' }), fresh)];
    };
    const fails = () => {
      throw new RangeError('/secret/path');
    };
    for (const change of [
      { title: fails },
      { identity: fails },
      { schema: z.strictObject({ version: z.string().refine(fails), breaking: z.boolean().default(false) }) },
      { identity: () => undefined as unknown as string },
    ]) {
      const [, presented] = failing(change);
      expect(refusal(presented)).toMatch(/this card cannot be made from it \((Range|Type)Error\)/);
      expect(refusal(presented)).not.toContain('secret');
    }
  });
});
