import { describe, expect, it } from 'vitest';
import { STUCK_CAUSES, type StuckRow } from '../../../src/db/queries/list-stuck.ts';
import { TURN_VERSION } from '../../../src/machines/turn.ts';
import { MAX_DEATHS } from '../../../src/runtime/calls.ts';
import { explainStuck, stuckLimits } from '../../../src/runtime/stuck-reasons.ts';

const ROW: StuckRow = {
  tenant: 'a-tenant',
  session: 'a-session',
  turn: 'the-turn',
  number: 1,
  cause: 'parked',
  machine: 'turn',
  version: TURN_VERSION,
  parkedReason: 'it was refused.',
  child: 'step-2',
  pool: 'step',
  slots: 0,
  workers: 0,
  sinceSeconds: 1,
};

describe('why a turn is stuck', () => {
  it('RUN-11 is said for every cause, in words of its own, with what to do', () => {
    const said = STUCK_CAUSES.flatMap((cause) =>
      [0, 3].map((live) => explainStuck({ ...ROW, cause, slots: live, workers: live })),
    );
    for (const { reason, action } of said) {
      expect(reason).toMatch(/^[A-Zs].*\.$/u);
      expect(action).toMatch(/^[A-Z].*(?:the-turn|worker|version|concurrency).*\.$/u);
      expect(`${reason} ${action}`).not.toMatch(/undefined|null/u);
    }
    const telling = ['unclaimed', 'event_pending', 'timer_overdue'];
    expect(new Set(said.map(({ reason }) => reason)).size).toBe(STUCK_CAUSES.length + telling.length);
  });

  it('RUN-11 tells a version nobody here knows from one that this program knows', () => {
    const pending = { ...ROW, cause: 'event_pending', slots: 4 } as const;
    const unknown = explainStuck({ ...pending, version: 99 });
    expect(unknown.reason).toContain('waits for a worker that knows turn version 99');
    expect(unknown.action).not.toContain('/retry');
    const known = explainStuck(pending);
    expect(known.reason).not.toContain('waits for a worker that knows');
    expect(known.action).toContain('/retry');
  });

  it('RUN-11 names a pool without a worker as what must be started', () => {
    const words = explainStuck({ ...ROW, cause: 'unclaimed', pool: 'tool', child: 'tool-1-0' });
    expect(words).toEqual({
      reason: 'tool-1-0 waits for the pool tool, which no live worker serves.',
      action: 'Start a worker with --pools tool.',
    });
    expect(explainStuck({ ...ROW, cause: 'unclaimed', slots: 1 }).reason).toContain('its 1 live slot has');
  });

  it('RUN-11 waits for the sweep before it calls a worker gone, and for a full queue before a job', () => {
    const { goneMs, unclaimedMs, repeats } = stuckLimits(6_000);
    expect(goneMs).toBeGreaterThan(6_000);
    expect(unclaimedMs).toBeGreaterThan(goneMs);
    // The claim that finds so many deaths ends its call; one more should not have been.
    expect(repeats).toBeGreaterThan(MAX_DEATHS);
  });
});
