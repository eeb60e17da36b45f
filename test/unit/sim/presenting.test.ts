import { describe, expect, it } from 'vitest';
import { BUILTIN_CARDS } from '../../../src/context/cards/builtin.ts';
import type { ChatMessage, ToolDefinition } from '../../../src/context/request.ts';
import type { Json, JsonObject } from '../../../src/ledger/json.ts';
import { type MindInput, think } from '../../../src/sim/mind/mind.ts';

const text = { type: 'string' } as const;

function card(form: string, properties: JsonObject, required = Object.keys(properties)): ToolDefinition {
  return {
    name: `emit_${form}_card`,
    description: `Shows the user a ${form} card.`,
    inputSchema: { type: 'object', properties, required, additionalProperties: false },
  };
}

const METRIC = card('metric', { title: text, value: text, unit: text });
const TABLE = card('table', {
  title: text,
  columns: { type: 'array', items: text, minItems: 1 },
  rows: { type: 'array', items: { type: 'array', items: text } },
});
const CHART = card('chart', {
  title: text,
  series: {
    type: 'array',
    items: {
      type: 'object',
      properties: {
        name: text,
        points: {
          type: 'array',
          items: {
            type: 'object',
            properties: { label: text, value: { type: 'number' } },
            required: ['label', 'value'],
          },
        },
      },
      required: ['name', 'points'],
    },
  },
});
const CHECKLIST = card('checklist', {
  title: text,
  items: {
    type: 'array',
    items: {
      type: 'object',
      properties: { label: text, done: { type: 'boolean' } },
      required: ['label', 'done'],
    },
  },
});
const READ: ToolDefinition = {
  name: 'read',
  description: 'Returns the contents of one file.',
  inputSchema: { type: 'object', properties: { path: text }, required: ['path'] },
};
const ALL = [READ, METRIC, TABLE, CHART, CHECKLIST];

function told(words: string): ChatMessage {
  return { role: 'user', content: [{ type: 'text', text: words }] };
}

function exchange(
  id: string,
  name: string,
  args: Json,
  content: string,
  isError = false,
): readonly ChatMessage[] {
  return [
    { role: 'assistant', content: [{ type: 'tool_call', id, name, args }] },
    { role: 'user', content: [{ type: 'tool_result', callId: id, name, content, isError }] },
  ];
}

function reply(messages: readonly ChatMessage[], tools: readonly ToolDefinition[] = ALL) {
  const input: MindInput = {
    prompt: { system: [], tools, messages },
    key: 'k',
    seed: 3,
    beyondHorizon: false,
    toolChoice: { kind: 'auto' },
    parallelCalls: true,
    thinksAloud: false,
    habits: {},
  };
  const made = think(input);
  return {
    text: made.text,
    calls: made.calls.map((call) => ({ name: call.name, args: JSON.parse(call.argsText) as JsonObject })),
  };
}

function argsOf(made: ReturnType<typeof reply>): unknown {
  return made.calls[0]?.args ?? {};
}

const FACTS = [
  told('The humidity of the vault is 41 percent.'),
  told('The humidity of the attic is 63 percent.'),
];

