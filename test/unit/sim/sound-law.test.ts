/** A model without habits gives no check a reason, and every habit gives its check one. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { uncitedSources } from '../../../src/checks/cited-source.ts';
import { isRepeatOf } from '../../../src/checks/drift.ts';
import { isEmptyStep } from '../../../src/checks/empty-step.ts';
import { malformedFence } from '../../../src/checks/fences.ts';
import { isStale } from '../../../src/checks/freshness.ts';
import { isUngrounded } from '../../../src/checks/grounding.ts';
import { checkLexiconFor } from '../../../src/checks/lexicon/index.ts';
import { unmadeCard } from '../../../src/checks/presentation.ts';
import { type GateCall, stopReasons } from '../../../src/checks/stop-gate.ts';
import { isOffTopic } from '../../../src/checks/topic-mismatch.ts';
import { callInProse } from '../../../src/checks/unmade-call.ts';
import { BUILTIN_CARDS } from '../../../src/context/cards/builtin.ts';
import { createCards } from '../../../src/context/cards/registry.ts';
import type { ChatMessage, ToolDefinition } from '../../../src/context/request.ts';
import { formsAsked } from '../../../src/intent/forms.ts';
import { lexiconFor } from '../../../src/intent/lexicon/index.ts';
import { readLexically } from '../../../src/intent/reading.ts';
import { canonicalJson, type JsonObject } from '../../../src/ledger/json.ts';
import type { SimHabit, SimHabits } from '../../../src/sim/contract.ts';
import { answered, ask, FIND_TOOLS, GREP, LOOK_UP, READ, type Replied, told, WRITE } from './prompt-parts.ts';

const LEXICON = checkLexiconFor(null);
const CARDS = createCards(BUILTIN_CARDS);
const CARD_TOOLS: readonly ToolDefinition[] = BUILTIN_CARDS.map(({ tool, description, inputSchema }) => ({
  name: tool,
  description,
  inputSchema,
}));
const MAX_STEPS = 8;
const OBSERVING = new Set(['read', 'grep', 'look_up']);

const CLASSES = [
  'asked',
  'asked again',
  'as of now',
  'here and now',
  'follow-up',
  'as a card',
  'as a card, now',
  'to be verified',
  'to be changed',
  'in a file',
  'told',
  'promised',
  'about a call',
] as const;
type Class = (typeof CLASSES)[number];

interface Subject {
  readonly thing: string;
  readonly trait: string;
  readonly file: string;
  readonly before: number;
  readonly now: number;
}

const DIRECTIVES: Readonly<Record<Class, (one: Subject) => string>> = {
  asked: ({ thing, trait }) => `What is the ${trait} of ${thing}?`,
  'asked again': ({ thing, trait }) => `What is the ${trait} of ${thing}?`,
  'as of now': ({ thing, trait }) => `What is the current ${trait} of ${thing}?`,
  'here and now': ({ thing }) => `Which file in the current directory speaks of ${thing}?`,
  'follow-up': ({ trait }) => `And how is its ${trait} written?`,
  'as a card': ({ thing, trait }) => `Show the ${trait} of ${thing} as a metric card.`,
  'as a card, now': ({ thing, trait }) => `Show the latest ${trait} of ${thing} as a table.`,
  'to be verified': ({ thing, trait, file }) => `Check whether ${file} states the ${trait} of ${thing}.`,
  'to be changed': ({ thing, trait }) => `Update the note on the ${trait} of ${thing}.`,
  'in a file': ({ thing, trait, file }) => `In ${file}, what is the ${trait} of ${thing}?`,
  told: ({ thing, trait, before }) => `The ${trait} of ${thing} is ${before}.`,
  promised: ({ thing }) => `Tomorrow I will look at ${thing} once more.`,
  'about a call': ({ file }) => `Which lines does ${file} hold about the calls?`,
};

const word = fc
  .array(fc.tuple(fc.constantFrom(...'bdfgklmnprstvz'), fc.constantFrom(...'aeiou')), {
    minLength: 3,
    maxLength: 3,
  })
  .map((pairs) => pairs.flat().join(''));
const subject: fc.Arbitrary<Subject> = fc
  .record({
    words: fc.uniqueArray(word, { minLength: 3, maxLength: 3 }),
    before: fc.integer({ min: 1_000, max: 4_999 }),
    now: fc.integer({ min: 5_000, max: 9_999 }),
  })
  .map(({ words: [thing = '', trait = '', file = ''], ...figures }) => ({
    thing,
    trait,
    file: `${file}.md`,
    ...figures,
  }));
const session = fc.record({
  turns: fc.array(fc.tuple(fc.constantFrom(...CLASSES), subject, fc.boolean()), {
    minLength: 3,
    maxLength: 4,
  }),
  offered: fc.subarray([READ, GREP, LOOK_UP, WRITE, FIND_TOOLS, ...CARD_TOOLS]),
  breaks: fc.boolean(),
});

interface Made {
  readonly step: number;
  readonly name: string;
  readonly args: JsonObject;
  readonly content: string;
  readonly ok: boolean;
}

/** What the tools of the world answer; `breaks`: those of the folder are down. */
function result(
  call: Replied['calls'][number],
  one: Subject,
  breaks: boolean,
): { content: string; ok: boolean } {
  const { thing, trait, now, file } = one;
  if (CARDS.byTool(call.name) !== undefined) {
    const checked = CARDS.byTool(call.name)?.check(call.args);
    return {
      content: checked?.ok === true ? '{"ok":true,"presentation":"p1"}' : 'Error: not as asked',
      ok: checked?.ok === true,
    };
  }
  if (breaks && call.name !== 'look_up') return { content: 'Error: the disk is gone', ok: false };
  const line = `The ${trait} of ${thing} is ${now}.`;
  if (call.name === 'look_up')
    return { content: `${line}\nSource: https://${thing}.example/${trait}`, ok: true };
  if (call.name === 'read')
    return {
      content: `# ${thing}\n${line}\nread({"path":"${file}"}) is one of the calls.\n\`\`\`card\n{"type":"metric"}`,
      ok: true,
    };
  if (call.name === 'grep') return { content: `${file}:2: ${line}`, ok: true };
  return { content: call.name === 'find_tools' ? 'No tool fits.' : 'Stored.', ok: true };
}

