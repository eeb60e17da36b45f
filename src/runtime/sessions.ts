/** Opens a session: its first two records, its head, in one commit. */
import type { ParentTurn, SessionHead, SessionRef, Store } from '../db/contract.ts';
import { GENESIS_DIGEST } from '../ledger/chain.ts';
import { canonicalJson } from '../ledger/json.ts';
import { type BodyOf, parseBody } from '../ledger/kinds.ts';
import { CommitBuilder } from './commit-builder.ts';
import type { Engine } from './engine.ts';
import { commitToSession } from './session-commit.ts';

export type SessionConfig = BodyOf<'session-created'>;

/** What a session gives out next. */
type Numbers = Pick<SessionHead, 'nextTurn' | 'nextItem' | 'nextEvidence' | 'nextPresentation'>;
const FIRST_NUMBERS: Numbers = { nextTurn: 1, nextItem: 1, nextEvidence: 1, nextPresentation: 1 };

export async function createSession(
  engine: Engine,
  ref: SessionRef,
  head: string,
  config: SessionConfig,
): Promise<void> {
  const result = await engine.commit(openingOf(ref, head, config).build());
  if (result !== 'applied') throw new Error(`session ${ref.session} could not be opened: ${result}`);
}

/** The commit that opens a session, so far. */
export function openingOf(
  ref: SessionRef,
  head: string,
  config: SessionConfig,
  from: Numbers = FIRST_NUMBERS,
): CommitBuilder {
  const builder = new CommitBuilder({
    ...ref,
    status: 'open',
    leg: config.leg,
    liveHead: head,
    nextSeq: 1,
    lastDigest: GENESIS_DIGEST,
    ...from,
    prefix: null,
    epoch: 0,
    profileAt: 0,
    watched: false,
  });
  const parent = parentOf(config);
  builder.create = {
    leg: config.leg,
    config: canonicalJson(config),
    head,
    ...(from === FIRST_NUMBERS ? {} : { firstTurn: from.nextTurn }),
    ...(parent === null ? {} : { parent }),
  };
  builder.append(head, { kind: 'session-created', turnId: null, body: config });
  builder.append(head, { kind: 'head-created', turnId: null, body: { head, from: null, atSeq: 0 } });
  return builder;
}

/** The turn that made the session, if one did. */
export function parentOf({ delegated }: SessionConfig): ParentTurn | null {
  if (delegated === undefined) return null;
  const { session, turn } = delegated;
  return { session, turn };
}

/** The session takes no new turns from then on; what was accepted before still runs. False when there is no such session. */
export async function archiveSession(engine: Engine, ref: SessionRef): Promise<boolean> {
  const archived = await commitToSession(engine, ref, async (builder, { session }) => {
    if (session.status === 'archived') return { value: true, unchanged: true };
    builder.status = 'archived';
    builder.append(session.liveHead, { kind: 'session-archived', turnId: null, body: {} });
    return { value: true };
  });
  return archived !== null;
}

/** A session's settings never change, so each process reads them once. Bounded; the oldest goes first. */
export class SessionConfigs {
  readonly #store: Pick<Store, 'sessionConfig'>;
  readonly #limit: number;
  readonly #asked = new Map<string, Promise<SessionConfig>>();
  readonly #known = new Map<string, SessionConfig>();

  constructor(store: Pick<Store, 'sessionConfig'>, limit = 2_000) {
    this.#store = store;
    this.#limit = limit;
  }

  /** null while they were not read here. */
  known({ tenant, session }: SessionRef): SessionConfig | null {
    return this.#known.get(`${tenant}/${session}`) ?? null;
  }

  async get(ref: SessionRef): Promise<SessionConfig> {
    const key = `${ref.tenant}/${ref.session}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const asked = this.#asked.get(key) ?? this.#read(ref);
    this.#asked.set(key, asked);
    try {
      const config = await asked;
      this.#known.set(key, config);
      if (this.#known.size > this.#limit) this.#known.delete(this.#known.keys().next().value ?? '');
      return config;
    } finally {
      this.#asked.delete(key);
    }
  }

  async #read(ref: SessionRef): Promise<SessionConfig> {
    const text = await this.#store.sessionConfig(ref);
    if (text === null) throw new Error(`session ${ref.session} has no settings`);
    return parseBody('session-created', JSON.parse(text));
  }
}
