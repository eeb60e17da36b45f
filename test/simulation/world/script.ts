/**
 * What producers send in one world and what the models will say to it: a script a turn. A turn's directive names its
 * script, so a model knows what to say from the request alone, whoever sends it and how often.
 */
import type { Decision, Outcome, TurnMode } from '../../../src/ledger/kinds.ts';
import type { Dice } from './dice.ts';

export type ToolName = 'look' | 'store' | 'spend' | 'gamble' | 'grant' | 'break' | 'stall' | 'nowhere';

export interface ScriptedCall {
  readonly tool: ToolName;
  /** Bytes of its result. */
  readonly bytes: number;
  /** Arguments that are no JSON. */
  readonly broken: boolean;
}

/** One thing a model says. The failures of a round come first, then its reply. */
export type Round = { readonly failures: readonly RoundFailure[] } & (
  | { readonly says: 'answer' | 'nothing' | 'silence' }
  | { readonly says: 'calls'; readonly calls: readonly ScriptedCall[] }
);
export type RoundFailure = 'overloaded' | 'rate_limited' | 'over_length' | 'auth' | 'content';

export interface Script {
  /** `q7`; the directive holds it. */
  readonly name: string;
  readonly directive: string;
  readonly rounds: readonly Round[];
  readonly stepBudget: number;
  readonly deadlineMs: number;
  /** How it ends when nothing interferes. */
  readonly ends: readonly [Outcome, string];
  readonly decision: Decision | 'never';

  readonly session: number;
  readonly leg: 'wide' | 'narrow';
  readonly mode: TurnMode;
  readonly priority: number;
  readonly key: string | null;
  readonly sentMs: number;
  /** Requests of several producers under one key. */
  readonly copies: number;
  readonly cancelAfterMs: number | null;
}

const SESSIONS = 3;
const FEWEST_TURNS = 3;
const MOST_TURNS = 7;
const SENT_WITHIN_MS = 9_000;
/** Far beyond what any schedule needs. */
const LONG_MS = 1_800_000;
const MANY_STEPS = 12;
const MORE_CALLS_THAN_RUN = 34;
const FOREVER = 40;

type Plot = Pick<Script, 'rounds' | 'ends'> & Partial<Pick<Script, 'stepBudget' | 'deadlineMs' | 'decision'>>;

const says = (what: 'answer' | 'nothing' | 'silence', ...failures: RoundFailure[]): Round => ({
  says: what,
  failures,
});
/** However often it is asked. */
const always = (failure: RoundFailure): Round =>
  says('answer', ...Array.from({ length: FOREVER }, () => failure));
const COMPLETED = ['completed', 'answered'] as const;
const ANSWER = says('answer');

const PLOTS: readonly (readonly [(dice: Dice) => Plot, number])[] = [
  [() => ({ rounds: [ANSWER], ends: COMPLETED }), 5],
  [(dice) => ({ rounds: [...batches(dice), ANSWER], ends: COMPLETED }), 9],
  [() => ({ rounds: [says('nothing'), ANSWER], ends: COMPLETED }), 1],
  [() => ({ rounds: [says('nothing'), says('nothing')], ends: ['failed', 'empty_step'] }), 1],
  [(dice) => ({ rounds: [says('answer', ...retryable(dice))], ends: COMPLETED }), 4],
  [(dice) => ({ rounds: [...batches(dice), says('answer', ...retryable(dice))], ends: COMPLETED }), 3],
  [() => ({ rounds: [always('overloaded')], ends: ['failed', 'transport_exhausted'] }), 1],
  [() => ({ rounds: [always('auth')], ends: ['failed', 'auth'] }), 0.5],
  [() => ({ rounds: [always('content')], ends: ['failed', 'content_refused'] }), 0.5],
  [() => ({ rounds: [says('answer', 'over_length')], ends: COMPLETED }), 2],
  [() => ({ rounds: [always('over_length')], ends: ['failed', 'no_usable_horizon'] }), 1],
  [(dice) => asksAPerson(dice, 'approve'), 2],
  [(dice) => asksAPerson(dice, 'deny'), 1],
  [(dice) => asksAPerson(dice, 'never'), 1.3],
  [(dice) => hangs(dice), 2],
  [spendsItsBudget, 1],
  [callsTooMuch, 0.3],
];

