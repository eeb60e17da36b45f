import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { chainRecords, GENESIS_DIGEST } from '../../src/ledger/chain.ts';
import type { RecordDraft } from '../../src/ledger/kinds.ts';
import { TURN_MACHINE, TURN_VERSION } from '../../src/machines/turn.ts';
import type { SimCall } from '../../src/sim/index.ts';
import { FAULT_KINDS, type Fault } from '../chaos/faults.ts';
import { judgeLedger, type Ledger } from '../chaos/ledger-oracle.ts';
import { judgeWitnesses, type Violation, type Witnesses } from '../chaos/oracle.ts';
import type { Asked } from '../chaos/producer.ts';
import type { StoredActor, StoredSession, StoredTurn } from '../chaos/read-ledger.ts';
import type { ChaosReport } from '../chaos/report.ts';
import { runChaos } from '../chaos/run.ts';
import { blows } from '../chaos/schedule.ts';
import { BELL_SAYS, ONCE_TOOL } from '../chaos/tools.ts';
import { redisAvailable } from '../support/redis.ts';
import { BACKENDS, type Backend } from '../support/stack-contract.ts';
import { opening, placed, SESSION, turnDrafts, turnIdOf } from '../unit/ledger/sample.ts';
import { ANSWER, calls, TurnRun } from '../unit/machines/turn-run.ts';

const SEED = Number(process.env.TURNWRIGHT_TEST_SEED ?? 20);
const SESSIONS = 9;
const WORKERS = 2;
const LEASE_MS = 3_000;
const PAUSES = { shortestMs: 300, longestMs: 1_000 };
/** Processes start from source, a dozen of them, and machines are busy. */
const RUN_LIMIT_MS = 600_000;

const kindsOf = (backend: Backend) => FAULT_KINDS.filter(({ backends }) => backends.includes(backend));
const runnable = BACKENDS.filter((backend) => backend !== 'redis' || redisAvailable());

describe.each(runnable)('a deployment broken in every way on %s', (backend) => {
  let report: ChaosReport;
  beforeAll(async () => {
    const progress = (line: string): void => void process.stderr.write(`${backend}: ${line}\n`);
    const run = await runChaos({
      backend,
      seed: SEED,
      sessions: SESSIONS,
      workers: WORKERS,
      leaseMs: LEASE_MS,
      lastsMs: 0,
      leastFaults: kindsOf(backend).length,
      pauses: PAUSES,
      progress,
    });
    if (run.folder !== null) progress(`the logs of every process stand in ${run.folder}`);
    report = run.report;
  }, RUN_LIMIT_MS);

  it('RUN-04 RUN-05 RUN-13 loses nothing, repeats nothing and leaves nothing stuck', () => {
    expect(report.violations).toEqual([]);
    expect(report.turns).toBeGreaterThanOrEqual(2 * SESSIONS);
    expect(report.outcomes.completed ?? 0).toBeGreaterThan(report.turns / 2);
  });

  it('RUN-04 RUN-05 RUN-13 was struck by a fault of every kind, and calls were hit', () => {
    const struck = report.faults.filter(({ count }) => count > 0).map(({ kind }) => kind);
    expect(struck.sort()).toEqual(
      kindsOf(backend)
        .map(({ name }) => name)
        .sort(),
    );
    expect(report.repeatedCalls).toBeGreaterThan(0);
    expect(report.resentTurns).toBeGreaterThan(0);
    expect(report.onceEffects).toBeGreaterThan(0);
  });
});

const AT_MS = 1_000_000;
const TURN = turnIdOf(1);
const question = { kind: 'bell', text: 'Round ba: call the ring_bell tool.', answers: ['said so'] } as const;
const END = { atMs: AT_MS + 100, outcome: 'completed', reason: 'answered', answer: 'said so', steps: 2 };
/** A step that calls one tool, and one that answers. */
const CHOICE = {
  text: question.text,
  steps: [
    { calls: 1, text: 'it', empty: false },
    { calls: 0, text: 'so', empty: false },
  ],
  outcome: 'completed',
} as const;
const EFFECT = { tool: ONCE_TOOL, call: `${TURN}~tool-1-0`, pid: 1 };

interface Run {
  readonly witnesses: Witnesses;
  readonly ledger: Ledger;
}

