import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { whyFacts } from '../../../src/api/why-facts.ts';
import { why } from '../../../src/api/why-schema.ts';
import { inWords, whySentences } from '../../../src/api/why-sentences.ts';
import type { ExplainedTurn } from '../../../src/db/queries/explain-turn.ts';
import {
  ago,
  alive,
  explained,
  GONE_MS,
  NOW_MS,
  openCall,
  snapshot,
  TURN,
  WORKER,
} from './explained-turn.ts';

const SECOND = 1_000;

/** What is said of a turn, in one text; the answer it stands in is held to its schema. */
function said(row: ExplainedTurn): string {
  const facts = whyFacts(row, GONE_MS);
  const sentences = [...whySentences(TURN, facts, null)];
  expect(why.parse({ turn: TURN, sentences, stuck: null, facts })).toEqual({
    turn: TURN,
    sentences,
    stuck: null,
    facts,
  });
  for (const sentence of sentences) expect(sentence).toMatch(/^[A-Za-z\d].*[.!?…]$/su);
  return sentences.join(' ');
}

const calling = (over: Parameters<typeof openCall>[0]) => said(explained({ calls: [openCall(over)] }));

describe('RUN-11 why a turn waits for a call', () => {
  it('RUN-11 says on which worker a call runs, for how long, and when that worker was heard', () => {
    const text = calling({
      status: 'running',
      claimedMs: ago(12),
      worker: alive,
      handOver: null,
      attempt: 2,
      fence: 3,
    });
    expect(text).toContain('step-1 has run for 12 s in the pool step, attempt 2 of 6');
    expect(text).toContain('the worker on mill (process 4242), which was heard 1 s ago and is alive');
    expect(text).toContain('It is not stuck.');
  });

  it('RUN-11 says that a silent worker counts as gone, from the age on at which it does', () => {
    const heard = (beatMs: number) =>
      calling({ status: 'running', claimedMs: ago(90), handOver: null, worker: { ...alive, beatMs } });
    expect(heard(NOW_MS - GONE_MS + 1)).toContain('is alive');
    expect(heard(NOW_MS - GONE_MS)).toContain('counts as gone');
    const retired = { id: WORKER, host: null, pid: null, beatMs: null };
    const text = calling({ status: 'running', claimedMs: ago(90), handOver: null, worker: retired });
    expect(text).toContain('by a worker that is gone');
  });

  it('RUN-11 tells a call handed to the queue from one held back, one due later and one lost', () => {
    expect(calling({})).toContain(
      'step-1 was handed to the queue 5 s ago and waits for the pool step (16 live slots), attempt 1 of 6.',
    );
    const heldBack = calling({ slots: 1, handOver: { dueMs: ago(70), admittedMs: null, before: 12 } });
    expect(heldBack).toContain(
      'step-1 has been held back in Postgres for 70 s: the pool step (1 live slot) has 12 rows of this tenant before it',
    );
    const later = calling({
      handOver: { dueMs: NOW_MS + 40 * SECOND, admittedMs: null, before: 0 },
      attempt: 3,
    });
    expect(later).toContain('step-1 is due again in 40 s, attempt 3 of 6.');
    expect(calling({ handOver: null })).toContain('no row hands it over');
  });

  it('RUN-11 names a rate limit as what is waited for, and no other delay', () => {
    const due = { dueMs: NOW_MS + 12 * SECOND, admittedMs: null, before: 0 };
    const limited = calling({ lastError: 'rate_limited: 30 requests a minute', handOver: due });
    expect(limited).toContain("step-1 waits for its provider's rate limit and is due in 12 s");
    expect(calling({ lastError: 'overloaded: try later', handOver: due })).not.toContain('rate limit');
    // Due and in the queue again: it waits for a slot, whatever held it before.
    expect(calling({ lastError: 'rate_limited: 30 requests a minute' })).toContain('waits for the pool step');
  });

  it('LIN-04 RUN-11 names what a call of a tool waits for, and counts it as no error', () => {
    const lastError = 'waiting: the answer of session 7';
    const waits = calling({
      lastError,
      handOver: { dueMs: NOW_MS + 2 * SECOND, admittedMs: null, before: 0 },
    });
    expect(waits).toContain('step-1 waits for the answer of session 7 and looks again in 2 s.');
    // It looks, or is about to: there is nothing to tell of before it has.
    const looks = calling({ lastError, status: 'running', claimedMs: ago(1), worker: alive, handOver: null });
    for (const text of [waits, looks]) expect(text).not.toContain('error');
  });

  it('RUN-11 tells of the first calls of a large batch and counts the others', () => {
    const calls = Array.from({ length: 32 }, (_, index) =>
      openCall({
        child: `tool-1-${index}`,
        src: 'tool',
        pool: 'tool',
        ...(index >= 30 ? { status: 'running', claimedMs: ago(1), worker: alive, handOver: null } : {}),
      }),
    );
    const row = explained({ calls, actor: { snapshot: snapshot('tooling') } });
    const text = said(row);
    expect(text).toContain('28 more calls: 2 running, 26 waiting.');
    expect(text.match(/tool-1-\d+/gu)).toHaveLength(4);
    expect(whyFacts(row, GONE_MS).calls).toHaveLength(32);
  });
});

