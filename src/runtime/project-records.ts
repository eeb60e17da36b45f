/** Makes every projection that follows from records alone, record by record. */
import { packetMessages } from '../context/assemble/packet-piece.ts';
import { weighMessages } from '../context/assemble/weigh.ts';
import { termsOfCard } from '../context/relevance/terms.ts';
import type {
  EvidenceRow,
  HeadRow,
  KeyRow,
  Projections,
  RecordList,
  SessionRow,
  TurnRowState,
} from '../db/contract.ts';
import { GENESIS_DIGEST } from '../ledger/chain.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { type BodyOf, isKnownKind, type RecordKind } from '../ledger/kinds.ts';
import { linkProblem } from '../ledger/link.ts';
import { UsageTotals } from '../ledger/usage.ts';
import type { StoredRecord } from '../ledger/verify.ts';
import { segmentRows } from './segment-rows.ts';
import { parentOf } from './sessions.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export type FromRecords = Pick<Projections, 'session' | RecordList> & {
  /** Actors that a record says were parked: their events do not tell all of their revisions. */
  readonly parked: ReadonlySet<string>;
  /** How often each call was tried again, as `<turn>~<child>`. */
  readonly retries: ReadonlyMap<string, number>;
};

type Readers = {
  readonly [K in RecordKind]?: (body: BodyOf<K>, record: StoredRecord, turn: string) => void;
};

const FROM_NOTHING: NonNullable<BodyOf<'head-created'>['goesOn']> = { segments: [], turn: 1 };

const NOT_CLOSED = {
  closedSeq: null,
  fullBytes: null,
  cardBytes: null,
  firstItem: null,
  lastItem: null,
  terms: null,
} as const;

