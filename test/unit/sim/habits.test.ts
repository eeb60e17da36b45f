import { describe, expect, it } from 'vitest';
import type { ChatMessage, ToolDefinition } from '../../../src/context/request.ts';
import { SIM_HABITS, type SimHabit, simModels } from '../../../src/sim/contract.ts';
import { DEFAULT_SIM_MODELS } from '../../../src/sim/models.ts';
import {
  answered,
  ask,
  exchange,
  GREP,
  LOOK_UP,
  METRIC,
  type Overrides,
  READ,
  RESEARCH,
  type Replied,
  told,
  WRITE,
} from './prompt-parts.ts';

/** A request in which a habit finds its place, the fault, and the word that corrects it. */
interface Case {
  readonly id: string;
  readonly habit: SimHabit;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDefinition[];
  readonly isFault: (reply: Replied) => boolean;
  readonly corrected: readonly ChatMessage[];
}

const NUDGE = told('[some-check] That reply cannot stand. Do what was asked.');
const HISTORY = [
  told('What is the zinc price at Tarvo?'),
  answered('The zinc price at Tarvo is 4127 marks.'),
];
const NOW = told('What is the current zinc price at Tarvo?');
const FOUND = exchange(
  'c1',
  'look_up',
  { query: 'zinc' },
  'The zinc price at Tarvo is 5230 marks, says https://metals.tarvo.example/zinc today.',
);
const OLD_CARD = [
  told('Show the fog depth at Melrin as a metric card.'),
  ...exchange('c0', 'emit_metric_card', { title: 'Melrin fog', value: 88, unit: 'yards' }, '{"ok":true}'),
  answered('The metric shows: Melrin fog.'),
];
const SHOW = told('Show the zinc price at Tarvo as a metric card.');
const SHOWN = exchange(
  'c2',
  'emit_metric_card',
  { title: 'Zinc price Tarvo', value: 4127, unit: 'marks' },
  '{"ok":true,"presentation":"p1"}',
);
const REPEATED = exchange(
  'c3',
  'emit_metric_card',
  { title: 'Zinc price Tarvo', value: 4127, unit: 'marks' },
  '{"ok":true,"presentation":"p1","repeated":true}',
);
const FAILED = exchange('c4', 'read', { path: 'stores.md' }, 'Error: no such file', true);

const calls = (name: string) => (reply: Replied) => reply.calls.some((call) => call.name === name);
const says = (pattern: RegExp) => (reply: Replied) => reply.calls.length === 0 && pattern.test(reply.text);

