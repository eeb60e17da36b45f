/** Writes a session through a store, hop by hop, the way the runtime does. */
import { randomUUID } from 'node:crypto';
import type {
  Claim,
  Commit,
  IndexedTo,
  ParentTurn,
  SessionHead,
  SessionRef,
  Store,
} from '../../src/db/contract.ts';
import { blake3Hex, GENESIS_DIGEST } from '../../src/ledger/chain.ts';
import type { RecordDraft } from '../../src/ledger/kinds.ts';
import type { TurnLink } from '../../src/ledger/turn-card.ts';
import { CommitBuilder } from '../../src/runtime/commit-builder.ts';
import { forkCommit } from '../../src/runtime/fork.ts';

/** Of every claim here. */
export const TOKEN = 1;
export const WORKER = '01890000-0000-7000-8000-00000000f001';

/** Of a process that has indexed nothing. */
export const NOTHING: IndexedTo = { turn: 0, recordSeq: 0 };
/** The words of every card here: their base64 is longer than a line of it. */
export const TERMS = Buffer.from(Array.from({ length: 100 }, (_, byte) => byte)).toString('base64');

export const CARD_BYTES = 40;

export interface Turn {
  readonly turn: string;
  readonly number: number;
}

/** Of items, both ends included. */
export interface Items {
  readonly from: number;
  readonly to: number;
}

export function config() {
  return {
    leg: 'sim',
    policy: { name: 'plan' as const, options: {} },
    tools: null,
    system: '',
    metadata: {},
  };
}

export class SessionUnderTest {
  readonly store: Store;
  readonly ref: SessionRef;
  readonly head = randomUUID();

  private constructor(store: Store, tenant: string) {
    this.store = store;
    this.ref = { tenant, session: randomUUID() };
  }

  /** With `parent`, a turn of another session of the tenant made it. */
  static async open(store: Store, tenant: string, parent?: ParentTurn): Promise<SessionUnderTest> {
    const made = new SessionUnderTest(store, tenant);
    const builder = new CommitBuilder(made.#fresh());
    const body = { ...config(), ...(parent === undefined ? {} : { delegated: { ...parent, depth: 1 } }) };
    builder.create = {
      leg: 'sim',
      config: JSON.stringify(body),
      head: made.head,
      ...(parent === undefined ? {} : { parent }),
    };
    builder.append(made.head, { kind: 'session-created', turnId: null, body });
    builder.append(made.head, {
      kind: 'head-created',
      turnId: null,
      body: { head: made.head, from: null, atSeq: 0 },
    });
    const result = await store.apply(builder.build());
    if (result !== 'applied') throw new Error(`the session was not created: ${result}`);
    return made;
  }

  #fresh(): SessionHead {
    return {
      ...this.ref,
      status: 'open',
      leg: 'sim',
      liveHead: this.head,
      nextSeq: 1,
      lastDigest: GENESIS_DIGEST,
      nextTurn: 1,
      nextEvidence: 1,
      nextPresentation: 1,
      nextItem: 1,
      profileAt: 0,
      prefix: null,
      epoch: 0,
      watched: false,
    };
  }

  async headNow(): Promise<SessionHead> {
    const state = await this.store.loadSession(this.ref, null);
    if (state === null) throw new Error('the session is not there');
    return state.session;
  }

  /** A session that goes on from this one as it stands. */
  async fork(): Promise<SessionUnderTest> {
    const source = await this.store.forkSource(this.ref, null);
    if (source === null) throw new Error('the session is not there');
    const made = new SessionUnderTest(this.store, this.ref.tenant);
    const { session } = made.ref;
    const result = await this.store.apply(forkCommit(source, { session, head: made.head }, config()));
    if (result !== 'applied') throw new Error(`the fork was not created: ${result}`);
    return made;
  }

  clear(): Promise<Commit> {
    return this.commit((builder) => {
      const seq = builder.append(this.head, { kind: 'cleared', turnId: null, body: {} });
      const { nextTurn: firstTurn } = builder.session;
      builder.lists.cleared.push({ head: this.head, seq, firstTurn });
      builder.epoch += 1;
    });
  }

  /** The turn runs: its prompt is an item. Returns its number. */
  async begin(turn: string): Promise<number> {
    let item = 0;
    await this.commit((builder) => {
      item = builder.nextItem;
      const body = { utc: '2026-01-02T03:04:05.000Z', timezone: 'UTC' };
      builder.append(this.head, { kind: 'turn-context', turnId: turn, body });
      builder.lists.turnChanges.push({ turn, status: 'running' });
      builder.lists.heads.push({ head: this.head, openTurn: turn });
    });
    return item;
  }

  /** A reply without calls, as the next item. */
  async say(turn: string, text: string, step = 1): Promise<number> {
    let item = 0;
    await this.commit((builder) => {
      item = builder.nextItem;
      const body = { step, content: [{ type: 'text' as const, text }], finish: 'stop' as const };
      builder.append(this.head, { kind: 'assistant-message', turnId: turn, body });
    });
    return item;
  }

  /** A whole turn: a prompt, one reply, its close. */
  async answered(text: string): Promise<Turn & { readonly items: Items }> {
    const made = await this.accept({ text });
    const from = await this.begin(made.turn);
    const to = await this.say(made.turn, `re ${text}`);
    await this.close(made.turn, { items: { from, to } });
    return { ...made, items: { from, to } };
  }