describe('RUN-11 why a turn waits for something else', () => {
  it('RUN-11 says the state in the words of its machine, and since when', () => {
    expect(said(explained())).toMatch(/^T3 has been stepping for 20 s: one model call: /u);
    const odd = explained({ actor: { snapshot: snapshot('dreaming') } });
    expect(said(odd)).toContain('T3 has been dreaming for 20 s.');
  });

  it('RUN-11 says behind which turn a turn waits its place, and how many start before it', () => {
    const behind = {
      turn: WORKER,
      number: 1,
      status: 'running',
      actor: { snapshot: snapshot('tooling'), status: 'active' },
    } as const;
    const accepted = {
      status: 'accepted',
      startedMs: null,
      actor: { snapshot: snapshot('accepted') },
    } as const;
    expect(said(explained({ ...accepted, behind, waitingBefore: 1 }))).toContain(
      `It waits its place behind T1 (${WORKER}), which is tooling; 1 accepted turn starts before it.`,
    );
    const parked = { ...behind, actor: { snapshot: 'no snapshot', status: 'parked' } } as const;
    expect(said(explained({ ...accepted, behind: parked }))).toContain('which is parked.');
    const waiting = { ...behind, actor: { snapshot: snapshot('waiting'), status: 'active' } } as const;
    expect(said(explained({ ...accepted, behind: waiting }))).toContain('which is waiting.');
    expect(said(explained(accepted))).toContain('No turn runs on its head.');
  });

  it.each([
    ['approval', 'A person must approve or deny its calls'],
    ['outcome', 'A person must decide whether calls whose outcome is unknown run again'],
  ])('RUN-11 says what a person is asked when it waits for %s', (waitingFor, question) => {
    const text = said(
      explained({
        actor: { snapshot: snapshot('waiting', { waitingFor }) },
        timers: [{ timer: 'waited', dueMs: NOW_MS + 23 * 3_600 * SECOND }],
      }),
    );
    expect(text).toContain(`${question}: POST /v1/turns/${TURN}/signals.`);
    expect(text).toContain('The end of the wait is in 23 h.');
  });

  it('RUN-11 says when its deadline is, and that a past one is the next sweep’s', () => {
    const deadline = (dueMs: number) => said(explained({ timers: [{ timer: 'deadline', dueMs }] }));
    expect(deadline(NOW_MS + 540 * SECOND)).toContain('Its deadline is in 9 min.');
    expect(deadline(ago(3))).toContain('Its deadline was 3 s ago; the next sweep acts on it.');
    const other = explained({ timers: [{ timer: 'nap', dueMs: NOW_MS + SECOND }] });
    expect(said(other)).toContain('Its timer nap is in 1 s.');
  });

  it('RUN-11 names the events that wait to be applied, and shows nothing of what they hold', () => {
    const event = JSON.stringify({ type: 'turn.approve', note: 'a-private-word' });
    const row = explained({
      events: [
        { id: 'decide.4', event, receivedMs: ago(30) },
        { id: 'odd', event: 'no JSON', receivedMs: ago(2) },
      ],
    });
    expect(said(row)).toContain('2 events wait to be applied (turn.approve, unknown), the oldest for 30 s.');
    expect(JSON.stringify(whyFacts(row, GONE_MS))).not.toContain('a-private-word');
  });

  it('RUN-11 tells of the budget as the machine counts it', () => {
    const context = { step: 9, packets: 2, overLength: 1, stepBudget: 7 };
    const row = explained({ actor: { snapshot: snapshot('stepping', context) } });
    expect(said(row)).toContain('It has used 6 of 7 steps.');
    expect(whyFacts(row, GONE_MS).steps).toEqual({ begun: 9, counted: 6, budget: 7 });
  });

  it.each(['no JSON', 'null', '[]', '{}', '{"value":{"a":"b"}}', '{"value":"stepping","context":7}'])(
    'RUN-11 explains a parked turn whose snapshot is %s',
    (broken) => {
      const row = explained({
        actor: { snapshot: broken, status: 'parked', parkedReason: 'The stored snapshot was refused' },
      });
      expect(said(row)).toMatch(
        /^T3 has been parked in the state .* for 20 s: The stored snapshot was refused\./u,
      );
    },
  );
});