const CASES: readonly Case[] = [
  {
    id: 'CHK-01',
    habit: 'thinkingOnly',
    messages: [...HISTORY, told('And in words?')],
    tools: [],
    isFault: (reply) => reply.text === '' && reply.calls.length === 0 && reply.thinking !== null,
    corrected: [NUDGE],
  },
  {
    id: 'CHK-03 in prose',
    habit: 'staleFigure',
    messages: [...HISTORY, NOW],
    tools: [LOOK_UP],
    isFault: says(/4127/),
    corrected: [NUDGE],
  },
  {
    id: 'CHK-03 as a card',
    habit: 'staleFigure',
    messages: [...HISTORY, NOW],
    tools: [LOOK_UP, METRIC],
    isFault: (reply) => JSON.stringify(reply.calls).includes('4127') && calls('emit_metric_card')(reply),
    corrected: exchange(
      'c5',
      'emit_metric_card',
      { title: 'Zinc', value: 4127 },
      '[freshness] Look first.',
      true,
    ),
  },
  {
    id: 'CHK-04 off the topic',
    habit: 'oldCard',
    messages: [...OLD_CARD, NOW, ...FOUND],
    tools: [LOOK_UP, METRIC],
    isFault: (reply) => calls('emit_metric_card')(reply) && JSON.stringify(reply.calls).includes('Melrin'),
    corrected: exchange(
      'c6',
      'emit_metric_card',
      { title: 'Melrin fog', value: 88, unit: 'yards' },
      '[topic-mismatch] The card is about something else.',
      true,
    ),
  },
  {
    id: 'CHK-04 without a source',
    habit: 'inventsSource',
    messages: [told('Show the current zinc price at Tarvo as a research card.'), ...FOUND],
    tools: [LOOK_UP, RESEARCH],
    isFault: (reply) =>
      calls('emit_research_card')(reply) &&
      JSON.stringify(reply.calls).replaceAll('https://metals.tarvo.example/zinc', '').includes('https://'),
    corrected: exchange('c7', 'emit_research_card', { title: 'Zinc' }, '[uncited-source] Where from?', true),
  },
  {
    id: 'CHK-02',
    habit: 'repeatsCard',
    messages: [...HISTORY, SHOW, ...SHOWN],
    tools: [METRIC],
    isFault: calls('emit_metric_card'),
    corrected: REPEATED,
  },
  {
    id: 'CHK-08',
    habit: 'badArguments',
    messages: [told('In stores.md, what is the zinc price?')],
    tools: [READ],
    isFault: (reply) => calls('read')(reply) && typeof reply.calls[0]?.args.path !== 'string',
    corrected: exchange('c8', 'read', { path: 0 }, 'read was not called: path must be a string', true),
  },
  {
    id: 'CHK-06 in prose',
    habit: 'writesCalls',
    messages: [told('In stores.md, what is the zinc price?')],
    tools: [READ],
    isFault: says(/^read \{"path":"stores\.md"\}$/),
    corrected: [NUDGE],
  },
  {
    id: 'CHK-07 unfinished',
    habit: 'plansOnly',
    messages: [told('What does Tarvo charge for zinc?')],
    tools: [GREP],
    isFault: says(/^I will now search the files\.$/),
    corrected: [NUDGE],
  },
  {
    id: 'CHK-06 cut',
    habit: 'brokenFence',
    messages: [...HISTORY, SHOW],
    tools: [METRIC],
    isFault: says(/```card\n\{"title":"Zinc price Tarvo","type":"metric","unit":"marks","value":412\n```$/),
    corrected: [NUDGE],
  },
  {
    id: 'CHK-07 without a receipt',
    habit: 'claimsDone',
    messages: [told('Update the note on the zinc price at Tarvo.')],
    tools: [WRITE],
    isFault: says(/^I have updated /),
    corrected: [NUDGE],
  },
  {
    id: 'CHK-07 a failure left out',
    habit: 'ignoresFailure',
    messages: [told('In stores.md, what is the zinc price?'), ...FAILED],
    tools: [READ],
    isFault: (reply) => /went through/.test(reply.text) && !/fail|could not|error/i.test(reply.text),
    corrected: [NUDGE],
  },
  {
    id: 'CHK-06 ungrounded',
    habit: 'ungrounded',
    messages: [NOW, ...FOUND],
    tools: [LOOK_UP],
    isFault: (reply) => reply.calls.length === 0 && reply.text !== '' && !/\d\d|https?:/.test(reply.text),
    corrected: [NUDGE],
  },
  {
    id: 'CHK-05',
    habit: 'repeatAnswer',
    messages: [...HISTORY, told('The gate at Melrin opens at 0700. When does the gate at Melrin open?')],
    tools: [],
    isFault: says(/^The zinc price at Tarvo is 4127 marks\.$/),
    corrected: [NUDGE],
  },
];

function reply({ messages, tools }: Case, more: readonly ChatMessage[], overrides: Overrides): Replied {
  return ask([...messages, ...more], tools, overrides);
}

