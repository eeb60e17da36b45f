/** Each law of the simulation finds what it forbids: the evidence of a sound world, changed in one point, breaks it. */
import { beforeAll, describe, expect, it } from 'vitest';
import { type Evidence, evidenceOf, type Turn } from './laws/evidence.ts';
import { LAWS } from './laws/judge.ts';
import { World } from './world/world.ts';

/** Enough worlds to hold everything that is changed below. */
const SEEDS = 25;
const LIMIT_MS = 120_000;

/** The evidence with one thing wrong; null where this world has nothing of the kind. */
type Change = (evidence: Evidence) => Evidence | null;
type Part<T> = { readonly [member in keyof T]?: T[member] };

const dumped = (evidence: Evidence, part: Part<Evidence['dump']>): Evidence => ({
  ...evidence,
  dump: { ...evidence.dump, ...part },
});
const told = (evidence: Evidence, part: Part<Evidence['witness']>): Evidence => ({
  ...evidence,
  witness: { ...evidence.witness, ...part },
});

/** Changes the first turn that fits. */
function turned(
  evidence: Evidence,
  fits: (turn: Turn) => boolean,
  change: (turn: Turn) => Turn,
): Evidence | null {
  const turn = [...evidence.turns.values()].find(fits);
  return turn === undefined
    ? null
    : { ...evidence, turns: new Map(evidence.turns).set(turn.id, change(turn)) };
}

/** Puts another item in the place of the first that fits, or more of them. */
function replaced<T>(
  items: readonly T[],
  fits: (item: T) => boolean,
  by: (item: T) => readonly T[],
): T[] | null {
  const at = items.findIndex(fits);
  const found = items[at];
  return found === undefined ? null : [...items.slice(0, at), ...by(found), ...items.slice(at + 1)];
}

const isCompleted = ({ view }: Turn): boolean => view.closed?.outcome === 'completed';
const twice = <T>(item: T): readonly T[] => [item, item];

function recordsTwice(kind: string): Change {
  return (evidence) =>
    turned(
      evidence,
      ({ records }) => records.some((record) => record.kind === kind),
      (turn) => ({ ...turn, records: replaced(turn.records, (record) => record.kind === kind, twice) ?? [] }),
    );
}

function saidTwice(kind: string): Change {
  return (evidence) => {
    const applied = replaced(
      evidence.witness.applied,
      ({ commit }) => commit.records.some((record) => record.kind === kind),
      (one) => [{ ...one, heard: true }, one],
    );
    return applied === null ? null : told(evidence, { applied });
  };
}

type Records = Evidence['dump']['sessions'][number]['records'];

/** Changes the records of the first session for which there is something to change. */
function recorded(evidence: Evidence, change: (records: Records) => Records | null): Evidence | null {
  const sessions = replaced(
    evidence.dump.sessions,
    ({ records }) => change(records) !== null,
    (session) => [{ ...session, records: change(session.records) ?? session.records }],
  );
  return sessions === null ? null : dumped(evidence, { sessions });
}

