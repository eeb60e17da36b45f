/** What a reply is judged by, for tests: an open turn of records, a handful of tools, English words. */
import { judgeReply } from '../../src/checks/judge.ts';
import type { JudgedTool, Judging } from '../../src/checks/judged.ts';
import { checkLexiconFor } from '../../src/checks/lexicon/index.ts';
import { BUILTIN_CARDS, createCards } from '../../src/context/cards/index.ts';
import type { AssistantBlock } from '../../src/ledger/blocks.ts';
import type { Json } from '../../src/ledger/json.ts';
import type { Reading } from '../../src/ledger/reading.ts';
import { type StepView, type TurnView, unasked } from '../../src/ledger/view.ts';

export const text = (words: string): AssistantBlock => ({ type: 'text', text: words });
export const call = (name: string, args: Json = {}): AssistantBlock => ({
  type: 'tool_call',
  id: name,
  name,
  args,
});

export const READING: Reading = {
  source: 'lexical',
  version: 1,
  act: 'answer',
  domains: [],
  confidence: 0.9,
};
export const LIVE: Reading = { ...READING, domains: ['live-data'] };

export function judgedTool(
  tool: Partial<JudgedTool> & { readonly retrieves?: boolean; readonly effect?: string },
): JudgedTool {
  const { retrieves = false, effect = 'read', ...rest } = tool;
  return {
    approval: false,
    inHop: false,
    byClient: false,
    fits: () => true,
    traitsOf: () => ({ effect, observes: true, retrieves }),
    ...rest,
  };
}

/** `search` retrieves, `read` observes, `recall` looks back, `save` changes something, cards stand for themselves. */
export const TOOLS: Readonly<Record<string, JudgedTool>> = {
  search: judgedTool({ retrieves: true }),
  read: judgedTool({}),
  recall: judgedTool({ traitsOf: () => ({ effect: 'read', observes: false, retrieves: false }) }),
  save: judgedTool({
    effect: 'once',
    traitsOf: () => ({ effect: 'once', observes: false, retrieves: false }),
  }),
  ...Object.fromEntries(
    BUILTIN_CARDS.map(({ tool }) => [
      tool,
      judgedTool({
        inHop: true,
        traitsOf: () => ({ effect: 'idempotent', observes: false, retrieves: false }),
      }),
    ]),
  ),
};

export interface PastStep {
  readonly calls: readonly {
    readonly tool: string;
    readonly args?: Json;
    readonly result: string;
    readonly status?: 'ok' | 'error' | 'withheld';
    readonly evidence?: string;
  }[];
}

export function openTurn(
  asked: string,
  {
    reading = READING,
    steps = [],
    ...rest
  }: Partial<Omit<TurnView, 'steps'>> & { readonly steps?: readonly PastStep[] } = {},
): TurnView {
  return {
    ...unasked(9),
    turnId: 'turn',
    input: [{ type: 'text', text: asked }],
    reading,
    ...rest,
    steps: steps.map((past, at) => stepOf(past, at + 1)),
  };
}

function stepOf({ calls }: PastStep, step: number): StepView {
  const results = calls.map(({ tool, result, status = 'ok', evidence = `e${step}` }, index) => {
    const body = {
      step,
      index,
      callId: `c${step}-${index}`,
      name: tool,
      status,
      evidence,
      content: result,
      windowed: false,
    };
    return [index, body] as const;
  });
  return {
    item: step + 1,
    step,
    seq: step,
    content: calls.map(({ tool, args = {} }) => call(tool, args)),
    finish: 'tool_calls',
    kept: null,
    results: new Map(results),
    nudge: null,
  };
}

export function judging(
  content: readonly AssistantBlock[],
  given: Partial<Omit<Judging, 'reply'>> & { readonly finish?: string } = {},
): Judging {
  const { finish = 'stop', ...rest } = given;
  return {
    turn: openTurn('what is it'),
    reply: { content, finish },
    degraded: false,
    lexicon: checkLexiconFor(null),
    cards: createCards(BUILTIN_CARDS),
    toolOf: (name) => TOOLS[name],
    tools: Object.keys(TOOLS),
    lookups: ['search'],
    canObserve: true,
    canChange: true,
    forms: [],
    wholes: new Map(),
    isGiven: () => true,
    earlier: null,
    unmetConditions: [],
    ...rest,
  };
}

export const judge = (...given: Parameters<typeof judging>) => judgeReply(judging(...given));
