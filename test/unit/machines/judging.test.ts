import { describe, expect, it } from 'vitest';
import type { Check } from '../../../src/ledger/kinds.ts';
import { ANSWER, calls, EMPTY, found, TurnRun } from './turn-run.ts';

const CARD = calls(1, 0, [0]);
const withheld = (check: Check, rest = {}) =>
  calls(1, 0, [0], { withheld: [{ index: 0, check }], idle: true, ...rest });
const REPEATED = calls(1, 0, [0], { idle: true, shown: true });

/** What the turn wrote of its checks in its last event. */
const fired = (turn: TurnRun) =>
  turn.records.flatMap(({ kind, body }) => {
    if (kind !== 'check-fired') return [];
    const { check, verdict } = body as { readonly check: string; readonly verdict: string };
    return [`${check} ${verdict}`];
  });
const nudges = (turn: TurnRun) =>
  turn.records.flatMap(({ kind, body }) => (kind === 'nudge' ? [body as { readonly check: string }] : []));

describe('what follows from what the checks find in a text', () => {
  it.each(['grounding', 'malformed-fence', 'presentation', 'call-in-prose'] as const)(
    'CHK-06 %s sends the reply back once; the next such reply stands',
    (check) => {
      const turn = TurnRun.started().step(found(check));
      expect([turn.state, fired(turn), nudges(turn).map((nudge) => nudge.check)]).toEqual([
        'stepping',
        [`${check} redo`],
        [check],
      ]);
      expect(turn.step(found(check)).closed).toEqual([
        { outcome: 'completed', reason: 'answered', steps: 2 },
      ]);
    },
  );

  it('CHK-06 a fence that repeats a card sends nothing back: its card is shown once', () => {
    const turn = TurnRun.started().step(found('repeated-fence'));
    expect([turn.closed[0]?.reason, nudges(turn)]).toEqual(['answered', []]);
  });

  it('CHK-06 kinds are counted apart: each may send a reply of the turn back', () => {
    const turn = TurnRun.started().step(found('grounding')).step(found('presentation', 'grounding'));
    expect(fired(turn)).toEqual(['presentation redo']);
    expect(turn.step(found('grounding', 'malformed-fence', 'presentation')).state).toBe('stepping');
    expect(fired(turn)).toEqual(['malformed-fence redo']);
  });

  it('CHK-03 an answer without an observation goes back once, then the system answers in its place', () => {
    const turn = TurnRun.started().step(found('freshness'));
    expect(fired(turn)).toEqual(['freshness redo']);
    turn.step(found('freshness', 'grounding'));
    expect([fired(turn), turn.stated]).toEqual([['freshness refused'], [{ step: 2, check: 'freshness' }]]);
    expect(turn.closed).toEqual([{ outcome: 'degraded', reason: 'stale_data_refused', steps: 2 }]);
  });

  it('CHK-03 an answer that says honestly that nothing was found stands after the repair', () => {
    expect(TurnRun.started().step(found('freshness')).step(ANSWER).closed[0]?.reason).toBe('answered');
  });

  it('CHK-05 a repeated answer goes back twice; the third in a row ends the turn degraded', () => {
    const turn = TurnRun.started().step(found('drift')).step(found('drift'));
    expect([turn.state, fired(turn)]).toEqual(['stepping', ['drift redo']]);
    turn.step(found('drift'));
    expect([turn.stated, turn.closed]).toEqual([
      [{ step: 3, check: 'drift' }],
      [{ outcome: 'degraded', reason: 'model_drift', steps: 3 }],
    ]);
  });

  it.each([
    ['a call', (turn: TurnRun) => turn.step(calls(1)).tool(0)],
    ['another fault', (turn: TurnRun) => turn.step(found('grounding'))],
  ])('CHK-05 %s in between begins the row anew', (_, between) => {
    const turn = between(TurnRun.started().step(found('drift')).step(found('drift')));
    expect(turn.step(found('drift')).step(found('drift')).state).toBe('stepping');
    expect(turn.step(found('drift')).closed[0]?.reason).toBe('model_drift');
  });

  it('CHK-07 the stop gate blocks twice, then the answer stands', () => {
    const turn = TurnRun.started().step(found('stop-gate')).step(found('stop-gate'));
    expect([turn.state, fired(turn)]).toEqual(['stepping', ['stop-gate redo']]);
    expect(turn.step(found('stop-gate')).closed[0]).toMatchObject({
      outcome: 'completed',
      reason: 'answered',
    });
  });

  it('the order of the findings decides which of them is told', () => {
    expect(fired(TurnRun.started().step(found('drift', 'freshness', 'stop-gate')))).toEqual(['drift redo']);
    expect(fired(TurnRun.started().step(found('freshness', 'stop-gate')))).toEqual(['freshness redo']);
  });

  it('a nudge names what its check was about', () => {
    const finding = { check: 'stop-gate', reasons: ['receipt_missing'], tools: ['write'], turn: 3 };
    const turn = TurnRun.started().step({ kind: 'answer', degraded: false, findings: [finding] });
    expect(nudges(turn)).toEqual([{ step: 1, ...finding }]);
  });

  it('every reply that is sent back spends a step of the budget', () => {
    const turn = TurnRun.started({ stepBudget: 2 }).step(found('grounding')).step(found('presentation'));
    expect(turn.closed).toEqual([{ outcome: 'degraded', reason: 'step_budget', steps: 2 }]);
  });

  it('what was said meanwhile comes before what the checks found', () => {
    const turn = TurnRun.started().send({ type: 'turn.steer' }).step(found('freshness'));
    expect([turn.state, fired(turn), nudges(turn)]).toEqual(['stepping', [], []]);
  });
});

