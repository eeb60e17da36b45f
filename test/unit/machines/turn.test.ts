import { describe, expect, it } from 'vitest';
import {
  ANSWER,
  calls,
  DEGRADED,
  EMPTY,
  NO_HORIZON,
  OVER_LENGTH,
  PACKET_WANTED,
  RESET_MADE,
  RESET_WANTED,
  TurnRun,
} from './turn-run.ts';

const DAY_MS = 86_400_000;
const SUMMARY_WAIT_MS = 20_000;

/** A turn in each state it can be found in between two events. */
const IN_STATE: Readonly<Record<string, () => TurnRun>> = {
  accepted: () => new TurnRun(),
  reading: () => TurnRun.started({ escalate: true, weak: true }),
  stepping: () => TurnRun.started(),
  waiting: () => TurnRun.started().step(calls(2, 1)),
  tooling: () => TurnRun.started().step(calls(3)),
  compacting: () => TurnRun.started().step(PACKET_WANTED),
};

describe('a turn that waits for its head', () => {
  it('RUN-01 asks for nothing until it is started', () => {
    const turn = new TurnRun();
    expect([turn.state, turn.effects]).toEqual(['accepted', []]);
  });

  it('RUN-01 steps when started, with its deadline set', () => {
    const turn = TurnRun.started({ deadlineMs: 5_000 });
    expect(turn.state).toBe('stepping');
    expect(turn.spawned).toEqual([stepping(1)]);
    expect([...turn.timers]).toEqual([
      ['deadline', expect.objectContaining({ event: { type: 'turn.deadline' }, delayMs: 5_000 })],
    ]);
  });

  it.each([
    [true, true, 'reading'],
    [true, false, 'stepping'],
    [false, true, 'stepping'],
    [false, false, 'stepping'],
  ])('INT-02 escalate %s and weak words %s lead to %s', (escalate, weak, state) => {
    expect(TurnRun.started({ escalate, weak }).state).toBe(state);
  });

  it('INT-02 a classifier that fails, or answers, leads to the same first step', () => {
    for (const turn of [IN_STATE.reading?.().failed('intent-1'), IN_STATE.reading?.().done('intent-1')]) {
      expect(turn?.state).toBe('stepping');
      expect(turn?.spawned.map(({ child }) => child)).toEqual(['step-1']);
    }
  });
});