export class RecordProjector {
  readonly #session: Mutable<SessionRow> = {
    status: 'open',
    leg: '',
    config: '',
    parent: null,
    liveHead: '',
    nextSeq: 1,
    lastDigest: GENESIS_DIGEST,
    nextTurn: 1,
    nextEvidence: 1,
    nextPresentation: 1,
    nextItem: 1,
    prefix: null,
    epoch: 0,
    profileAt: 0,
  };
  readonly #heads = new Map<string, Mutable<HeadRow>>();
  readonly #turns = new Map<string, Mutable<TurnRowState>>();
  readonly #keys: KeyRow[] = [];
  readonly #evidence = new Map<string, Mutable<EvidenceRow>>();
  readonly #packets = new Map<string, Projections['packets'][number]>();
  readonly #edges = new Map<string, Mutable<Projections['edges'][number]>[]>();
  readonly #presentations: Projections['presentations'][number][] = [];
  readonly #prefixes: Projections['prefixes'][number][] = [];
  readonly #vectors: Projections['vectors'][number][] = [];
  readonly #segments = new Map<string, Projections['segments'][number]>();
  readonly #evictions: Projections['evictions'][number][] = [];
  readonly #usage = new UsageTotals();
  readonly #parked = new Set<string>();
  readonly #retries = new Map<string, number>();
  readonly #of: string;
  /** What each kind of record says; a record that belongs to a turn comes with it. */
  readonly #readers: Readers = {
    'session-created': (created, { body }) => {
      this.#session.leg = created.leg;
      this.#session.config = body ?? '';
      this.#session.parent = parentOf(created);
    },
    'session-archived': () => {
      this.#session.status = 'archived';
    },
    'head-created': (body) => this.#makeHead(body),
    'head-moved': ({ head }) => {
      this.#session.liveHead = head;
      this.#session.epoch += 1;
    },
    'turn-accepted': (body, record, turn) => this.#accept(record, turn, body),
    steering: (body, _, turn) => this.#addKey(turn, body),
    'turn-context': ({ item }, _, turn) => {
      this.#mint(item);
      this.#start(turn);
    },
    'assistant-message': ({ item }) => this.#mint(item),
    inherited: (body, record) => this.#inherit(record, body),
    cleared: (_, { headId, seq }) => {
      const head = this.#heads.get(headId);
      if (head !== undefined)
        Object.assign(head, { clearedSeq: seq, firstTurn: this.#session.nextTurn, reset: null });
      for (const [key, { head: of }] of this.#segments) if (of === headId) this.#segments.delete(key);
      this.#session.epoch += 1;
    },
    evicted: (body, { headId, seq }) => {
      this.#evictions.push({ ...body, head: headId, seq });
      // Between turns: what was remembered of the requests before is stale.
      if (body.author === 'operator') this.#session.epoch += 1;
    },
    'turn-closed': (body, record, turn) => this.#close(record, turn, body),
    'tool-result': (body, record, turn) => this.#addEvidence(record, turn, body),
    'evidence-body': ({ evidence }, { seq }) => {
      const row = this.#evidence.get(evidence);
      if (row !== undefined) row.seq = seq;
    },
    packet: (body, record) => this.#addPacket(record, body),
    presentation: ({ presentation, type }, { seq }, turn) => {
      const ordinal = Number(presentation.slice(1));
      this.#presentations.push({ ordinal, seq, turn, type });
      this.#session.nextPresentation = Math.max(this.#session.nextPresentation, ordinal + 1);
    },
    prefix: ({ digest }, { seq }) => {
      this.#prefixes.push({ digest, seq });
    },
    'turn-vector': (body, { seq }) => {
      this.#vectors.push({ ...body, seq });
    },
    'context-plan': ({ prefixDigest }) => {
      this.#session.prefix = prefixDigest;
    },
    'prefix-changed': ({ to }) => {
      this.#session.prefix = to;
    },
    reset: (_, { headId, seq }) => {
      const head = this.#heads.get(headId);
      if (head !== undefined) head.reset = seq;
    },
    'link-retracted': (body) => this.#retract(body),
    'call-retrying': ({ child }, _, turn) => {
      const key = `${turn}~${child}`;
      this.#retries.set(key, (this.#retries.get(key) ?? 0) + 1);
    },
    'capacity-probe': ({ probedAt }) => {
      this.#session.profileAt = Math.max(this.#session.profileAt, probedAt);
    },
    'work-receipt': (body) => this.#usage.add(body),
    'actor-parked': ({ actor }) => {
      this.#parked.add(actor);
    },
  };

  constructor(session: string) {
    this.#of = session;
  }

  /** @throws TurnwrightError `ledger_corrupt` for a protocol record that no version of this program writes there. */
  add(record: StoredRecord): void {
    this.#session.nextSeq = record.seq + 1;
    this.#session.lastDigest = record.digest;
    if (!isKnownKind(record.kind)) {
      if (record.class === 'protocol')
        throw corrupt(
          record,
          `is of the unknown protocol kind "${record.kind}"; run a version that knows it`,
        );
      return;
    }
    if (record.body === null) return;
    const body = JSON.parse(record.body) as never;
    this.#readers[record.kind]?.(body, record, record.turnId ?? '');
  }

  end(): FromRecords {
    return {
      session: this.#session,
      heads: [...this.#heads.values()],
      turns: [...this.#turns.values()],
      keys: this.#keys,
      evidence: [...this.#evidence.values()],
      packets: [...this.#packets.values()],
      edges: [...this.#edges.values()].flat(),
      presentations: this.#presentations,
      prefixes: this.#prefixes,
      vectors: this.#vectors,
      evictions: this.#evictions,
      segments: [...this.#segments.values()],
      usage: this.#usage.rows(),
      parked: this.#parked,
      retries: this.#retries,
    };
  }

  #makeHead({ head, from, atSeq, goesOn = FROM_NOTHING }: BodyOf<'head-created'>): void {
    const { segments, turn: firstTurn } = goesOn;
    this.#heads.set(head, { head, from, atSeq, openTurn: null, reset: null, clearedSeq: 0, firstTurn });
    for (const row of segmentRows(head, segments)) this.#segments.set(`${head}/${row.ordinal}`, row);
    if (this.#session.liveHead === '') this.#session.liveHead = head;
  }

  #accept({ headId }: StoredRecord, turn: string, body: BodyOf<'turn-accepted'>): void {
    const { number, priority } = body;
    const state = { status: 'accepted', outcome: null, reason: null, steps: 0, ...NOT_CLOSED } as const;
    this.#turns.set(turn, { turn, head: headId, number, priority, ...state });
    this.#session.nextTurn = Math.max(this.#session.nextTurn, number + 1);
    this.#addKey(turn, body);
  }

  #inherit(record: StoredRecord, link: BodyOf<'inherited'>): void {
    const problem = linkProblem(this.#of, record.seq, link);
    if (problem !== null) throw corrupt(record, `is no link of a fork: ${problem}`);
    const { headId: head } = record;
    const { segments, next } = link;
    for (const row of segmentRows(head, segments)) this.#segments.set(`${head}/${row.ordinal}`, row);
    const { turn, item, evidence, presentation } = next;
    const numbers = {
      nextTurn: turn,
      nextItem: item,
      nextEvidence: evidence,
      nextPresentation: presentation,
    };
    Object.assign(this.#session, numbers);
    const made = this.#heads.get(head);
    if (made !== undefined) made.firstTurn = turn;
  }

  #mint(item: number): void {
    this.#session.nextItem = Math.max(this.#session.nextItem, item + 1);
  }

  #addKey(turn: string, { asked: { key, digest } }: Pick<BodyOf<'turn-accepted'>, 'asked'>): void {
    if (key !== undefined) this.#keys.push({ key, turn, inputDigest: digest });
  }

  #start(turn: string): void {
    const row = this.#turns.get(turn);
    if (row === undefined) return;
    row.status = 'running';
    const head = this.#heads.get(row.head);
    if (head !== undefined) head.openTurn = turn;
  }

  #close(
    { seq }: StoredRecord,
    turn: string,
    { outcome, reason, steps, card, items = [] }: BodyOf<'turn-closed'>,
  ): void {
    const row = this.#turns.get(turn);
    if (row === undefined) return;
    Object.assign(row, { status: 'closed', outcome, reason, steps, closedSeq: seq });
    const [first, last] = [items[0], items.at(-1)];
    if (first !== undefined && last !== undefined)
      Object.assign(row, { firstItem: first.item, lastItem: last.item });
    if (card !== undefined) {
      const { fullBytes, cardBytes, links } = card;
      const terms = Buffer.from(termsOfCard(card)).toString('base64');
      Object.assign(row, { fullBytes, cardBytes, terms });
      this.#edges.set(
        turn,
        links.map((link, ordinal) => ({ ...link, turn, ordinal, retracted: false })),
      );
    }
    const head = this.#heads.get(row.head);
    if (head?.openTurn === turn) head.openTurn = null;
  }

  #retract({ turn, kind, to }: BodyOf<'link-retracted'>): void {
    const row = [...this.#turns.values()].find(({ number }) => number === turn);
    for (const edge of this.#edges.get(row?.turn ?? '') ?? [])
      if (edge.kind === kind && edge.to === to) edge.retracted = true;
    this.#session.epoch += 1;
  }

  #addEvidence({ seq }: StoredRecord, turn: string, { evidence, name }: BodyOf<'tool-result'>): void {
    if (evidence === null) return;
    const ordinal = Number(evidence.slice(1));
    this.#evidence.set(evidence, { ordinal, seq, turn, tool: name });
    this.#session.nextEvidence = Math.max(this.#session.nextEvidence, ordinal + 1);
  }

  #addPacket({ headId, seq }: StoredRecord, { from, to, text, quality }: BodyOf<'packet'>): void {
    const key = `${headId}/${from}/${to}`;
    if (this.#packets.has(key)) return;
    const bytes = weighMessages(packetMessages({ from, to, text }));
    this.#packets.set(key, { head: headId, from, to, seq, bytes, quality });
  }
}

function corrupt({ seq }: StoredRecord, problem: string): TurnwrightError {
  return new TurnwrightError('ledger_corrupt', `Record ${seq} ${problem}.`, { details: { seq } });
}