const CHANGES: Readonly<Record<keyof typeof LAWS, Change>> = {
  'RUN-05 every world comes to rest': (evidence) => ({ ...evidence, settled: false }),

  'RUN-07 no timer is left of what has ended': (evidence) => {
    const [ended] = evidence.dump.actors;
    if (ended === undefined) return null;
    return dumped(evidence, { timers: [{ ...ended, timer: 'deadline', event: '', revision: 2, dueMs: 0 }] });
  },

  'no head names a turn that has ended': (evidence) => {
    const openTurn = evidence.dump.turns[0]?.turn ?? null;
    return dumped(evidence, { heads: evidence.dump.heads.map((head) => ({ ...head, openTurn })) });
  },

  'where nothing goes wrong, no process catches an error': (evidence) =>
    told({ ...evidence, quiet: true }, { errors: [{ process: 'P1', error: new Error('caught') }] }),

  'RUN-04 every acknowledged turn is there, and closed once': (evidence) =>
    dumped(evidence, { turns: evidence.dump.turns.map((turn) => ({ ...turn, status: 'running' })) }),

  'RUN-03 one key names one turn': (evidence) => {
    const acknowledged = replaced(
      evidence.witness.acknowledged,
      () => true,
      (one) => [one, { ...one, turn: 'T' }],
    );
    return acknowledged === null ? null : told(evidence, { acknowledged });
  },

  'RUN-10 what was refused is not there': (evidence) => {
    const script = [...evidence.turns.values()][0]?.script;
    if (script === undefined) return null;
    return told(evidence, { refused: Array.from({ length: script.copies }, () => script) });
  },

  'RUN-14 every turn ends in one of its ways': (evidence) =>
    turned(evidence, isCompleted, (turn) => {
      const closed = { outcome: 'failed', reason: 'internal', steps: 1 } as const;
      return { ...turn, view: { ...turn.view, closed } };
    }),

  'a completed turn has the answer its producer knows': (evidence) =>
    turned(evidence, isCompleted, (turn) => ({ ...turn, view: { ...turn.view, steps: [] } })),

  'RUN-10 a completed turn has taken up everything that was said to it': (evidence) =>
    turned(evidence, isCompleted, (turn) => {
      const steering = [...turn.view.steering, [{ type: 'text', text: 'and this' } as const]];
      return { ...turn, view: { ...turn.view, steering } };
    }),

  'RUN-06 what was confirmed as cancelled is cancelled': (evidence) => {
    const completed = [...evidence.turns.values()].find(isCompleted);
    return completed === undefined ? null : told(evidence, { cancelled: new Set([completed.id]) });
  },

  'LED-01 the invariants 1 to 8 hold of every ledger': (evidence) => {
    const sessions = evidence.dump.sessions.map((session) => ({
      ...session,
      records: session.records.filter((_, index) => index !== 1),
    }));
    return dumped(evidence, { sessions });
  },

  'LED-02 every chain ends where its session says': (evidence) => {
    const sessions = evidence.dump.sessions.map((session) => ({ ...session, nextSeq: session.nextSeq + 1 }));
    return dumped(evidence, { sessions });
  },

  'the invariants 9 and 10 hold of every turn': (evidence) =>
    turned(
      evidence,
      ({ view }) => view.steps.length > 0,
      (turn) => ({ ...turn, view: { ...turn.view, steps: turn.view.steps.flatMap(twice) } }),
    ),

  'the invariant 11 holds of every request a model received': (evidence) => {
    const isResult = ({ content }: { readonly content: readonly { readonly type: string }[] }) =>
      content.some(({ type }) => type === 'tool_result');
    const calls = replaced(
      evidence.witness.calls,
      ({ request }) => request.messages.some(isResult),
      (call) => {
        const messages = call.request.messages.filter((message) => !isResult(message));
        return [{ ...call, request: { ...call.request, messages } }];
      },
    );
    return calls === null ? null : told(evidence, { calls });
  },

  'the invariant 12 holds of the requests whose replies were accepted': (evidence) => {
    let count = 0;
    const calls = evidence.witness.calls.map((call) => {
      count += 1;
      return { ...call, request: { ...call.request, system: `${call.request.system} ${count}` } };
    });
    return told(evidence, { calls });
  },

  'RUN-03 every record of a turn is appended once': recordsTwice('assistant-message'),
  'RUN-14 a model call has a receipt': (evidence) => told({ ...evidence, quiet: true }, { applied: [] }),
  'RUN-14 a receipt is written again only if nobody was told that it is written': saidTwice('work-receipt'),
  'RUN-03 so is a result that came too late': saidTwice('late-result'),

  'RUN-03 every message of a producer is written once': (evidence) => {
    const [turn] = evidence.turns.values();
    return turn === undefined ? null : { ...evidence, turns: new Map(evidence.turns).set('another', turn) };
  },

  'RUN-03 every event of an actor is applied once, at the next revision': (evidence) => {
    const applied = replaced(evidence.witness.applied, ({ commit }) => commit.events.length > 0, twice);
    return applied === null ? null : told(evidence, { applied });
  },

  'RUN-09 LED-03 the invariants 13 to 20 hold of every session at any moment': (evidence) => ({
    ...evidence,
    inspected: ['at 5 ms, 18: nothing moves it'],
  }),

  'RUN-06 nothing is given out or accepted of an actor that has ended': (evidence) => {
    const [grant] = evidence.witness.granted;
    const atMs = Number.POSITIVE_INFINITY;
    return grant === undefined ? null : told(evidence, { granted: [{ ...grant, atMs }] });
  },

  'RUN-03 the result of a side call is accepted once': (evidence) => {
    const settles = evidence.witness.applied.filter(({ commit: { settle } }) => settle?.status === 'done');
    return settles.length === 0 ? null : told(evidence, { applied: settles.flatMap(twice) });
  },

  'RUN-03 a result is accepted under the newest fence alone': (evidence) => {
    const granted = replaced(
      evidence.witness.granted,
      () => true,
      (grant) => [grant, { ...grant, fence: grant.fence + 1 }],
    );
    return granted === null ? null : told(evidence, { granted });
  },

  'RUN-06 no result is accepted of a call that was cancelled': (evidence) => {
    const applied = replaced(
      evidence.witness.applied,
      ({ commit: { settle } }) => settle?.status === 'done',
      (one) => [
        {
          ...one,
          commit: { ...one.commit, cancels: one.commit.settle === undefined ? [] : [one.commit.settle] },
        },
        one,
      ],
    );
    return applied === null ? null : told(evidence, { applied });
  },

  'RUN-07 no timer fires before its time': (evidence) => {
    const fired = evidence.witness.applied.some(({ commit }) =>
      commit.events.some(({ id }) => id.startsWith('timer.')),
    );
    const applied = evidence.witness.applied.map((one) => ({
      ...one,
      databaseMs: one.databaseMs + 1_000_000_000,
    }));
    return fired ? told(evidence, { applied }) : null;
  },

  'RUN-10 turns of a head start in the order they were accepted': (evidence) =>
    turned(
      evidence,
      ({ view }) => view.number > 1 && view.context !== null,
      (turn) => ({ ...turn, view: { ...turn.view, number: 0 } }),
    ),

  'EVT-02 no number of an item is given twice in a session': (evidence) =>
    recorded(evidence, (records) => replaced(records, ({ kind }) => kind === 'turn-context', twice)),

  'EVT-02 the close of a turn tells its items, in the order in which they were recorded':
    recordsTwice('turn-context'),

  'EVT-03 spans that left are nested or apart, and name recorded items': (evidence) =>
    recorded(evidence, (records) =>
      replaced(
        records,
        ({ kind }) => kind === 'evicted',
        (one) => [{ ...one, body: one.body.replace(/"to":\d+/u, '"to":999') }],
      ),
    ),

  'EVT-01 what leaves by force was not of the turn that runs, or stands behind its prompt': (evidence) =>
    turned(
      evidence,
      ({ view }) => view.evictions.length > 0 && view.item !== null,
      (turn) => {
        const evictions = turn.view.evictions.map((one) => ({ ...one, to: turn.view.item ?? 0, from: 1 }));
        return { ...turn, view: { ...turn.view, evictions } };
      },
    ),

  'RUN-04 a call is given to another worker only for a reason': (evidence) => {
    const granted = evidence.witness.granted.flatMap(twice);
    const applied = evidence.witness.applied.filter(({ commit: { settle } }) => settle?.status !== 'queued');
    return granted.length === 0
      ? null
      : told({ ...evidence, quiet: true }, { granted, applied, troubles: [] });
  },

  'RUN-04 a model is called once for each time its call was given to a worker': (evidence) => {
    const calls = evidence.witness.calls.flatMap((call) => Array.from({ length: 20 }, () => call));
    return calls.length === 0 ? null : told(evidence, { calls });
  },

  'RUN-08 a tool with the effect once runs once, and again only by a decision': (evidence) => {
    const effects = replaced(evidence.witness.effects, ({ tool }) => tool === 'spend', twice);
    return effects === null ? null : told(evidence, { effects });
  },

  'a call that needs consent runs only with it': (evidence) => {
    const never = [...evidence.turns.values()].find(
      ({ records }) => !records.some(({ kind }) => kind === 'turn-decided'),
    );
    if (never === undefined) return null;
    return told(evidence, { effects: [{ process: 'P1', tool: 'grant', key: `${never.id}~tool-1-0` }] });
  },

  'RUN-08 an outcome is unknown only where a worker was in trouble': (evidence) =>
    turned(
      { ...evidence, quiet: true },
      ({ records }) => records.some(({ kind }) => kind === 'tool-result'),
      (turn) => ({
        ...turn,
        records: turn.records.map((record) => ({
          ...record,
          body: record.body?.replace(/"status":"\w+"/u, '"status":"outcome_unknown"') ?? null,
        })),
      }),
    ),
};

describe('a law of the simulation', () => {
  const worlds: Evidence[] = [];

  beforeAll(async () => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const world = new World({ seed });
      worlds.push(evidenceOf(world, await world.run()));
    }
  }, LIMIT_MS);

  it('has a change here that breaks it', () => {
    expect(Object.keys(CHANGES).sort()).toEqual(Object.keys(LAWS).sort());
  });

  for (const [name, law] of Object.entries(LAWS)) {
    it(`that ${name} finds what it forbids`, () => {
      const sound = worlds.filter((world) => law(world).length === 0);
      const changed = sound.flatMap((world) => CHANGES[name]?.(world) ?? []);
      expect(changed.length).toBeGreaterThan(0);
      expect(changed.some((world) => law(world).length > 0)).toBe(true);
    });
  }
});