export function writeScripts(dice: Dice): readonly Script[] {
  const count = dice.whole(FEWEST_TURNS, MOST_TURNS);
  const sessions = dice.whole(1, SESSIONS);
  const legs = Array.from({ length: sessions }, () => (dice.chance(0.4) ? 'narrow' : 'wide'));
  return Array.from({ length: count }, (_, index) => {
    const name = `q${index + 1}`;
    const session = dice.whole(0, sessions - 1);
    const key = dice.chance(0.85) ? `key-${name}` : null;
    return {
      name,
      directive: dice.chance(0.75) ? `What is ${name}?` : `${name}, please.`,
      stepBudget: MANY_STEPS,
      deadlineMs: LONG_MS,
      decision: dice.pick(['rerun', 'report'] as const),
      ...dice.weighed(PLOTS)(dice),
      session,
      leg: legs[session] ?? 'wide',
      mode: dice.weighed([
        ['enqueue', 8],
        ['steer', 2],
        ['interrupt', 1],
        ['reject', 1],
      ] as const),
      priority: dice.whole(0, 2),
      key,
      sentMs: dice.between(0, SENT_WITHIN_MS),
      copies: key !== null && dice.chance(0.3) ? dice.whole(2, 4) : 1,
      cancelAfterMs: dice.chance(0.15) ? dice.between(0, 6_000) : null,
    };
  });
}

function batches(dice: Dice): readonly Round[] {
  const tools = [
    'look',
    'look',
    'store',
    'spend',
    'spend',
    'gamble',
    'gamble',
    'break',
    'stall',
    'nowhere',
  ] as const;
  return Array.from({ length: dice.whole(1, 2) }, () => {
    const calls = Array.from({ length: dice.whole(1, 3) }, () => call(dice.pick(tools), dice));
    return { says: 'calls', calls, failures: dice.chance(0.1) ? retryable(dice) : [] } as const;
  });
}

function call(tool: ToolName, dice: Dice): ScriptedCall {
  const bytes = dice.weighed([
    [20, 6],
    [2_000, 3],
    [50_000, 0.3],
  ] as const);
  return { tool, bytes, broken: dice.chance(0.03) };
}

function retryable(dice: Dice): readonly RoundFailure[] {
  return Array.from({ length: dice.whole(1, 3) }, () => dice.pick(['overloaded', 'rate_limited'] as const));
}

function asksAPerson(dice: Dice, decision: Decision | 'never'): Plot {
  const calls = [call('grant', dice), ...(dice.chance(0.5) ? [call('look', dice)] : [])];
  const rounds = [{ says: 'calls', calls, failures: [] } as const, ANSWER];
  if (decision !== 'never') return { rounds, ends: COMPLETED, decision };
  // The day it waits is others' time: its own deadline does not end it.
  return {
    rounds,
    ends: ['degraded', 'approval_expired'],
    decision,
    deadlineMs: dice.between(2_000, 15_000),
  };
}

function hangs(dice: Dice): Plot {
  const rounds = [...(dice.chance(0.3) ? batches(dice) : []), says('silence')];
  return { rounds, ends: ['degraded', 'time_budget'], deadlineMs: dice.between(1_000, 12_000) };
}

function spendsItsBudget(dice: Dice): Plot {
  const rounds = Array.from({ length: MANY_STEPS }, () => batches(dice)[0] ?? ANSWER);
  return { rounds, ends: ['degraded', 'step_budget'], stepBudget: dice.whole(1, 2) };
}

function callsTooMuch(dice: Dice): Plot {
  const calls = Array.from({ length: MORE_CALLS_THAN_RUN }, () => call('look', dice));
  return { rounds: [{ says: 'calls', calls, failures: [] }, ANSWER], ends: COMPLETED };
}