interface Earlier {
  readonly asked: string;
  readonly answer: string;
}

/** Names of the checks a turn gave a reason to. */
interface Run {
  readonly answer: string;
  readonly found: readonly string[];
  readonly prompts: number;
  readonly messages: readonly ChatMessage[];
}

function runTurn(
  directive: string,
  before: readonly ChatMessage[],
  earlier: readonly Earlier[],
  given: {
    readonly one: Subject;
    readonly offered: readonly ToolDefinition[];
    readonly breaks: boolean;
    readonly habits?: SimHabits;
  },
): Run {
  const { one, offered, breaks, habits = {} } = given;
  const messages: ChatMessage[] = [...before, told(directive)];
  const made: Made[] = [];
  const found: string[] = [];
  for (let step = 1; ; step += 1) {
    const reply = ask(messages, offered, { key: `${messages.length} ${directive}`, habits });
    if (isEmptyStep(reply.calls.length, reply.text)) found.push('empty-step');
    if (reply.calls.length === 0 || step > MAX_STEPS) {
      found.push(...faultsOfText(reply.text, directive, made, earlier, offered));
      return { answer: reply.text, found, prompts: step, messages: [...messages, answered(reply.text)] };
    }
    for (const call of reply.calls) found.push(...faultsOfCall(call, directive, made, messages));
    const batch = reply.calls.map((call) => ({ ...call, step, ...result(call, one, breaks) }));
    made.push(...batch);
    messages.push(
      {
        role: 'assistant',
        content: batch.map(({ name, args }, at) => ({ type: 'tool_call', id: `${step}-${at}`, name, args })),
      },
      {
        role: 'user',
        content: batch.map(({ name, content, ok }, at) => ({
          type: 'tool_result',
          callId: `${step}-${at}`,
          name,
          content,
          isError: !ok,
        })),
      },
    );
  }
}

