/**
 * Turns as this process last left them: the next call of a turn that moves here needs to read none of it again.
 * Only a memory. A claim asks whether it still holds, and every commit stands on the numbers it was built from, so
 * what is out of date costs a second reading and nothing else. Bounded by bytes; the least recently used goes first.
 */
import type { Claim, Commit, KnownClaim, KnownTurn, Loaded, RawRecord } from '../db/contract.ts';

const DEFAULT_LIMIT_BYTES = 32 * 1024 * 1024;
/** What an entry takes beside the text of its records. */
const ENTRY_BYTES = 2_048;

export interface Remembered {
  readonly loaded: Loaded;
  /** All records of the turn. */
  readonly records: readonly RawRecord[];
}

export class KnownTurns {
  readonly #limitBytes: number;
  readonly #entries = new Map<string, { readonly known: Remembered; readonly bytes: number }>();
  #bytes = 0;

  constructor(limitBytes = DEFAULT_LIMIT_BYTES) {
    this.#limitBytes = limitBytes;
  }

  get(actor: string): Remembered | null {
    const entry = this.#entries.get(actor);
    if (entry === undefined) return null;
    this.#entries.delete(actor);
    this.#entries.set(actor, entry);
    return entry.known;
  }

  forget(actor: string): void {
    const entry = this.#entries.get(actor);
    if (entry === undefined) return;
    this.#entries.delete(actor);
    this.#bytes -= entry.bytes;
  }

  /** After `commit`, built from `before`, was applied. One that accepts a turn may change which is next: that is forgotten. */
  moved(before: Remembered, commit: Commit): void {
    if (commit.turns.length > 0) this.forget(before.loaded.actor.actor);
    else this.began(before, commit);
  }

  /** After the commit that accepted and started a turn: `before` is the turn with nothing behind it. */
  began(before: Remembered, commit: Commit): void {
    const { actor } = before.loaded.actor;
    this.forget(actor);
    const after = afterCommit(before, commit);
    if (after === null) return;
    const bytes = after.records.reduce((sum, { body }) => sum + body.length, ENTRY_BYTES);
    this.#entries.set(actor, { known: after, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#limitBytes) return;
      this.forget(oldest);
    }
  }
}

/** What a claim may leave out; null when the memory is no help to it. */
export function knownTurn(known: Remembered | null): KnownTurn | null {
  const place = known?.loaded.turn ?? null;
  if (known === null || place === null) return null;
  const planned = known.records.some(({ kind }) => kind === 'context-plan');
  return {
    nextSeq: known.loaded.session.nextSeq,
    head: place.head,
    toPlan: !planned,
  };
}

export function completeClaim(answer: KnownClaim, { loaded, records }: Remembered): Claim {
  if (answer.changed !== undefined) return answer.changed;
  const { call, watched, toPlan } = answer;
  const session = { ...loaded.session, watched };
  return { call, loaded: { ...loaded, session }, records, whole: true, toPlan };
}

/** null when the turn has ended. */
function afterCommit({ loaded, records }: Remembered, commit: Commit): Remembered | null {
  const { actor, session, turn } = loaded;
  const change = commit.actors.find((row) => row.actor === actor.actor);
  const status = change?.status ?? actor.status;
  if (status !== 'active') return null;
  const { revision, snapshot } = change ?? actor;
  const gone = new Set(commit.cancels.filter((row) => row.actor === actor.actor).map((row) => row.child));
  if (commit.settle?.status === 'done' || commit.settle?.status === 'failed') gone.add(commit.settle.child);
  const begun = commit.calls.filter((row) => row.actor === actor.actor).map((row) => row.child);
  const added = commit.records.flatMap((record): RawRecord[] =>
    record.turnId === null || record.turnId !== actor.turn ? [] : [record],
  );
  const {
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
  return {
    loaded: {
      ...loaded,
      session: {
        ...session,
        nextSeq,
        lastDigest,
        nextTurn,
        nextEvidence,
        nextPresentation,
        nextItem,
        prefix,
        epoch,
        profileAt,
      },
      actor: {
        ...actor,
        revision,
        snapshot,
        status,
        openChildren: [...actor.openChildren.filter((child) => !gone.has(child)), ...begun].sort(),
      },
      turn: turn === null ? null : { ...turn, status: placeOf(commit, actor.turn) ?? turn.status },
    },
    records: [...records, ...added],
  };
}

function placeOf(commit: Commit, turn: string | null): 'running' | 'closed' | undefined {
  return commit.turnChanges.find((change) => change.turn === turn)?.status;
}
