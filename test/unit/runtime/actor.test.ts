import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createCards } from '../../../src/context/cards/registry.ts';
import { GENESIS_DIGEST } from '../../../src/ledger/chain.ts';
import type { Json } from '../../../src/ledger/json.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import { TURN_MACHINE, TURN_VERSION } from '../../../src/machines/turn.ts';
import { beginActor, type MachineEvent, stepActor } from '../../../src/runtime/actor.ts';
import { CommitBuilder } from '../../../src/runtime/commit-builder.ts';
import { createToolSurface } from '../../../src/tools/surface.ts';
import { calls } from '../machines/turn-run.ts';

const HEAD = randomUUID();
const TURN = randomUUID();
const PLACE = { actor: TURN, turn: TURN, head: HEAD, priority: 0 };
const CONTEXT = {
  registry: MACHINES,
  nowUtc: '2026-01-02T03:04:05.000Z',
  timezone: 'UTC',
  cards: createCards([]),
  surface: createToolSurface([]),
};

function builder(): CommitBuilder {
  return new CommitBuilder({
    tenant: randomUUID(),
    session: randomUUID(),
    status: 'open',
    leg: 'a',
    liveHead: HEAD,
    nextSeq: 1,
    lastDigest: GENESIS_DIGEST,
    nextTurn: 1,
    nextEvidence: 1,
    nextPresentation: 1,
    nextItem: 1,
    prefix: null,
    epoch: 0,
    profileAt: 0,
    watched: false,
  });
}

/** The commit of each event of a turn, one after the other. */
function commitsOf(stepBudget: number, events: readonly MachineEvent[]) {
  const first = builder();
  const input = { stepBudget, deadlineMs: 5_000, escalate: false, weak: false };
  const created = { actor: TURN, turn: TURN, machine: TURN_MACHINE, version: TURN_VERSION, input };
  let { actor } = beginActor(first, CONTEXT, created, PLACE);
  return events.map((event, at) => {
    const commit = builder();
    ({ actor } = stepActor(
      commit,
      CONTEXT,
      { ...actor, openChildren: [] },
      { id: String(at), event },
      PLACE,
    ));
    const { timers, clearedTimers } = commit.lists;
    return { timers: timers.map(({ timer }) => timer), cleared: clearedTimers.map(({ timer }) => timer) };
  });
}

const START = { type: 'turn.start' };
const stepDone = (step: number, output: Json): MachineEvent => ({
  type: `xstate.done.actor.step-${step}`,
  output,
});
const RESULT = { type: 'turn.client-result', step: 1, index: 0, failed: false };

describe('the timers of a hop', () => {
  it('RUN-07 a turn that waits for others has no deadline, and gets it anew as it goes on', () => {
    const commits = commitsOf(9, [START, stepDone(1, calls(1, 0, [], { byClient: [0] }) as Json), RESULT]);
    expect(commits.map(({ timers }) => timers)).toEqual([['deadline'], ['waited'], ['deadline']]);
    expect(commits[1]?.cleared).toContain('deadline');
    expect(commits[2]?.cleared).toContain('waited');
  });

  it('RUN-07 what is set and cleared in one hop is not set: a commit clears before it sets', () => {
    // The budget is spent: the turn goes on and ends in the hop of the last result.
    const commits = commitsOf(1, [START, stepDone(1, calls(1, 0, [], { byClient: [0] }) as Json), RESULT]);
    expect(commits[2]).toEqual({ timers: [], cleared: ['waited', null] });
  });
});