describe('what follows from the facts of a reply', () => {
  it('RUN-14 an answer completes the turn', () => {
    const turn = TurnRun.started().step(ANSWER);
    expect([turn.state, turn.ended]).toEqual(['completed', true]);
    expect(turn.closed).toEqual([{ outcome: 'completed', reason: 'answered', steps: 1 }]);
    expect(turn.spawned).toEqual([]);
  });

  it('every admitted call is a job of its own, and the next step waits for the last of them', () => {
    const turn = TurnRun.started().step(calls(3));
    expect(turn.spawned.map(({ child, src, input }) => [child, src, input])).toEqual(
      [0, 1, 2].map((index) => [
        `tool-1-${index}`,
        'tool',
        { step: 1, index, denied: false, decided: null, again: false },
      ]),
    );
    turn.done('tool-1-2').done('tool-1-0');
    expect([turn.state, turn.spawned]).toEqual(['tooling', []]);
    turn.done('tool-1-1');
    expect([turn.state, turn.spawned.map(({ child }) => child)]).toEqual(['stepping', ['step-2']]);
  });

  it('CHK-01 an empty reply is sent back once, with a nudge record', () => {
    const turn = TurnRun.started().step(EMPTY);
    expect(turn.records).toEqual([
      { kind: 'check-fired', body: { step: 1, check: 'empty-step', verdict: 'redo' } },
      { kind: 'nudge', body: { step: 1, check: 'empty-step' } },
    ]);
    expect([turn.state, turn.spawned.map(({ child }) => child)]).toEqual(['stepping', ['step-2']]);
  });

  it('CHK-01 the next consecutive empty reply fails the turn, with no further nudge', () => {
    const turn = TurnRun.started().step(EMPTY).step(EMPTY);
    expect(turn.closed).toEqual([{ outcome: 'failed', reason: 'empty_step', steps: 2 }]);
    expect(turn.records).toEqual([]);
  });

  it('CHK-01 a real call in between allows another redo', () => {
    const turn = TurnRun.started().step(EMPTY).step(calls(1)).done('tool-2-0').step(EMPTY);
    expect(turn.state).toBe('stepping');
    expect(turn.records.map(({ kind }) => kind)).toContain('nudge');
    expect(turn.step(EMPTY).closed[0]?.reason).toBe('empty_step');
    const waited = TurnRun.started().step(EMPTY).step(calls(1, 1));
    waited.send({ type: 'turn.approve' }).done('tool-2-0').step(EMPTY);
    expect(waited.state).toBe('stepping');
  });

  it('PLN-03 a prompt refused as too long is planned again once, then reset once, then there is no usable horizon', () => {
    const turn = TurnRun.started().step(OVER_LENGTH);
    expect([turn.state, turn.spawned.map(({ child }) => child)]).toEqual(['stepping', ['step-2']]);
    turn.step(OVER_LENGTH);
    expect(turn.spawned.map(({ child }) => child)).toEqual(['handoff-1']);
    turn.summarised().step(OVER_LENGTH);
    expect(turn.closed).toEqual([{ outcome: 'failed', reason: 'no_usable_horizon', steps: 3 }]);
    const recovered = TurnRun.started().step(OVER_LENGTH).step(ANSWER);
    expect(recovered.state).toBe('completed');
  });

  it('a wanted packet is built before the next step', () => {
    const turn = TurnRun.started().step(PACKET_WANTED);
    expect(turn.state).toBe('compacting');
    const input = { purpose: 'packet', from: 1, to: 8, bytes: 900 };
    expect(turn.spawned).toEqual([{ child: 'summary-1', src: 'summary', input }]);
    turn.summarised();
    expect(turn.spawned).toEqual([stepping(2)]);
    expect(turn.timers.has('summary-late')).toBe(false);
  });

  it('a dead summariser never fails a turn: it goes on and asks for no packet again', () => {
    const turn = TurnRun.started().step(PACKET_WANTED).failed('summary-1');
    expect(turn.spawned).toEqual([stepping(2, { packetless: true })]);
    expect(turn.step(ANSWER).state).toBe('completed');
  });

  it('two packets a turn are the most it builds', () => {
    const turn = TurnRun.started().step(PACKET_WANTED).summarised().step(PACKET_WANTED);
    expect(turn.spawned.map(({ child }) => child)).toEqual(['summary-2']);
    turn.summarised();
    expect(turn.spawned).toEqual([stepping(3, { packetless: true })]);
  });

  it('PLN-02 a summariser that wrote no packet leaves the turn to go on without', () => {
    const turn = TurnRun.started().step(PACKET_WANTED).done('summary-1', { to: 0 });
    expect(turn.spawned).toEqual([stepping(2, { packetless: true })]);
    const partly = TurnRun.started().step(PACKET_WANTED).done('summary-1', { to: 4 });
    expect(partly.spawned).toEqual([stepping(2)]);
  });

  it('PLN-02 a summary that is late is stopped, and the turn goes on without', () => {
    const turn = TurnRun.started().step(PACKET_WANTED);
    expect(turn.timers.get('summary-late')).toMatchObject({ delayMs: SUMMARY_WAIT_MS });
    turn.send({ type: 'turn.summary-late' });
    expect([turn.stopped, turn.spawned]).toEqual([['summary-1'], [stepping(2, { packetless: true })]]);
    const before = turn.snapshot;
    expect(turn.send({ type: 'turn.summary-late' }).snapshot).toBe(before);
  });

  it('PLN-02 an answer that rests on a packet nobody summarised ends the turn degraded', () => {
    const turn = TurnRun.started().step(PACKET_WANTED).failed('summary-1').step(DEGRADED);
    expect(turn.closed).toEqual([{ outcome: 'degraded', reason: 'degraded_summary', steps: 2 }]);
  });

  it('EVI-04 calls that need no job are answered once, as the last of the others settles', () => {
    const turn = TurnRun.started().step(calls(4, 0, [0, 2]));
    expect(turn.spawned.map(({ child }) => child)).toEqual(['tool-1-1', 'tool-1-3']);
    expect(turn.done('tool-1-1').answered).toEqual([]);
    expect(turn.done('tool-1-3').answered).toMatchObject([{ step: 1, calls: [0, 2] }]);
    expect(turn.spawned).toEqual([stepping(2)]);
  });

  it('EVI-04 a step of nothing but such calls goes on at once', () => {
    const turn = TurnRun.started().step(calls(2, 0, [0, 1]));
    expect([turn.answered, turn.spawned]).toMatchObject([[{ step: 1, calls: [0, 1] }], [stepping(2)]]);
    expect(turn.step(calls(1)).done('tool-2-0').answered).toEqual([]);
  });

  it('EVI-04 such a call beside one that needs consent waits for it, and is not asked about', () => {
    const turn = TurnRun.started().step(calls(2, 1, [0]));
    expect(turn.records).toEqual([{ kind: 'turn-waiting', body: { for: 'approval', calls: ['tool-1-1'] } }]);
    expect(turn.answered).toEqual([]);
    expect(turn.send({ type: 'turn.deny' }).done('tool-1-1').answered).toMatchObject([
      { step: 1, calls: [0] },
    ]);
  });

  it('PLN-04 a turn that has outgrown the model gets one handoff, and steps again', () => {
    const turn = TurnRun.started().step(calls(1)).done('tool-1-0').step(RESET_WANTED);
    const input = { purpose: 'handoff', step: 2 };
    expect([turn.state, turn.spawned]).toEqual([
      'compacting',
      [{ child: 'handoff-1', src: 'summary', input }],
    ]);
    expect(turn.timers.get('summary-late')).toMatchObject({ delayMs: SUMMARY_WAIT_MS });
    turn.summarised();
    expect(turn.spawned).toEqual([stepping(3)]);
    expect(turn.timers.has('summary-late')).toBe(false);
    turn.step(RESET_WANTED);
    expect(turn.closed).toEqual([{ outcome: 'failed', reason: 'no_usable_horizon', steps: 3 }]);
  });

  it.each([
    ['fails', (turn: TurnRun) => turn.failed('handoff-1')],
    ['is late', (turn: TurnRun) => turn.send({ type: 'turn.summary-late' })],
  ])('PLN-04 where the summariser %s, the step makes the handoff itself', (_, goOn) => {
    const turn = goOn(TurnRun.started().step(RESET_WANTED));
    expect(turn.spawned).toEqual([stepping(2, { handoffless: true })]);
    expect(turn.children).toEqual(new Set(['step-2']));
    turn.step(RESET_MADE);
    expect(turn.spawned).toEqual([stepping(3, { handoffless: true })]);
    expect(turn.step(ANSWER).closed[0]?.outcome).toBe('completed');
  });

  it.each(['turn.cancel', 'turn.deadline'])('PLN-04 %s stops a handoff that is being written', (type) => {
    const turn = TurnRun.started().step(RESET_WANTED).send({ type });
    expect([turn.ended, turn.stopped]).toEqual([true, ['handoff-1']]);
  });

  it('PLN-04 a directive that fits no request ends the turn at once', () => {
    const turn = TurnRun.started().step(NO_HORIZON);
    expect(turn.closed).toEqual([{ outcome: 'failed', reason: 'no_usable_horizon', steps: 1 }]);
  });

  it.each(['step-1', 'tool-1-1'])(
    'a call that ended for good without a result (%s) fails the turn',
    (child) => {
      const turn = child === 'step-1' ? TurnRun.started() : TurnRun.started().step(calls(3));
      turn.failed(child, 'auth');
      expect(turn.closed).toEqual([{ outcome: 'failed', reason: 'auth', steps: 1 }]);
      expect(turn.children.size).toBe(0);
    },
  );
});