function isObserved(made: readonly Made[]): boolean {
  return made.some((one) => one.ok && OBSERVING.has(one.name));
}

function faultsOfCall(
  call: Replied['calls'][number],
  directive: string,
  made: readonly Made[],
  messages: readonly ChatMessage[],
): readonly string[] {
  const card = CARDS.byTool(call.name);
  if (card === undefined) return [];
  const found: string[] = [];
  const reading = readLexically(directive);
  const retrieved = made.filter((one) => one.ok && one.name === 'look_up').map((one) => one.content);
  const same = canonicalJson(call.args);
  const isGiven = (url: string) => JSON.stringify(messages).includes(url);
  if (!card.check(call.args).ok) found.push('tool-repair');
  if (made.some((one) => one.ok && one.name === call.name && canonicalJson(one.args) === same))
    found.push('repeated-card');
  if (isStale({ reading, observed: isObserved(made), text: null }, LEXICON)) found.push('freshness');
  if (
    retrieved.length > 0 &&
    isOffTopic({ card: { tool: call.name, args: call.args }, directive, evidence: retrieved }, LEXICON)
  )
    found.push('topic-mismatch');
  if (uncitedSources(call.args, isGiven).length > 0) found.push('uncited-source');
  return found;
}

function faultsOfText(
  text: string,
  directive: string,
  made: readonly Made[],
  earlier: readonly Earlier[],
  offered: readonly ToolDefinition[],
): readonly string[] {
  const reading = readLexically(directive);
  const calls = made.map(
    ({ step, name, ok }): GateCall => ({
      step,
      name,
      ok,
      card: CARDS.byTool(name) !== undefined,
      observes: OBSERVING.has(name),
      changes: name === 'write_note',
    }),
  );
  const names = offered.map((tool) => tool.name);
  const last = made.filter((one) => one.step === made.at(-1)?.step && one.ok && one.name === 'look_up');
  const types = BUILTIN_CARDS.filter((card) => names.includes(card.tool)).map((card) => card.type);
  const shown = made.flatMap((one) => (one.ok ? (CARDS.byTool(one.name)?.type ?? []) : []));
  const found: string[] = [];
  if (earlier.some((one) => isRepeatOf({ text, directive }, { ...one, sameThread: false })))
    found.push('drift');
  if (isStale({ reading, observed: isObserved(made), text }, LEXICON)) found.push('freshness');
  if (last.length > 0 && isUngrounded({ text, results: last.map((one) => one.content) }, LEXICON))
    found.push('grounding');
  if (malformedFence(CARDS, text) !== null) found.push('malformed-fence');
  if (callInProse({ text, directive, tools: names }) !== null) found.push('call-in-prose');
  const forms = formsAsked(directive, types, lexiconFor(null));
  if (unmadeCard({ text, forms, made: shown, cameBackEmpty: false, directive }, CARDS, LEXICON) !== null)
    found.push('presentation');
  const gate = {
    text,
    finish: 'stop',
    reading,
    calls,
    canObserve: names.some((name) => OBSERVING.has(name)),
    canChange: names.includes('write_note'),
    unmetConditions: [],
  };
  return [...found, ...stopReasons(gate, LEXICON)];
}

