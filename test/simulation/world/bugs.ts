/**
 * Bugs to plant: each makes the storage a process sees wrong in one way that the runtime's own code could be wrong
 * in. They exist to show that the oracle finds them, and live nowhere else.
 */
import type { Commit, Store } from '../../../src/db/contract.ts';
import { chainRecords } from '../../../src/ledger/chain.ts';
import type { MintedDraft } from '../../../src/ledger/kinds.ts';
import type { Dice } from './dice.ts';

export type Bug = (store: Store, dice: Dice) => Store;

/** Seldom, as such bugs are. */
const SHARE = 0.1;

export const BUGS: Readonly<Record<string, Bug>> = {
  'a hand-over missing from its commit': (store, dice) =>
    applying(store, (commit) =>
      dice.chance(SHARE) ? { ...commit, outbox: commit.outbox.slice(1) } : commit,
    ),

  'a commit appended twice': (store, dice) =>
    altered(store, {
      apply: async (commit) => {
        const result = await store.apply(commit);
        if (result === 'applied' && dice.chance(SHARE)) await store.apply(appendedAgain(commit));
        return result;
      },
    }),

  'a late result accepted without its fence': (store) =>
    altered(store, {
      apply: async (commit) => {
        const result = await store.apply(commit);
        const { settle, ...unfenced } = commit;
        return result === 'superseded' && settle !== undefined ? store.apply(unfenced) : result;
      },
    }),

  'a timer not set': (store, dice) =>
    applying(store, (commit) => (dice.chance(SHARE) ? { ...commit, timers: [] } : commit)),

  'an acknowledged commit lost': (store, dice) =>
    altered(store, {
      apply: (commit) => (dice.chance(SHARE) ? Promise.resolve('applied') : store.apply(commit)),
    }),

  'a key forgotten': (store, dice) =>
    applying(store, (commit) => (dice.chance(SHARE) ? { ...commit, keys: [] } : commit)),

  'a start mark forgotten': (store) => altered(store, { markStarted: () => Promise.resolve(true) }),

  'a cancelled call left running': (store) => applying(store, (commit) => ({ ...commit, cancels: [] })),
};

function applying(store: Store, change: (commit: Commit) => Commit): Store {
  return altered(store, { apply: (commit) => store.apply(change(commit)) });
}

/** A store with some methods in place of its own. */
function altered(store: Store, changes: Partial<Store>): Store {
  return new Proxy(store, {
    get: (held, name) => {
      const member: unknown = Reflect.get(changes, name) ?? Reflect.get(held, name);
      return typeof member === 'function' ? member.bind(held) : member;
    },
  });
}

/** The same records once more, numbered and chained as if they were new. */
function appendedAgain(commit: Commit): Commit {
  const {
    tenant,
    session,
    nextSeq,
    lastDigest,
    nextTurn,
    nextEvidence,
    nextPresentation,
    nextItem,
    prefix,
    epoch,
    profileAt,
  } = commit;
  const drafts = commit.records.map(({ headId, kind, turnId, body }) => ({
    headId,
    draft: { kind, turnId, body: JSON.parse(body) as unknown } as MintedDraft,
  }));
  const records = chainRecords({ session, nextSeq, lastDigest }, drafts);
  const nothing = {
    actors: [],
    events: [],
    calls: [],
    outbox: [],
    cancels: [],
    timers: [],
    clearedTimers: [],
  };
  const nobody = { turns: [], keys: [], turnChanges: [], heads: [], packets: [], evidence: [] };
  const unlinked = {
    edges: [],
    retractedEdges: [],
    presentations: [],
    prefixes: [],
    resets: [],
    usage: [],
    vectors: [],
    evictions: [],
    segments: [],
    cleared: [],
  };
  return {
    ...nothing,
    ...nobody,
    ...unlinked,
    tenant,
    session,
    nextTurn,
    nextEvidence,
    nextPresentation,
    nextItem,
    prefix,
    epoch,
    profileAt,
    records,
    baseSeq: nextSeq,
    nextSeq: nextSeq + records.length,
    lastDigest: records.at(-1)?.digest ?? lastDigest,
  };
}