describe('a directive that asks for a form', () => {
  it('is met by one call of the tool of that form, with what the request holds', () => {
    const made = reply([...FACTS, told('Show the humidity of the vault as a metric.')]);
    expect(made.calls).toEqual([
      { name: 'emit_metric_card', args: { title: 'Humidity vault', value: '41', unit: 'percent' } },
    ]);
  });

  it('looks for the facts first and shows them then', () => {
    const directive = told('In store.md, show the humidity of the vault as a metric card.');
    const first = reply([directive]);
    expect(first.calls).toEqual([{ name: 'read', args: { path: 'store.md' } }]);
    const found = exchange('1', 'read', { path: 'store.md' }, 'The humidity of the vault is 43 percent.');
    const then = reply([directive, ...found]);
    expect(then.calls.map((call) => call.name)).toEqual(['emit_metric_card']);
    expect(then.calls[0]?.args).toMatchObject({ value: '43' });
  });

  it('ends with a short text once the card is out, and never with a second card', () => {
    const directive = told('Show the humidity of the vault as a metric.');
    const args = { title: 'Humidity vault', value: '41', unit: 'percent' };
    const shown = exchange('1', 'emit_metric_card', args, '{"presentation":"p1","ok":true}');
    const made = reply([...FACTS, directive, ...shown]);
    expect(made.calls).toEqual([]);
    expect(made.text).toBe('The metric shows: Humidity vault.');
    const refused = reply([
      ...FACTS,
      directive,
      ...exchange('1', 'emit_metric_card', args, 'Error: no', true),
    ]);
    expect(refused.calls).toEqual([]);
    expect(refused.text).toContain('41 percent');
  });

  it('fills the rows of a table with as many cells as it has columns', () => {
    const made = reply([...FACTS, told('Put the humidity of vault and attic into a table.')]);
    const { columns, rows } = argsOf(made) as { columns: string[]; rows: string[][] };
    expect(made.calls[0]?.name).toBe('emit_table_card');
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) expect(row).toHaveLength(columns.length);
    expect(JSON.stringify(rows)).toMatch(/41 percent|63 percent/u);
  });

  it('draws the figures it found as the points of one series', () => {
    const made = reply([...FACTS, told('Draw a chart of the humidity of vault and attic.')]);
    const { series } = argsOf(made) as { series: { points: { value: number }[] }[] };
    expect(series).toHaveLength(1);
    expect(series[0]?.points.map((point) => point.value)).toEqual(expect.arrayContaining([41, 63]));
  });

  it('takes the items from the directive when it brings them itself', () => {
    const made = reply([told('Make a checklist: oil the hinge, sweep the yard, lock the gate.')]);
    expect(made.calls[0]?.name).toBe('emit_checklist_card');
    const { items } = argsOf(made) as { items: { label: string }[] };
    expect(items.map((item) => item.label)).toEqual(['oil the hinge', 'sweep the yard', 'lock the gate.']);
  });

  it('shows nothing when nothing was found', () => {
    const made = reply([told('Show the humidity of the vault as a metric.')], [METRIC]);
    expect(made.calls).toEqual([]);
    expect(made.text).toMatch(/could not find/u);
  });

  it('is met when a control note names the tool', () => {
    const made = reply([
      ...FACTS,
      told('What is the humidity of the vault?'),
      { role: 'assistant', content: [{ type: 'text', text: 'It is 41 percent.' }] },
      told('[presentation] Call `emit_metric_card` to show it.'),
    ]);
    expect(made.calls.map((call) => call.name)).toEqual(['emit_metric_card']);
    expect(argsOf(made)).toMatchObject({ value: '41' });
  });
});

describe('the cards every deployment has', () => {
  const OFFERED = BUILTIN_CARDS.map((one) => ({
    name: one.tool,
    description: one.description,
    inputSchema: one.inputSchema,
  }));

  it.each(BUILTIN_CARDS)('$type is filled with what its own check accepts', (one) => {
    for (const facts of [FACTS, [told('Ana keeps the humidity notes of the vault.')]]) {
      const made = reply(
        [...facts, told(`Show the humidity of vault and attic as a ${one.type} card.`)],
        OFFERED,
      );
      expect(made.calls.map((call) => call.name)).toEqual([one.tool]);
      expect(one.check(argsOf(made) as JsonObject)).toMatchObject({ ok: true });
    }
  });
});

describe('a directive that asks for no form', () => {
  it('is answered in words, whatever cards are offered', () => {
    for (const asked of [
      'What is the humidity of the vault?',
      'Is there a table of humidity for the vault?',
    ]) {
      const made = reply([...FACTS, told(asked)]);
      expect(made.calls.filter((call) => call.name.startsWith('emit_'))).toEqual([]);
    }
  });

  it('is answered in words when the form it asks for is not offered', () => {
    const made = reply([...FACTS, told('Show the humidity of the vault as a timeline.')], [METRIC, TABLE]);
    expect(made.calls).toEqual([]);
    expect(made.text).toContain('41 percent');
  });
});