describe('what follows from what the checks find in calls', () => {
  it.each([
    ['CHK-03', 'freshness', 'stale_data_refused'],
    ['CHK-04', 'topic-mismatch', 'topic_mismatch_refused'],
    ['CHK-04', 'uncited-source', 'uncited_source_refused'],
  ] as const)('%s %s withholds a card once; the second one ends the turn (%s)', (_, check, reason) => {
    const turn = TurnRun.started().step(withheld(check));
    expect([turn.state, fired(turn)]).toEqual(['stepping', [`${check} withheld`]]);
    expect(turn.answered).toMatchObject([{ step: 1, calls: [0], withheld: [{ index: 0, check }] }]);
    turn.step(withheld(check));
    expect([fired(turn), turn.stated, turn.answered]).toEqual([
      [`${check} refused`],
      [{ step: 2, check }],
      [],
    ]);
    expect(turn.closed).toEqual([{ outcome: 'degraded', reason, steps: 2 }]);
  });

  it('CHK-03 the one repair is shared: a stale card, then a stale answer, ends the turn', () => {
    const card = TurnRun.started().step(withheld('freshness')).step(found('freshness'));
    expect(card.closed[0]?.reason).toBe('stale_data_refused');
    const text = TurnRun.started().step(found('freshness')).step(withheld('freshness'));
    expect(text.closed[0]?.reason).toBe('stale_data_refused');
  });

  it('CHK-04 one fault does not count for another', () => {
    const turn = TurnRun.started().step(withheld('freshness')).step(withheld('topic-mismatch'));
    expect(turn.state).toBe('stepping');
  });

  it('the other calls of a batch with a withheld card run', () => {
    const turn = TurnRun.started().step(calls(2, 0, [1], { withheld: [{ index: 1, check: 'freshness' }] }));
    expect(turn.spawned.map(({ child }) => child)).toEqual(['tool-1-0']);
    expect(turn.tool(0).answered).toMatchObject([{ calls: [1], withheld: [{ index: 1 }] }]);
  });

  it('CHK-02 three batches in a row that only repeat cards close the turn on the card', () => {
    const turn = TurnRun.started().step(CARD).step(REPEATED).step(REPEATED);
    expect(turn.state).toBe('stepping');
    turn.step(REPEATED);
    expect([turn.closed, turn.answered.length, fired(turn)]).toEqual([
      [{ outcome: 'completed', reason: 'card_repeated', steps: 4 }],
      1,
      ['repeated-card noted'],
    ]);
  });

  it('CHK-02 each batch of nothing but repeats is noted', () => {
    const turn = TurnRun.started().step(CARD).step(REPEATED);
    expect(fired(turn)).toEqual(['repeated-card noted']);
    expect(fired(turn.step(CARD))).toEqual([]);
  });

  it('CHK-02 a batch that does anything else begins the row anew', () => {
    const turn = TurnRun.started().step(CARD).step(REPEATED).step(REPEATED).step(calls(1)).tool(0);
    expect(turn.step(REPEATED).step(REPEATED).state).toBe('stepping');
  });

  it('CHK-02 without a card shown there is none to close on', () => {
    const idle = calls(1, 0, [0], { idle: true });
    expect(TurnRun.started().step(idle).step(idle).step(idle).state).toBe('stepping');
  });

  it('CHK-01 an empty reply after a card leaves the card as the answer', () => {
    const turn = TurnRun.started()
      .step(CARD)
      .step({ ...EMPTY, shown: true });
    expect(turn.closed).toEqual([{ outcome: 'completed', reason: 'card_answered', steps: 2 }]);
  });
});