describe('a habit', () => {
  it('has a case below, every one of them', () => {
    expect(new Set(CASES.map((one) => one.habit))).toEqual(new Set(SIM_HABITS));
  });

  it.each(CASES)(
    '$id $habit stands in the place of a sound reply, and is no reply of a sound model',
    (one) => {
      expect(one.isFault(reply(one, [], { habits: { [one.habit]: 1 } }))).toBe(true);
      expect(one.isFault(reply(one, [], {}))).toBe(false);
    },
  );

  it.each(CASES)(
    '$id $habit is ended by the correction, and no other reply of the habit follows it',
    (one) => {
      const healed = reply(one, one.corrected, { habits: { [one.habit]: 1 } });
      expect(one.isFault(healed)).toBe(false);
      expect(healed).toEqual(reply(one, one.corrected, {}));
    },
  );

  it.each(CASES)('$id $habit is made again after the correction by a stubborn model', (one) => {
    expect(one.isFault(reply(one, one.corrected, { habits: { [one.habit]: 1, stubbornness: 1 } }))).toBe(
      true,
    );
  });

  it.each(CASES)(
    '$id $habit shows in its share of requests, and again in the share of the stubborn',
    (one) => {
      const keys = Array.from({ length: 300 }, (_, at) => `key ${at}`);
      const faults = (more: readonly ChatMessage[], habits: Overrides['habits']) =>
        keys.filter((key) => one.isFault(reply(one, more, { key, ...(habits && { habits }) }))).length;
      const shown = faults([], { [one.habit]: 0.3 });
      expect(shown).toBeGreaterThan(60);
      expect(shown).toBeLessThan(120);
      const again = faults(one.corrected, { [one.habit]: 0.3, stubbornness: 0.5 });
      expect(again).toBeGreaterThan(110);
      expect(again).toBeLessThan(190);
    },
  );

  it('hangs on the request and the seed alone: the same input gives the same reply', () => {
    const habits = Object.fromEntries(SIM_HABITS.map((name) => [name, 0.5]));
    for (const one of CASES) {
      const overrides = { habits: { ...habits, stubbornness: 0.5 } };
      expect(reply(one, one.corrected, overrides)).toEqual(reply(one, one.corrected, overrides));
      expect(reply(one, [], overrides)).toEqual(reply(one, [], overrides));
    }
  });
});

