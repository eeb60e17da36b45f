/** Gathers what one hop changes. Pure: the chain is computed when the hop is built. */
import type { Commit, SessionHead } from '../db/contract.ts';
import { chainRecords, type PlacedDraft } from '../ledger/chain.ts';
import type { MintedDraft, RecordDraft } from '../ledger/kinds.ts';
import { usageOf } from '../ledger/usage.ts';

type Lists = {
  -readonly [K in keyof Commit as Commit[K] extends readonly unknown[]
    ? K
    : never]: Commit[K] extends readonly (infer T)[] ? T[] : never;
};

export class CommitBuilder {
  readonly session: SessionHead;
  readonly lists: Omit<Lists, 'records' | 'usage'> = {
    actors: [],
    events: [],
    calls: [],
    outbox: [],
    cancels: [],
    timers: [],
    clearedTimers: [],
    turns: [],
    keys: [],
    turnChanges: [],
    heads: [],
    packets: [],
    evidence: [],
    edges: [],
    retractedEdges: [],
    presentations: [],
    prefixes: [],
    vectors: [],
    resets: [],
    evictions: [],
    segments: [],
    cleared: [],
  };
  settle: Commit['settle'];
  create: Commit['create'];
  newHead: Commit['newHead'];
  liveHead: Commit['liveHead'];
  status: Commit['status'];
  /** Digest of the prefix from now on. */
  prefix: string | null;
  epoch: number;
  /** The newest of the session's `capacity-probe` records from now on. */
  #profileAt: number;
  readonly #drafts: PlacedDraft[] = [];
  #nextTurn: number;
  #nextEvidence: number;
  #nextPresentation: number;
  #nextItem: number;

  constructor(session: SessionHead) {
    this.session = session;
    this.#nextTurn = session.nextTurn;
    this.#nextEvidence = session.nextEvidence;
    this.#nextPresentation = session.nextPresentation;
    this.#nextItem = session.nextItem;
    this.prefix = session.prefix;
    this.epoch = session.epoch;
    this.#profileAt = session.profileAt;
  }

  /** Returns the sequence number the record will have. */
  append(headId: string, draft: RecordDraft): number {
    if (draft.kind === 'capacity-probe') this.#profileAt = Math.max(this.#profileAt, draft.body.probedAt);
    this.#drafts.push({ headId, draft: this.#minted(draft) });
    return this.session.nextSeq + this.#drafts.length - 1;
  }

  takeTurnNumber(): number {
    return this.#nextTurn++;
  }

  takeEvidence(): number {
    return this.#nextEvidence++;
  }

  /** The number that `takePresentation` gives out next. */
  get nextPresentation(): number {
    return this.#nextPresentation;
  }

  takePresentation(): number {
    return this.#nextPresentation++;
  }

  /** Drafts of one turn so far, in order, with the sequence numbers they will have. */
  draftsOf(turnId: string): readonly { readonly seq: number; readonly draft: MintedDraft }[] {
    return this.#drafts.flatMap(({ draft }, index) =>
      draft.turnId === turnId ? [{ seq: this.session.nextSeq + index, draft }] : [],
    );
  }

  /** The number that the next item gets. */
  get nextItem(): number {
    return this.#nextItem;
  }

  #minted(draft: RecordDraft): MintedDraft {
    if (draft.kind === 'turn-context') return { ...draft, body: { ...draft.body, item: this.#nextItem++ } };
    if (draft.kind === 'assistant-message')
      return { ...draft, body: { ...draft.body, item: this.#nextItem++ } };
    return draft;
  }

  build(): Commit {
    const { tenant, session, nextSeq, lastDigest } = this.session;
    const records = chainRecords({ session, nextSeq, lastDigest }, this.#drafts);
    return {
      tenant,
      session,
      ...(this.create === undefined ? {} : { create: this.create }),
      ...(this.newHead === undefined ? {} : { newHead: this.newHead }),
      ...(this.liveHead === undefined ? {} : { liveHead: this.liveHead }),
      ...(this.status === undefined ? {} : { status: this.status }),
      ...(this.settle === undefined ? {} : { settle: this.settle }),
      baseSeq: nextSeq,
      nextSeq: nextSeq + records.length,
      lastDigest: records.at(-1)?.digest ?? lastDigest,
      nextTurn: this.#nextTurn,
      nextEvidence: this.#nextEvidence,
      nextPresentation: this.#nextPresentation,
      nextItem: this.#nextItem,
      prefix: this.prefix,
      epoch: this.epoch,
      profileAt: this.#profileAt,
      records,
      usage: usageOf(this.#drafts.map(({ draft }) => draft)),
      ...this.lists,
    };
  }
}
