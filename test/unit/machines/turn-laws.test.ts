import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Withheld } from '../../../src/checks/facts.ts';
import { byteLength } from '../../../src/ledger/json.ts';
import { CHECKS } from '../../../src/ledger/kinds.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import { TURN_MACHINE, TURN_VERSION } from '../../../src/machines/turn.ts';
import { replay, unfold } from '../../../src/runtime/replay.ts';
import { MAX_SNAPSHOT_BYTES } from '../../../src/runtime/snapshot.ts';
import { Tally } from '../ledger/sample.ts';
import {
  ANSWER,
  calls,
  DEGRADED,
  EMPTY,
  type Fact,
  found,
  NO_HORIZON,
  OVER_LENGTH,
  PACKET_WANTED,
  REACHED,
  RESET_MADE,
  RESET_WANTED,
  TurnRun,
} from './turn-run.ts';

/** What can happen next, by what runs; the number chooses among children. */
interface Choice {
  readonly what:
    | 'step'
    | 'child-done'
    | 'child-failed'
    | 'cancel'
    | 'deadline'
    | 'decide'
    | 'waited'
    | 'steer'
    | 'undecided'
    | 'failing';
  readonly fact: Fact;
  readonly at: number;
}

const fact: fc.Arbitrary<Fact> = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(ANSWER, ANSWER, DEGRADED, NO_HORIZON) },
  { weight: 3, arbitrary: fc.constantFrom(EMPTY, OVER_LENGTH) },
  {
    weight: 3,
    arbitrary: fc
      .uniqueArray(fc.constantFrom(...CHECKS), { minLength: 1, maxLength: 3 })
      .map((checks) => found(...checks)),
  },
  { weight: 4, arbitrary: fc.constantFrom(PACKET_WANTED, RESET_WANTED) },
  { weight: 5, arbitrary: fc.constant(calls(1, 0, [0], { idle: true, shown: true })) },
  {
    weight: 6,
    arbitrary: fc
      .record({
        admitted: fc.constantFrom(1, 1, 2, 2, 3, 4, 5, 32),
        asks: fc.boolean(),
        inHop: fc.uniqueArray(fc.nat({ max: 2 }), { maxLength: 2 }),
        kept: fc.option(fc.constantFrom('freshness', 'topic-mismatch', 'uncited-source' as const), {
          freq: 3,
        }),
        byClient: fc.boolean(),
        shown: fc.boolean(),
      })
      .map(({ admitted, asks, inHop, kept, byClient, shown }) => {
        const here = inHop.filter((index) => index < admitted);
        const withheld = kept === null ? [] : here.slice(0, 1).map((index) => ({ check: kept, index }));
        return calls(admitted, asks ? 1 : 0, here, {
          withheld: withheld as Withheld[],
          byClient: byClient && !here.includes(admitted - 1) ? [admitted - 1] : [],
          idle: here.length === admitted,
          shown,
        });
      }),
  },
);
const choice: fc.Arbitrary<Choice> = fc.record({
  what: fc.oneof(
    { weight: 20, arbitrary: fc.constant('step' as const) },
    { weight: 20, arbitrary: fc.constant('child-done' as const) },
    {
      weight: 2,
      arbitrary: fc.constantFrom('child-failed', 'child-failed', 'cancel', 'cancel', 'deadline'),
    },
    { weight: 3, arbitrary: fc.constant('decide' as const) },
    { weight: 6, arbitrary: fc.constant('waited' as const) },
    { weight: 4, arbitrary: fc.constantFrom('steer' as const, 'undecided' as const) },
    { weight: 4, arbitrary: fc.constant('failing' as const) },
  ),
  fact,
  at: fc.nat({ max: 100 }),
});
const limits = fc.record({
  stepBudget: fc.integer({ min: 1, max: 6 }),
  escalate: fc.boolean(),
  weak: fc.boolean(),
});
/** Two packets, the one replan, the one reset and the handoff a step makes itself begin steps of their own. */
const EXTRA_STEPS = 2 + 1 + 1 + 1;
const OUTCOMES = ['completed', 'degraded', 'failed', 'cancelled'];

/** What the runtime may say: a packetless step wants no packet, and one that nobody wrote a handoff for makes it itself. */
function legalFact(turn: TurnRun, wanted: Fact): Fact {
  const { packets, packetless, handoffless } = turn.stored.context;
  const isMade = turn.history.some(({ event }) => event.includes('reset-made'));
  if (handoffless === true && !isMade) return RESET_MADE;
  return wanted === PACKET_WANTED && (Number(packets) >= 2 || packetless === true) ? ANSWER : wanted;
}