describe('the judges of such a run', () => {
  it('RUN-04 find nothing in a run that kept its promises', () => {
    expect(found(kept())).toEqual([]);
    expect(
      found(kept({ faults: [fault({ repeatsCalls: true })], calls: [call(1, 0), call(2, 20)] })),
    ).toEqual([]);
    expect(found(kept({ refusals: [refusal(503, 'database_unreachable', true)] }))).toEqual([]);
    expect(found(kept({ refusals: [refusal(409, 'turn_closed', false)] }))).toEqual([]);
    expect(found(kept({ bell: 'outcome_unknown', faults: [fault({ repeatsCalls: true })] }))).toEqual([]);
  });

  const asked = (change: Partial<Asked>) => ({ asked: change });
  const ended = (change: object) => asked({ end: { ...END, ...change } });
  it.each<[string, Violation['verdict'], string, Changes]>([
    ['a turn that never ended', 'stuck', 'did not end', asked({ end: null })],
    ['another answer than was planted', 'wrong', 'where "said so" was planted', ended({ answer: 'said no' })],
    [
      'a turn that failed',
      'wrong',
      'ended failed',
      ended({ outcome: 'failed', reason: 'transport_exhausted' }),
    ],
    [
      'a key that named two turns',
      'duplicate',
      'was given the turn',
      asked({ resentAs: [TURN, turnIdOf(2)] }),
    ],
    [
      'a cancelled turn that went on',
      'wrong',
      'was cancelled, and ended completed',
      asked({ cancelling: 'confirmed' }),
    ],
    [
      'a turn that nobody cancelled',
      'wrong',
      'cancelled by nobody',
      ended({ outcome: 'cancelled', answer: null }),
    ],
    ['a producer that gave up', 'lost', 'refused for good', { failures: ['refused for good'] }],
    [
      'a request that was answered with a defect',
      'wrong',
      'answered 500 internal',
      { refusals: [refusal(500, 'internal', false)] },
    ],
    [
      'a refusal that does not say when to come back',
      'wrong',
      'without Retry-After',
      { refusals: [refusal(503, 'x', false)] },
    ],
    ['a process that ended by itself', 'wrong', 'ended by itself with code 1', { crashed: true }],
    ['a once tool that ran twice', 'duplicate', 'ran 2 times', { effects: [EFFECT, EFFECT] }],
    [
      'a once tool that nobody asked for',
      'duplicate',
      'no producer asked',
      { effects: [EFFECT, { ...EFFECT, call: `${turnIdOf(2)}~tool-1-0` }] },
    ],
    ['a result of a tool that never ran', 'lost', 'ran, and it did not', { effects: [] }],
    ['an outcome unknown though nothing happened', 'wrong', 'undisturbed call', { bell: 'outcome_unknown' }],
    [
      'a call repeated without a fault',
      'duplicate',
      'repeats call 1, and no fault',
      { calls: [call(1, 0), call(2, 20)] },
    ],
    [
      'a call repeated after a fault that repeats none',
      'duplicate',
      'repeats call 1, and no fault',
      { calls: [call(1, 0), call(2, 20)], faults: [fault({ repeatsCalls: false })] },
    ],
    [
      'a call repeated more often than it was hit',
      'duplicate',
      'repeats call 2, and no fault',
      { calls: [call(1, 0), call(2, 12), call(3, 20)], faults: [fault({ repeatsCalls: true })] },
    ],
    ['a session that is gone', 'lost', 'is not there', { store: () => [] }],
    ['a turn that is gone', 'lost', 'is not there', stored((session) => ({ ...session, turns: [] }))],
    [
      'a turn that no producer was told of',
      'duplicate',
      'no producer was told of',
      stored((session) => ({
        ...session,
        turns: [...session.turns, { ...session.turns[0], turn: turnIdOf(2) } as StoredTurn],
      })),
    ],
    [
      'a record that was lost',
      'wrong',
      'but the ledger ends at',
      stored((session) => ({ ...session, records: session.records.slice(0, -1) })),
    ],
    [
      'a record that stands twice',
      'duplicate',
      'tool-result',
      { drafts: (drafts) => twice(drafts, 'tool-result') },
    ],
    [
      'a turn that closed twice',
      'wrong',
      'is closed by 2 records',
      { drafts: (drafts) => twice(drafts, 'turn-closed') },
    ],
    [
      'a record of another question',
      'wrong',
      'holds another question',
      asked({ question: { ...question, text: 'Round de: call the ring_bell tool.' } }),
    ],
    [
      'a stored outcome that is not what the producer saw',
      'wrong',
      'and ended failed',
      stored((session) => ({
        ...session,
        turns: session.turns.map((turn) => ({ ...turn, outcome: 'failed' })),
      })),
    ],
    [
      'an event that replays otherwise',
      'wrong',
      'replay',
      acted((actor) => ({ ...actor, events: actor.events.toSpliced(3, 1) })),
    ],
    [
      'a snapshot that no event led to',
      'wrong',
      'replays to another snapshot',
      acted((actor) => ({ ...actor, snapshot: `${actor.snapshot} ` })),
    ],
    ['a parked turn', 'stuck', 'is parked', acted((actor) => ({ ...actor, status: 'parked' }))],
    ['a turn listed as stuck', 'stuck', 'unclaimed', { stuck: [{ id: TURN, cause: 'unclaimed' }] }],
    ['work left behind', 'stuck', '1 are left', { leftovers: { 'outbox rows': 1 } }],
  ])('RUN-04 find %s', (_, verdict, says, changes) => {
    const matching = { verdict, says: expect.stringContaining(says) as string };
    expect(found(kept(changes))).toContainEqual(expect.objectContaining(matching));
  });

  it('deal every kind of fault once a deck, the same for a seed, and never two at once on one subject', () => {
    const kinds = kindsOf('redis');
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const deal = () => take(blows(seed, kinds, PAUSES), kinds.length);
        const dealt = deal();
        expect(deal()).toEqual(dealt);
        const names = dealt.flatMap((blow) => blow.kinds.map(({ name }) => name));
        expect(new Set(names.slice(0, kinds.length)).size).toBe(kinds.length);
        for (const blow of dealt)
          expect(new Set(blow.kinds.map(({ subject }) => subject)).size).toBe(blow.kinds.length);
      }),
    );
  });
});