describe('a call that needs approval', () => {
  it('waits for a person and holds no worker', () => {
    const turn = TurnRun.started().step(calls(2, 1));
    expect([turn.state, turn.spawned, turn.children.size]).toEqual(['waiting', [], 0]);
    expect(turn.timers.get('waited')).toMatchObject({ delayMs: DAY_MS, event: { type: 'turn.waited' } });
  });

  it.each([
    ['turn.approve', false],
    ['turn.deny', true],
  ])('%s runs the batch with denied %s', (type, denied) => {
    const turn = TurnRun.started().step(calls(2, 1)).send({ type });
    expect(turn.spawned.map(({ input }) => input)).toEqual([
      { step: 1, index: 0, denied, decided: null, again: false },
      { step: 1, index: 1, denied, decided: null, again: false },
    ]);
    expect(turn.timers.has('waited')).toBe(false);
    expect(turn.done('tool-1-0').done('tool-1-1').state).toBe('stepping');
  });

  it('ends degraded when nobody decides', () => {
    const turn = TurnRun.started().step(calls(1, 1)).send({ type: 'turn.waited' });
    expect(turn.closed).toEqual([{ outcome: 'degraded', reason: 'approval_expired', steps: 1 }]);
  });

  it('a decision that comes too late, or twice, changes nothing', () => {
    const turn = TurnRun.started().step(calls(1, 1)).send({ type: 'turn.approve' });
    const before = turn.snapshot;
    turn.send({ type: 'turn.deny' });
    expect([turn.snapshot, turn.effects]).toEqual([before, []]);
  });
});