describe('a model without habits', () => {
  it('CHK-01 to CHK-08 gives no check a reason, whatever is asked, offered or broken', () => {
    const counts = new Map<Class, number>(CLASSES.map((name) => [name, 0]));
    let prompts = 0;
    fc.assert(
      fc.property(session, ({ turns, offered, breaks }) => {
        let messages: readonly ChatMessage[] = [];
        const earlier: Earlier[] = [];
        const stated = new Map<string, Subject>();
        for (const [kind, own, repeats] of turns) {
          const one = (repeats ? [...stated.values()].at(-1) : undefined) ?? own;
          const asked = DIRECTIVES[kind](one);
          if (!stated.has(one.thing)) {
            messages = [...messages, told(DIRECTIVES.told(one)), answered(`Noted: ${DIRECTIVES.told(one)}`)];
            earlier.push({ asked: DIRECTIVES.told(one), answer: `Noted: ${DIRECTIVES.told(one)}` });
          }
          stated.set(one.thing, one);
          const run = runTurn(asked, messages, earlier, { one, offered, breaks });
          expect({ asked, answer: run.answer, found: run.found }).toEqual({
            asked,
            answer: run.answer,
            found: [],
          });
          messages = run.messages;
          earlier.push({ asked, answer: run.answer });
          counts.set(kind, (counts.get(kind) ?? 0) + 1);
          prompts += run.prompts;
        }
      }),
      { numRuns: 180 },
    );
    const turns = [...counts.values()].reduce((sum, count) => sum + count, 0);
    console.log(
      `sound replies: ${prompts} prompts in ${turns} turns; ${[...counts].map(([name, count]) => `${name} ${count}`).join(', ')}`,
    );
    expect(prompts).toBeGreaterThan(500);
    for (const count of counts.values()) expect(count).toBeGreaterThan(turns / 100);
  }, 120_000);
});

describe('a model with a habit', () => {
  const one: Subject = { thing: 'tarvo', trait: 'zenit', file: 'kolma.md', before: 4127, now: 5230 };
  const other: Subject = { thing: 'melrin', trait: 'fobat', file: 'rilku.md', before: 1188, now: 6611 };
  const history = [told(DIRECTIVES.told(other)), answered('The fobat of melrin is 1188 yards, they say.')];
  const cards = CARD_TOOLS.filter((tool) => ['emit_metric_card', 'emit_research_card'].includes(tool.name));
  const cases: readonly (readonly [SimHabit, Class, readonly ToolDefinition[], string])[] = [
    ['thinkingOnly', 'asked', [], 'empty-step'],
    ['staleFigure', 'as of now', [LOOK_UP], 'freshness'],
    ['staleFigure', 'as of now', [LOOK_UP, ...cards], 'freshness'],
    ['oldCard', 'as of now', [LOOK_UP, ...cards], 'topic-mismatch'],
    ['inventsSource', 'as a card', [READ, GREP, ...cards], 'uncited-source'],
    ['repeatsCard', 'as a card', [READ, GREP, ...cards], 'repeated-card'],
    ['badArguments', 'as a card', cards, 'tool-repair'],
    ['writesCalls', 'in a file', [READ], 'call-in-prose'],
    ['plansOnly', 'in a file', [READ], 'plan_unfinished'],
    ['brokenFence', 'told', [...cards], 'malformed-fence'],
    ['claimsDone', 'to be changed', [WRITE], 'receipt_missing'],
    ['ungrounded', 'as of now', [LOOK_UP], 'grounding'],
    ['repeatAnswer', 'told', [], 'drift'],
  ];

  it.each(cases)('%s gives a reason, asked %s, to its check', (habit, kind, offered, check) => {
    const earlier = [
      { asked: DIRECTIVES.told(other), answer: 'The fobat of melrin is 1188 yards, they say.' },
    ];
    const about = habit === 'badArguments' ? other : one;
    const run = runTurn(DIRECTIVES[kind](about), history, earlier, {
      one: about,
      offered,
      breaks: false,
      habits: { [habit]: 1 },
    });
    expect(run.found).toContain(check);
  });

  it('ignoresFailure gives a reason to the stop gate', () => {
    const run = runTurn(DIRECTIVES['in a file'](one), history, [], {
      one,
      offered: [READ],
      breaks: true,
      habits: { ignoresFailure: 1 },
    });
    expect(run.found).toEqual(['tool_failure_unresolved']);
  });
});