interface Changes {
  readonly asked?: Partial<Asked>;
  readonly failures?: readonly string[];
  readonly refusals?: Witnesses['log']['refusals'];
  readonly calls?: readonly SimCall[];
  readonly faults?: readonly Fault[];
  readonly crashed?: boolean;
  readonly effects?: Witnesses['effects'];
  /** Status of the bell's result. */
  readonly bell?: 'ok' | 'outcome_unknown';
  readonly drafts?: (drafts: readonly RecordDraft[]) => readonly RecordDraft[];
  readonly store?: (session: StoredSession) => readonly StoredSession[];
  readonly stuck?: Ledger['stuck'];
  readonly leftovers?: Ledger['leftovers'];
}

/** One user's one turn, as every witness tells it when all is well, and then changed. */
function kept(changes: Changes = {}): Run {
  const turn: Asked = {
    user: 0,
    session: SESSION,
    turn: TURN,
    question,
    sentAtMs: AT_MS,
    acceptedAtMs: AT_MS,
    resentAs: [TURN],
    cancelling: 'no',
    end: END,
    ...changes.asked,
  };
  const {
    refusals = [],
    failures = [],
    calls: made = [call(1, 0)],
    faults = [],
    effects = [EFFECT],
  } = changes;
  const crash = { name: 'worker-1', atMs: AT_MS, code: 1, signal: null };
  const log = { asked: [turn], sessions: [SESSION], refusals, failures };
  const session = storedSession(changes);
  return {
    witnesses: { log, calls: made, faults, effects, crashes: changes.crashed === true ? [crash] : [] },
    ledger: {
      sessions: changes.store?.(session) ?? [session],
      stuck: changes.stuck ?? [],
      leftovers: changes.leftovers ?? { 'outbox rows': 0 },
    },
  };
}

function found({ witnesses, ledger }: Run) {
  return [...judgeWitnesses(witnesses), ...judgeLedger(ledger, witnesses)];
}

function storedSession({ bell = 'ok', drafts = (all) => all }: Changes): StoredSession {
  const made = [...opening(), ...turnDrafts(1, CHOICE)].map((draft): RecordDraft => {
    if (draft.kind !== 'tool-result') return draft;
    const content = bell === 'ok' ? BELL_SAYS : 'Nobody knows.';
    return { ...draft, body: { ...draft.body, name: ONCE_TOOL, status: bell, content } };
  });
  const records = chainRecords(
    { session: SESSION, nextSeq: 1, lastDigest: GENESIS_DIGEST },
    placed(drafts(made)),
  );
  const run = TurnRun.started().step(calls(1)).done('tool-1-0').step(ANSWER);
  const place = { turn: TURN, machine: TURN_MACHINE, version: TURN_VERSION, status: 'done' };
  return {
    session: SESSION,
    nextSeq: records.length + 1,
    lastDigest: records.at(-1)?.digest ?? '',
    records,
    turns: [{ turn: TURN, number: 1, status: 'closed', outcome: 'completed', steps: 2 }],
    actors: [{ ...place, actor: TURN, snapshot: run.snapshot, events: run.history }],
  };
}

function stored(change: (session: StoredSession) => StoredSession): Changes {
  return { store: (session) => [change(session)] };
}

function acted(change: (actor: StoredActor) => StoredActor): Changes {
  return stored((session) => ({ ...session, actors: session.actors.map(change) }));
}

function twice(drafts: readonly RecordDraft[], kind: RecordDraft['kind']): readonly RecordDraft[] {
  return drafts.flatMap((draft) => (draft.kind === kind ? [draft, draft] : [draft]));
}

function call(n: number, afterMs: number): SimCall {
  return {
    n,
    at: AT_MS + afterMs,
    wire: 'openai',
    model: 'quick',
    sessionKey: null,
    promptBytes: 1,
    sharedBytes: 0,
    promptTokens: 1,
    cachedTokens: 0,
    outputTokens: 1,
    requestDigest: 'one',
    state: 'ended',
    outcome: 'answered',
    status: 200,
  };
}

/** Between the first call and the second. */
function fault({ repeatsCalls }: { readonly repeatsCalls: boolean }): Fault {
  const during = { fromMs: AT_MS + 5, toMs: AT_MS + 10 };
  return { n: 1, kind: 'a fault', repeatsCalls, did: '', problem: null, ...during };
}

function refusal(status: number, code: string, retryAfter: boolean) {
  return { atMs: AT_MS, request: 'POST /v1/sessions/:id/turns', status, code, retryAfter };
}

function take<T>(from: Iterator<T>, count: number): readonly T[] {
  return Array.from({ length: count }, () => from.next().value as T);
}
