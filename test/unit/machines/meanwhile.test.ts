import { describe, expect, it } from 'vitest';
import { ANSWER, calls, EMPTY, OVER_LENGTH, PACKET_WANTED, TurnRun } from './turn-run.ts';

const steered = (turn: TurnRun) => turn.records.filter(({ kind }) => kind === 'turn-steered');

describe('what is said while a turn runs', () => {
  it('RUN-10 joins the turn at its next step, and no running call is stopped', () => {
    const turn = TurnRun.started().step(calls(1)).send({ type: 'turn.steer' });
    expect([turn.state, turn.effects]).toEqual(['tooling', []]);
    turn.done('tool-1-0');
    expect(steered(turn)).toEqual([{ kind: 'turn-steered', body: { step: 2, upTo: 1 } }]);
    expect(turn.spawned.map(({ child }) => child)).toEqual(['step-2']);
  });

  it('RUN-10 an answer that could not know of it is followed by another step', () => {
    const turn = TurnRun.started().send({ type: 'turn.steer' }).send({ type: 'turn.steer' }).step(ANSWER);
    expect([turn.state, turn.closed]).toEqual(['stepping', []]);
    expect(steered(turn)).toEqual([{ kind: 'turn-steered', body: { step: 2, upTo: 2 } }]);
    expect(turn.step(ANSWER).closed).toEqual([{ outcome: 'completed', reason: 'answered', steps: 2 }]);
    expect(steered(turn)).toEqual([]);
  });

  it('RUN-10 each message is taken up once, by the first step that can carry it', () => {
    const turn = TurnRun.started().step(calls(1)).send({ type: 'turn.steer' }).done('tool-1-0');
    turn.step(calls(1)).done('tool-2-0');
    expect(steered(turn)).toEqual([]);
    turn.send({ type: 'turn.steer' }).step(OVER_LENGTH);
    expect(steered(turn)).toEqual([{ kind: 'turn-steered', body: { step: 4, upTo: 2 } }]);
  });

  it.each([
    ['waits for its head', () => new TurnRun(), (turn: TurnRun) => turn.send({ type: 'turn.start' })],
    [
      'waits for a person',
      () => TurnRun.started().step(calls(1, 1)),
      (turn: TurnRun) => turn.send({ type: 'turn.approve' }).done('tool-1-0'),
    ],
    [
      'is read by a classifier',
      () => TurnRun.started({ escalate: true, weak: true }),
      (turn: TurnRun) => turn.done('intent-1'),
    ],
    ['builds a packet', () => TurnRun.started().step(PACKET_WANTED), (turn: TurnRun) => turn.summarised()],
    ['redoes an empty reply', () => TurnRun.started(), (turn: TurnRun) => turn.step(EMPTY)],
  ])('RUN-10 a turn that %s takes it up with its next step', (_, at, goOn) => {
    const turn = at().send({ type: 'turn.steer' });
    expect(turn.records).toEqual([]);
    expect(steered(goOn(turn))).toHaveLength(1);
  });

  it('RUN-10 a spent budget ends the turn though something was left unread', () => {
    const turn = TurnRun.started({ stepBudget: 1 }).send({ type: 'turn.steer' }).step(ANSWER);
    expect(turn.closed).toEqual([{ outcome: 'degraded', reason: 'step_budget', steps: 1 }]);
  });

  it('RUN-10 an interruption is a cancellation with its own reason', () => {
    const turn = TurnRun.started().step(calls(2)).send({ type: 'turn.cancel', reason: 'interrupted' });
    expect(turn.closed).toEqual([{ outcome: 'cancelled', reason: 'interrupted', steps: 1 }]);
    expect(turn.stopped).toEqual(['tool-1-0', 'tool-1-1']);
  });
});

describe('a call whose outcome is unknown and whose tool asks', () => {
  const undecided = () => TurnRun.started().step(calls(3)).done('tool-1-0').undecided('tool-1-1', 1);

  it('RUN-08 the turn waits for a decision once the rest of the batch is done, and names the call', () => {
    const turn = undecided();
    expect(turn.state).toBe('tooling');
    turn.done('tool-1-2');
    expect([turn.state, turn.children.size, turn.spawned]).toEqual(['waiting', 0, []]);
    expect(turn.records).toEqual([{ kind: 'turn-waiting', body: { for: 'outcome', calls: ['tool-1-1'] } }]);
    expect([...turn.timers.keys()]).toContain('waited');
  });

  it.each([
    ['turn.rerun', 'rerun'],
    ['turn.report', 'report'],
  ])('RUN-08 %s settles that call alone, as a call of its own', (type, decision) => {
    const turn = undecided().done('tool-1-2').send({ type });
    expect(turn.spawned).toEqual([
      {
        child: 'tool-1-1-1',
        src: 'tool',
        input: { step: 1, index: 1, denied: false, decided: decision, again: false },
      },
    ]);
    expect(turn.records).toEqual([{ kind: 'turn-decided', body: { for: 'outcome', decision } }]);
    expect(turn.done('tool-1-1-1', { index: 1, status: 'ok' }).state).toBe('stepping');
  });

  it('RUN-08 a rerun whose outcome is unknown again asks again, under another name', () => {
    const turn = undecided().done('tool-1-2').send({ type: 'turn.rerun' }).undecided('tool-1-1-1', 1);
    expect(turn.state).toBe('waiting');
    expect(turn.send({ type: 'turn.rerun' }).spawned.map(({ child }) => child)).toEqual(['tool-1-1-2']);
  });

  it.each(['turn.approve', 'turn.deny'])('RUN-08 %s decides nothing about it', (type) => {
    const turn = undecided().done('tool-1-2');
    const before = turn.snapshot;
    expect([turn.send({ type }).snapshot, turn.effects]).toEqual([before, []]);
  });

  it('RUN-08 without a decision the turn ends degraded', () => {
    const turn = undecided().done('tool-1-2').send({ type: 'turn.waited' });
    expect(turn.closed).toEqual([{ outcome: 'degraded', reason: 'decision_expired', steps: 1 }]);
  });
});