  evict(from: number, to: number, note: string | null = null): Promise<Commit> {
    return this.commit((builder) => {
      const body = { from, to, note, author: 'harness' as const };
      const seq = builder.append(this.head, { kind: 'evicted', turnId: null, body });
      builder.lists.evictions.push({ ...body, head: this.head, seq });
    });
  }

  /** A result of a tool, as the next evidence. */
  async result(turn: string, content: string): Promise<number> {
    let ordinal = 0;
    await this.commit((builder) => {
      ordinal = builder.takeEvidence();
      const place = { step: 1, index: 0, callId: 'c', name: 'grep', status: 'ok' as const };
      const body = { ...place, evidence: `e${ordinal}`, content, windowed: false };
      const seq = builder.append(this.head, { kind: 'tool-result', turnId: turn, body });
      builder.lists.evidence.push({ ordinal, seq, turn, tool: 'grep' });
    });
    return ordinal;
  }

  /** A commit on the newest head, built but not applied. */
  async build(fill: (builder: CommitBuilder) => void): Promise<Commit> {
    const builder = new CommitBuilder(await this.headNow());
    fill(builder);
    return builder.build();
  }

  async commit(fill: (builder: CommitBuilder) => void): Promise<Commit> {
    const commit = await this.build(fill);
    const result = await this.store.apply(commit);
    if (result !== 'applied') throw new Error(`the commit was not applied: ${result}`);
    return commit;
  }

  append(...drafts: readonly RecordDraft[]): Promise<Commit> {
    return this.commit((builder) => {
      for (const draft of drafts) builder.append(this.head, draft);
    });
  }

  /** A turn with its actor; with `child`, its first call too. */
  async accept(
    options: { key?: string; text?: string; priority?: number; child?: string } = {},
  ): Promise<Turn> {
    const turn = randomUUID();
    const inputDigest = blake3Hex(options.text ?? 'hello');
    let number = 0;
    await this.commit((builder) => {
      number = builder.takeTurnNumber();
      builder.append(this.head, {
        kind: 'turn-accepted',
        turnId: turn,
        body: {
          number,
          input: [{ type: 'text', text: options.text ?? 'hello' }],
          mode: 'enqueue',
          priority: options.priority ?? 0,
          asked: { digest: inputDigest, ...(options.key === undefined ? {} : { key: options.key }) },
        },
      });
      if (options.key !== undefined) builder.lists.keys.push({ key: options.key, turn, inputDigest });
      builder.lists.turns.push({
        turn,
        head: this.head,
        number,
        priority: options.priority ?? 0,
      });
      builder.lists.actors.push(actorRow(turn, 0, 1));
      builder.lists.events.push(eventRow(turn, 'init', 1));
      if (options.child !== undefined) callRows(builder, turn, options.child, options.priority ?? 0);
    });
    return { turn, number };
  }

  callOf(turn: string, child = 'step-1', dispatch = 1) {
    return { ...this.ref, actor: turn, child, dispatch };
  }

  async claim(turn: string, child = 'step-1', dispatch = 1, worker = WORKER): Promise<Claim> {
    const claim = await this.store.claim(this.callOf(turn, child, dispatch), worker, TOKEN, NOTHING);
    if (claim === null) throw new Error(`${child} of ${turn} was not claimed`);
    return claim;
  }

  /** With `items`, the head is free again. */
  async close(
    turn: string,
    { fullBytes = 100, links = [] as readonly TurnLink[], items = null as Items | null } = {},
  ): Promise<Commit> {
    return this.commit((builder) => {
      const closedSeq = builder.append(this.head, {
        kind: 'turn-closed',
        turnId: turn,
        body: { outcome: 'completed', reason: 'answered', steps: 1, ...entries(items) },
      });
      if (items !== null) builder.lists.heads.push({ head: this.head, openTurn: null });
      builder.lists.turnChanges.push({
        turn,
        status: 'closed',
        outcome: 'completed',
        reason: 'answered',
        steps: 1,
        closedSeq,
        fullBytes,
        cardBytes: CARD_BYTES,
        ...(items === null ? {} : { firstItem: items.from, lastItem: items.to }),
        terms: TERMS,
      });
      builder.lists.edges.push(...links.map((link, ordinal) => ({ ...link, turn, ordinal })));
    });
  }
}

function entries(items: Items | null) {
  if (items === null) return {};
  const count = items.to - items.from + 1;
  return {
    items: Array.from({ length: count }, (_, at) => ({ item: items.from + at, label: '', bytes: 9 })),
  };
}

export function actorRow(
  actor: string,
  base: number,
  revision: number,
  status: 'active' | 'done' = 'active',
) {
  const snapshot = `{"revision":${revision}}`;
  return { actor, turn: actor, machine: 'turn', version: 1, base, revision, snapshot, status };
}

export function eventRow(actor: string, id: string, revision: number | null) {
  return { actor, id, event: `{"type":"${id}"}`, revision, digest: revision === null ? null : blake3Hex(id) };
}

export function callRows(builder: CommitBuilder, actor: string, child: string, priority = 0): void {
  const pool = child.startsWith('tool') ? 'tool' : 'step';
  builder.lists.calls.push({ actor, child, src: pool, pool, input: '{"step":1}', priority });
  builder.lists.outbox.push({ actor, child, dispatch: 1, pool, priority, delayMs: 0, admitted: false });
}

export function settling(actor: string, child: string, fence: number, status: 'done' | 'failed' | 'queued') {
  const again = status === 'queued' ? 1 : 0;
  return { actor, child, fence, token: TOKEN, status, attemptBy: again, dispatchBy: again } as const;
}