describe('batches in which nothing works', () => {
  const failing = (turn: TurnRun) => turn.step(calls(1)).tool(0, 'error');

  it('CHK-08 the second in a row is told, and its calls bring their schemas; the third ends the turn', () => {
    const turn = failing(TurnRun.started());
    expect([turn.state, fired(turn)]).toEqual(['stepping', []]);
    turn.step(calls(1));
    expect(turn.spawned[0]?.input).toMatchObject({ again: true });
    turn.tool(0, 'error');
    expect(fired(turn)).toEqual(['tool-repair redo']);
    failing(turn);
    expect([fired(turn), turn.stated, turn.closed]).toEqual([
      ['tool-repair refused'],
      [{ step: 3, check: 'tool-repair' }],
      [{ outcome: 'degraded', reason: 'tool_repair_exhausted', steps: 3 }],
    ]);
  });

  it('CHK-08 a clean batch ends the row; a mixed one neither counts nor ends it', () => {
    const clean = failing(failing(TurnRun.started())).step(calls(1)).tool(0);
    expect(failing(failing(clean)).state).toBe('stepping');
    const mixed = failing(failing(TurnRun.started())).step(calls(2)).tool(0).tool(1, 'error');
    expect(mixed.state).toBe('stepping');
    expect(failing(mixed).closed[0]?.reason).toBe('tool_repair_exhausted');
  });

  it('CHK-08 a card whose arguments do not fit is such a failure, a withheld one is none', () => {
    const unfit = calls(1, 0, [0], { unfit: [0] });
    expect(TurnRun.started().step(unfit).step(unfit).step(unfit).closed[0]?.reason).toBe(
      'tool_repair_exhausted',
    );
    const turn = failing(failing(TurnRun.started())).step(withheld('freshness'));
    expect(turn.state).toBe('stepping');
    expect(failing(turn).closed[0]?.reason).toBe('tool_repair_exhausted');
  });
});

describe('calls that the client makes', () => {
  const client = (admitted: number, byClient: readonly number[], approvals = 0) =>
    calls(admitted, approvals, [], { byClient });

  it('SUR-02 they are no jobs: the turn waits for their results, and goes on with the last', () => {
    const turn = TurnRun.started().step(client(2, [0, 1]));
    expect([turn.state, turn.spawned]).toEqual(['waiting', []]);
    expect(turn.records).toContainEqual({
      kind: 'turn-waiting',
      body: { for: 'client', calls: ['tool-1-0', 'tool-1-1'] },
    });
    expect(turn.clientResult(1).state).toBe('waiting');
    expect(turn.clientResult(1).state).toBe('waiting');
    turn.clientResult(0);
    expect([turn.state, turn.spawned.map(({ child }) => child)]).toEqual(['stepping', ['step-2']]);
    expect(turn.timers.has('waited')).toBe(false);
  });

  it('SUR-02 a result may come while other calls run, and one of another step changes nothing', () => {
    const turn = TurnRun.started().step(client(2, [1]));
    expect(turn.spawned.map(({ child }) => child)).toEqual(['tool-1-0']);
    const before = turn.snapshot;
    turn.send({ type: 'turn.client-result', step: 7, index: 1 });
    expect(turn.snapshot).toBe(before);
    expect(turn.clientResult(1).state).toBe('tooling');
    expect(turn.tool(0).state).toBe('stepping');
  });

  it('SUR-02 a client that never answers leaves the turn degraded when its day is over', () => {
    const turn = TurnRun.started()
      .step(client(1, [0]))
      .send({ type: 'turn.waited' });
    expect(turn.closed[0]).toMatchObject({ outcome: 'degraded', reason: 'client_expired' });
  });

  it('RUN-07 the time a turn waits for others is not its own: its deadline begins anew when it goes on', () => {
    const turn = TurnRun.started({ deadlineMs: 5_000 }).step(client(2, [0, 1]));
    expect([...turn.timers.keys()]).toEqual(['waited']);
    expect([...turn.clientResult(0).timers.keys()]).toEqual(['waited']);
    expect([...turn.clientResult(1).timers]).toEqual([
      ['deadline', expect.objectContaining({ event: { type: 'turn.deadline' }, delayMs: 5_000 })],
    ]);
    for (const type of ['turn.approve', 'turn.deny']) {
      const asked = TurnRun.started().step(calls(1, 1));
      expect([...asked.timers.keys()]).toEqual(['waited']);
      expect([...asked.send({ type }).timers.keys()]).toEqual(['deadline']);
    }
  });

  it('SUR-02 CHK-08 a call that failed at the client counts like any other', () => {
    const failing = (turn: TurnRun) => turn.step(client(1, [0])).clientResult(0, true);
    expect(failing(failing(TurnRun.started())).state).toBe('stepping');
    expect(failing(failing(failing(TurnRun.started()))).closed[0]?.reason).toBe('tool_repair_exhausted');
    const mended = failing(failing(TurnRun.started()))
      .step(client(1, [0]))
      .clientResult(0);
    expect(failing(mended).state).toBe('stepping');
  });

  it('SUR-02 a denied call of the client is answered by a job, like any other', () => {
    const turn = TurnRun.started().step(client(1, [0], 1));
    expect(turn.state).toBe('waiting');
    turn.send({ type: 'turn.deny' });
    expect(turn.spawned.map(({ child }) => child)).toEqual(['tool-1-0']);
    expect(turn.tool(0, 'denied').state).toBe('stepping');
    const allowed = TurnRun.started()
      .step(client(1, [0], 1))
      .send({ type: 'turn.approve' });
    expect(allowed.stored.context.waitingFor).toBe('client');
  });
});