describe('habits beside each other', () => {
  it('let a stubborn model make the more frequent fault the more often', () => {
    const habits = { plansOnly: 0.9, writesCalls: 0.1, stubbornness: 1 };
    const directive = [told('In stores.md, what is the zinc price?'), NUDGE];
    const texts = Array.from(
      { length: 300 },
      (_, at) => ask(directive, [READ], { key: `${at}`, habits }).text,
    );
    const planned = texts.filter((text) => text.startsWith('I will now')).length;
    const written = texts.filter((text) => text.startsWith('read {')).length;
    expect(planned + written).toBe(300);
    expect(written).toBeGreaterThan(3);
    expect(planned).toBeGreaterThan(4 * written);
  });

  it('leave a fault that does not fit to the next one', () => {
    const made = ask([told('In stores.md, what is the zinc price?')], [READ], {
      habits: { ungrounded: 1, ignoresFailure: 1, staleFigure: 1, writesCalls: 1 },
    });
    expect(made.text).toMatch(/^read \{/);
  });
});

describe('where habits do not reach', () => {
  const all = {
    ...Object.fromEntries(SIM_HABITS.map((name) => [name, 1])),
    thinkingOnly: 0,
    badArguments: 0,
  };

  it('a forced call is made', () => {
    const made = ask([told('Say hello.')], [READ], {
      habits: all,
      toolChoice: { kind: 'named', name: 'read' },
    });
    expect(made.calls.map((call) => call.name)).toEqual(['read']);
  });

  it('a text to be shortened is shortened', () => {
    const made = ask([...HISTORY, told('Summarise the conversation.')], [], { habits: all });
    expect(made.text).toContain('4127');
    expect(made.text).not.toContain('```');
  });

  it('beyond the horizon nothing is followed, and so nothing is broken', () => {
    const made = ask([told('In stores.md, what is the zinc price?')], [READ], {
      habits: all,
      beyondHorizon: true,
    });
    expect(made.text).toMatch(/^From the last lines/);
  });
});

describe('the details of a fault', () => {
  it('CHK-03 a stubborn model brings another stale figure after each correction', () => {
    const before = [
      ...HISTORY,
      told('And the lead price at Tarvo?'),
      answered('The lead price at Tarvo is 6611 marks.'),
      NOW,
    ];
    const habits = { staleFigure: 1, stubbornness: 1 };
    const first = ask(before, [LOOK_UP], { habits }).text;
    const second = ask([...before, NUDGE], [LOOK_UP], { habits }).text;
    expect([first, second].every((text) => /\d{4}/.test(text))).toBe(true);
    expect(second).not.toBe(first);
  });

  it('CHK-03 no figure is stale once something was looked at in the turn', () => {
    const made = ask([...HISTORY, NOW, ...FOUND], [LOOK_UP], { habits: { staleFigure: 1 } });
    expect(made.text).toContain('5230');
    expect(made.text).not.toContain('4127');
  });

  it('CHK-04 an old fact becomes a card where there is no old card, in its own words', () => {
    const made = ask(
      [told('The fog at Melrin is 88 yards deep.'), answered('Noted.'), ...HISTORY, NOW, ...FOUND],
      [LOOK_UP, METRIC],
      { habits: { oldCard: 1 } },
    );
    const shown = JSON.stringify(made.calls).toLowerCase();
    expect(shown).toContain('melrin');
    for (const word of ['zinc', 'tarvo', 'price', '5230']) expect(shown).not.toContain(word);
  });

  it('CHK-04 a card without a member for addresses carries the invented one in a text', () => {
    const habits = { inventsSource: 1 };
    const made = ask([...HISTORY, SHOW], [METRIC], { habits });
    const { title, unit, value } = made.calls[0]?.args ?? {};
    expect(title).toBe('Zinc price Tarvo');
    expect(`${String(unit)} ${String(value)}`).toMatch(/https:\/\/\S+/);
  });

  it('CHK-08 a member that takes numbers and texts gets neither', () => {
    const made = ask([...HISTORY, SHOW], [{ ...METRIC, inputSchema: onlyValue }], {
      habits: { badArguments: 1 },
    });
    expect(typeof made.calls[0]?.args.value).toBe('boolean');
  });

  it('CHK-08 a call without members cannot be broken and is made', () => {
    const ack = {
      name: 'probe_ack',
      description: 'Acknowledges.',
      inputSchema: { type: 'object', properties: {} },
    };
    const made = ask([told('Now call probe_ack once.')], [ack], { habits: { badArguments: 1 } });
    expect(made.calls).toEqual([{ name: 'probe_ack', args: {} }]);
  });

  it('CHK-07 nothing is claimed where no change was asked for, nor after a change was made', () => {
    const habits = { claimsDone: 1 };
    expect(ask([...HISTORY, told('What is the zinc price?')], [], { habits }).text).toContain('4127');
    const order = told('Update the note on the zinc price at Tarvo.');
    const done = exchange('w', 'write_note', { subject: 's', body: 'b' }, 'Stored.');
    expect(ask([order, ...done], [WRITE], { habits }).text).not.toMatch(/^I have updated/);
  });
});

const onlyValue = {
  type: 'object',
  properties: { value: { anyOf: [{ type: 'number' }, { type: 'string' }] } },
  required: ['value'],
} as const;

describe('a model with habits', () => {
  const [model] = DEFAULT_SIM_MODELS;

  it('is taken with shares from 0 to 1, and refused with any other number or name', () => {
    const taken = (habits: unknown) => simModels.safeParse([{ ...model, habits }]).success;
    expect(taken({ staleFigure: 0.5, stubbornness: 1 })).toBe(true);
    expect(taken({})).toBe(true);
    expect(taken({ staleFigure: 1.1 })).toBe(false);
    expect(taken({ stubbornness: -0.1 })).toBe(false);
    expect(taken({ sloppiness: 0.5 })).toBe(false);
  });

  it('has none unless given', () => {
    for (const { habits } of DEFAULT_SIM_MODELS) expect(habits).toBeUndefined();
  });
});