describe('RUN-11 what went wrong last', () => {
  const receipt = (problem: string) =>
    JSON.stringify({
      child: 'step-1',
      step: 1,
      purpose: 'step',
      leg: 'main',
      provider: 'openai',
      model: 'm',
      attempt: 2,
      settlement: 'overloaded',
      problem,
      usage: null,
      at: '2026-03-01T11:59:00.000Z',
      microUsd: null,
      rate: null,
      requestDigest: 'd',
      prefixDigest: null,
      requestBytes: 10,
      firstTokenMs: null,
      totalMs: 5,
    });

  it('RUN-11 tells the error of an open call, else that of the newest receipt', () => {
    const failedReceipt = receipt('The model is overloaded.');
    const open = explained({
      calls: [openCall({ lastError: 'network: no route', attempt: 4 })],
      failedReceipt,
    });
    expect(said(open)).toContain('The last error was at step-1, attempt 4: network: no route.');
    expect(said(explained({ calls: [openCall()], failedReceipt }))).toContain(
      'The last error was at step-1, attempt 2: overloaded: The model is overloaded.',
    );
    expect(said(explained({ calls: [openCall()] }))).not.toContain('last error');
  });

  it('RUN-11 shows no credential, whatever an error holds', () => {
    const secrets = ['Bearer abc.def-123', 'sk-live-abcdef123456', 'postgres://tw:hunter22@db:5432/x'];
    for (const secret of secrets) {
      for (const row of [
        explained({ calls: [openCall({ lastError: `internal: refused ${secret} there` })] }),
        explained({ failedReceipt: receipt(`refused ${secret} there`) }),
      ]) {
        const shown = said(row) + JSON.stringify(whyFacts(row, GONE_MS));
        for (const word of ['abc.def', 'abcdef123456', 'hunter22']) expect(shown).not.toContain(word);
        expect(shown).toContain('refused');
      }
    }
  });
});

describe('RUN-11 how a turn ended', () => {
  const closed = { status: 'closed', closedMs: ago(10), acceptedMs: ago(60), steps: 2 } as const;

  it('RUN-11 says how, after how long and why', () => {
    const row = explained({ ...closed, outcome: 'completed', reason: 'answered' });
    expect(said(row)).toBe('T3 ended completed 50 s after it was accepted, with 2 steps: it answered.');
  });

  it('RUN-11 says of one that did not complete what went wrong and how to send it again', () => {
    const row = explained({ ...closed, steps: 1, outcome: 'degraded', reason: 'step_budget' });
    expect(said(row)).toBe(
      `T3 ended degraded 50 s after it was accepted, with 1 step: its budget of steps was spent. POST /v1/turns/${TURN}/retry enqueues its directive as a new turn.`,
    );
    expect(said(explained({ ...closed, outcome: 'failed', reason: 'toString' }))).toContain(
      'steps: toString.',
    );
  });

  it.each([
    ['degraded', 'turn_cost_budget', "the turn's budget of cost"],
    ['degraded', 'turn_tokens_budget', "the turn's budget of tokens"],
    ['degraded', 'session_cost_budget', "the session's budget of cost"],
    ['degraded', 'session_tokens_budget', "the session's budget of tokens"],
    ['degraded', 'tenant_cost_budget', "the tenant's budget of cost for the day"],
    ['failed', 'response_not_cached', 'only kept replies were wanted, and there was none'],
  ] as const)('CST-01 CST-02 says of one that ended %s for %s what held it', (outcome, reason, words) => {
    expect(said(explained({ ...closed, outcome, reason }))).toContain(words);
  });
});

describe('RUN-11 a stuck turn', () => {
  it('RUN-11 is told with the reason, for how long, and what to do, and no turn is called both', () => {
    const facts = whyFacts(explained(), GONE_MS);
    const words = { reason: 'Nothing moves it.', action: 'Move it.', stuck_seconds: 7_300 };
    const sentences = whySentences(TURN, facts, words);
    expect(sentences.at(-1)).toBe('It has been stuck for 2 h: Nothing moves it. What to do: Move it.');
    expect(sentences.join(' ')).not.toContain('not stuck');
  });
});

describe('a duration in words', () => {
  it('is short, and never longer than the next larger unit would say', () => {
    expect([0, 0.04, 9.96, 119, 120, 7_199, 7_200, 172_799, 172_800].map(inWords)).toEqual([
      '0 s',
      '0 s',
      '10 s',
      '119 s',
      '2 min',
      '120 min',
      '2 h',
      '48 h',
      '2 d',
    ]);
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), (seconds) => {
        expect(inWords(seconds)).toMatch(/^\d+(?:\.\d)? (?:s|min|h|d)$/u);
      }),
    );
  });
});