describe('budgets', () => {
  it('RUN-14 a round that only built a packet costs nothing of the step budget', () => {
    const turn = TurnRun.started({ stepBudget: 1 }).step(PACKET_WANTED).summarised().step(EMPTY);
    expect(turn.closed[0]?.reason).toBe('step_budget');
    const roomy = TurnRun.started({ stepBudget: 2 }).step(PACKET_WANTED).summarised();
    expect(roomy.step(EMPTY).step(ANSWER).closed[0]?.outcome).toBe('completed');
  });

  it('RUN-14 a round that only made room by a reset costs nothing of the step budget', () => {
    const turn = TurnRun.started({ stepBudget: 1 }).step(RESET_WANTED).summarised().step(calls(1));
    expect(turn.state).toBe('tooling');
    expect(turn.done('tool-2-0').closed[0]?.reason).toBe('step_budget');
    const roomy = TurnRun.started({ stepBudget: 2 }).step(RESET_WANTED).summarised();
    expect(roomy.step(EMPTY).step(ANSWER).closed[0]?.outcome).toBe('completed');
  });

  it('a spent step budget ends the turn degraded at the next boundary, not before its calls ran', () => {
    const turn = TurnRun.started({ stepBudget: 2 }).step(calls(1)).done('tool-1-0').step(calls(1));
    expect(turn.state).toBe('tooling');
    turn.done('tool-2-0');
    expect(turn.closed).toEqual([{ outcome: 'degraded', reason: 'step_budget', steps: 2 }]);
  });

  it('an answer in the last step completes; a nudge spends a step like any other', () => {
    expect(TurnRun.started({ stepBudget: 1 }).step(ANSWER).state).toBe('completed');
    expect(TurnRun.started({ stepBudget: 1 }).step(EMPTY).closed[0]?.reason).toBe('step_budget');
  });

  it.each(Object.keys(IN_STATE).filter((state) => state !== 'accepted'))(
    'RUN-14 the deadline ends a turn degraded from %s, and stops its calls',
    (state) => {
      const turn = IN_STATE[state]?.() as TurnRun;
      expect(turn.state).toBe(state);
      const running = [...turn.children];
      turn.send({ type: 'turn.deadline' });
      expect(turn.closed).toMatchObject([{ outcome: 'degraded', reason: 'time_budget' }]);
      expect([...turn.stopped].sort()).toEqual(running.sort());
    },
  );
});

describe('cancellation', () => {
  it.each(Object.keys(IN_STATE))(
    'RUN-06 ends a turn cancelled from %s, and stops every call of it',
    (state) => {
      const turn = IN_STATE[state]?.() as TurnRun;
      expect(turn.state).toBe(state);
      const running = [...turn.children];
      turn.send({ type: 'turn.cancel' });
      expect([turn.state, turn.ended]).toEqual(['cancelled', true]);
      expect(turn.closed).toMatchObject([{ outcome: 'cancelled', reason: 'cancelled' }]);
      expect([...turn.stopped].sort()).toEqual(running.sort());
      expect(turn.spawned).toEqual([]);
    },
  );
});

/** A step as it is asked for. */
function stepping(step: number, marks: { packetless?: boolean; handoffless?: boolean } = {}) {
  const input = { step, packetless: false, handoffless: false, ...marks };
  return { child: `step-${step}`, src: 'step', input };
}