/** Does what `choice` says when it is possible now, else the nearest thing that is. */
function happen(turn: TurnRun, { what, fact: wanted, at }: Choice): void {
  const children = [...turn.children];
  const child = children[at % Math.max(1, children.length)];
  if (what === 'cancel') turn.send({ type: 'turn.cancel' });
  else if (turn.state === 'accepted') turn.send({ type: 'turn.start' });
  else if (what === 'deadline') turn.send({ type: 'turn.deadline' });
  else if (turn.state === 'waiting' && what === 'waited') turn.send({ type: 'turn.waited' });
  else if (what === 'steer') turn.send({ type: 'turn.steer' });
  else if (turn.state === 'waiting' && turn.stored.context.waitingFor === 'client')
    turn.clientResult(awaited(turn)[0] ?? 0);
  else if (turn.state === 'waiting') turn.send({ type: decisionOf(turn, at) });
  else if (child === undefined) throw new Error(`nothing can happen in ${turn.state}: the turn is stuck`);
  else if (what === 'child-failed') turn.failed(child);
  else if (what === 'failing' && /^tool-\d+-\d+$/u.test(child))
    turn.done(child, { index: Number(child.split('-')[2]), status: 'error', failed: true });
  else if (what === 'undecided' && /^tool-\d+-\d+$/u.test(child))
    turn.undecided(child, Number(child.split('-')[2]));
  else if (turn.timers.has('summary-late') && what === 'waited') turn.send({ type: 'turn.summary-late' });
  else turn.done(child, answerOf(turn, child, wanted));
}

/** A summary that was asked for its second packet finds nothing to write. */
function answerOf(turn: TurnRun, child: string, wanted: Fact): Fact | null {
  if (child.startsWith('step-')) return legalFact(turn, wanted);
  if (child === 'summary-2') return { to: 0 };
  return child.startsWith('summary-') || child.startsWith('handoff-') ? REACHED : null;
}

function awaited(turn: TurnRun): readonly number[] {
  return turn.stored.context.awaited as readonly number[];
}

function decisionOf(turn: TurnRun, at: number): string {
  const isYes = at % 2 === 0;
  if (turn.stored.context.waitingFor === 'outcome') return isYes ? 'turn.rerun' : 'turn.report';
  return isYes ? 'turn.approve' : 'turn.deny';
}

/** Sums: every child of every step that a budget allows, and what waits and replans add. */
function longestHistory(stepBudget: number): number {
  const steps = stepBudget + EXTRA_STEPS;
  return 3 + steps * (1 + 2 * (32 + 1)) + 2;
}

/** Calls without a job are answered once each step, unless the turn ends before the others settle. */
function answersDue({ history, answers }: TurnRun): readonly unknown[] {
  const steps = history.flatMap(({ event }) => {
    const { type, output } = JSON.parse(event) as { readonly type: string; readonly output?: Fact };
    const step = /^xstate\.done\.actor\.step-(\d+)$/u.exec(type)?.[1];
    const inHop = output?.kind === 'calls' ? (output.inHop as readonly number[]) : [];
    return step === undefined ? [] : [{ step: Number(step), calls: inHop }];
  });
  const last = steps.at(-1)?.step;
  return steps.filter(({ step, calls: due }) => {
    const wasAnswered = answers.some((answer) => answer.step === step);
    return due.length > 0 && (step !== last || wasAnswered);
  });
}

function runToEnd(turn: TurnRun, choices: readonly Choice[], stepBudget: number): void {
  for (let at = 0; !turn.ended; at++) {
    const steered = turn.history.filter(({ event }) => event.includes('turn.steer')).length;
    if (turn.history.length - steered > longestHistory(stepBudget)) throw new Error('the turn does not end');
    const next = choices[at % choices.length] as Choice;
    // A history of nothing but steering would have no end to look at.
    happen(turn, at >= choices.length && next.what === 'steer' ? { ...next, what: 'step' } : next);
  }
}

describe('laws of the turn machine', () => {
  it('RUN-14 any history of legal facts ends in exactly one of the four outcomes, within its budget', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(limits, fc.array(choice, { minLength: 1, maxLength: 30 }), (limit, choices) => {
        const turn = new TurnRun(limit);
        runToEnd(turn, choices, limit.stepBudget);
        expect(turn.closed).toHaveLength(1);
        const outcome = turn.closed[0]?.outcome ?? '';
        expect(OUTCOMES).toContain(outcome);
        expect(turn.state).toBe(outcome);
        expect(turn.children.size).toBe(0);
        expect(turn.closed[0]?.steps).toBeLessThanOrEqual(limit.stepBudget + EXTRA_STEPS);
        const types = turn.history.map(({ event }) => event);
        expect(turn.answers.map(({ step, calls: due }) => ({ step, calls: due }))).toEqual(answersDue(turn));
        tally.count({
          ...Object.fromEntries(OUTCOMES.map((name) => [name, name === outcome])),
          'read by a classifier': types.some((event) => event.includes('actor.intent-1')),
          waited: types.some((event) => /turn\.(?:approve|deny)/u.test(event)),
          steered: types.some((event) => event.includes('turn.steer')),
          'decided about an unknown outcome': types.some((event) => /turn\.(?:rerun|report)/u.test(event)),
          'with a packet': types.some((event) => event.includes('done.actor.summary-')),
          'with a handoff': types.some((event) => event.includes('done.actor.handoff-')),
          'with a handoff a step made': types.some((event) => event.includes('reset-made')),
          'with a late summary': types.some((event) => event.includes('summary-late')),
          'with calls that need no job': turn.answers.length > 0,
          'with a reply sent back': types.some((event) => event.includes('"findings":[{')),
          'with a call of the client': types.some((event) => event.includes('turn.client-result')),
          'ended by a check': turn.stated.length > 0,
          'ended on a card': turn.closed[0]?.reason === 'card_repeated',
          'on a degraded packet': turn.closed[0]?.reason === 'degraded_summary',
        });
      }),
      { numRuns: 500 },
    );
    tally.report('histories of a turn');
  });

  it('RUN-09 replaying the events reproduces every snapshot, folded into one row or not', () => {
    fc.assert(
      fc.property(limits, fc.array(choice, { minLength: 1, maxLength: 30 }), (limit, choices) => {
        const turn = new TurnRun(limit);
        runToEnd(turn, choices, limit.stepBudget);
        const steps = replay(MACHINES, TURN_MACHINE, TURN_VERSION, turn.history);
        expect(steps.map((step) => step.matches)).toEqual(turn.history.map(() => true));
        expect(steps.at(-1)?.snapshot).toBe(turn.snapshot);
        const rows = turn.history.map(({ id, event, digest }) => [id, JSON.parse(event) as unknown, digest]);
        const folded = [
          { id: 'all', event: JSON.stringify(rows), digest: turn.history.at(-1)?.digest ?? null },
        ];
        expect(replay(MACHINES, TURN_MACHINE, TURN_VERSION, unfold(folded))).toEqual(steps);
      }),
      { numRuns: 60 },
    );
  });

  it('RUN-09 replay says which snapshot is not what the events lead to', () => {
    const turn = TurnRun.started().step(calls(1)).done('tool-1-0').step(ANSWER);
    const events = turn.history.map((row, index) => (index === 2 ? { ...row, digest: 'f'.repeat(64) } : row));
    const steps = replay(MACHINES, TURN_MACHINE, TURN_VERSION, events);
    expect(steps.map((step) => step.matches)).toEqual([true, true, false, true, true]);
    const late = { id: 'late', event: '{"type":"turn.cancel"}', digest: null };
    expect(replay(MACHINES, TURN_MACHINE, TURN_VERSION, [...turn.history, late])).toHaveLength(5);
  });

  it('a snapshot stays under 8 KiB whatever the turn went through', () => {
    let largest = 0;
    fc.assert(
      fc.property(limits, fc.array(choice, { minLength: 1, maxLength: 30 }), (limit, choices) => {
        const turn = new TurnRun({ ...limit, stepBudget: 1_000_000, deadlineMs: 2_147_483_647 });
        for (const [at, next] of choices.entries()) {
          if (turn.ended) return;
          happen(turn, at % 7 === 0 ? { ...next, what: 'step', fact: calls(32) } : next);
          largest = Math.max(largest, byteLength(turn.snapshot));
          expect(byteLength(turn.snapshot)).toBeLessThanOrEqual(MAX_SNAPSHOT_BYTES);
        }
      }),
      { numRuns: 100 },
    );
    process.stderr.write(`largest snapshot: ${largest} of ${MAX_SNAPSHOT_BYTES} bytes\n`);
  });

  it('a snapshot stored, restored and stored again is the same text', () => {
    fc.assert(
      fc.property(fc.array(choice, { minLength: 1, maxLength: 12 }), (choices) => {
        const turn = new TurnRun({ stepBudget: 5 });
        for (const next of choices) {
          if (turn.ended) return;
          const before = turn.snapshot;
          turn.send({ type: 'nobody.knows' });
          expect(turn.snapshot).toBe(before);
          happen(turn, next);
        }
      }),
      { numRuns: 60 },
    );
  });
});
