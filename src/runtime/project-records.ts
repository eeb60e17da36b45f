/** Makes every projection that follows from records alone, record by record. Holds the records of open turns only. */

import { packetMessages } from '../context/assemble/assemble.ts';
import { rendered, renderTurn, weighMessages } from '../context/assemble/turn.ts';
import type { EvidenceRow, HeadRow, KeyRow, Projections, SessionRow, TurnRowState } from '../db/contract.ts';
import { GENESIS_DIGEST } from '../ledger/chain.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { type BodyOf, isKnownKind, type RecordKind } from '../ledger/kinds.ts';
import type { StoredRecord } from '../ledger/verify.ts';
import { foldTurn, type RecordView } from '../ledger/view.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** `bytes` undefined: a body of the turn was erased, so what it weighed can not be worked out again. */
export type ProjectedTurn = Omit<TurnRowState, 'bytes'> & { readonly bytes: number | null | undefined };

export type FromRecords = Pick<Projections, 'heads' | 'keys' | 'evidence' | 'packets'> & {
  readonly session: SessionRow;
  readonly turns: readonly ProjectedTurn[];
  /** Actors that a record says were parked: their events do not tell all of their revisions. */
  readonly parked: ReadonlySet<string>;
  /** How often each call was tried again, as `<turn>~<child>`. */
  readonly retries: ReadonlyMap<string, number>;
};

type Readers = {
  readonly [K in RecordKind]?: (body: BodyOf<K>, record: StoredRecord, turn: string) => void;
};

export class RecordProjector {
  readonly #session: Mutable<SessionRow> = {
    status: 'open',
    leg: '',
    config: '',
    liveHead: '',
    nextSeq: 1,
    lastDigest: GENESIS_DIGEST,
    nextTurn: 1,
    nextEvidence: 1,
  };
  readonly #heads = new Map<string, Mutable<HeadRow>>();
  readonly #turns = new Map<string, Mutable<ProjectedTurn>>();
  readonly #keys: KeyRow[] = [];
  readonly #evidence = new Map<string, Mutable<EvidenceRow>>();
  readonly #packets = new Map<string, Projections['packets'][number]>();
  readonly #open = new Map<string, RecordView[]>();
  readonly #erased = new Set<string>();
  readonly #parked = new Set<string>();
  readonly #retries = new Map<string, number>();
  /** What each kind of record says; a record that belongs to a turn comes with it. */
  readonly #readers: Readers = {
    'session-created': ({ leg }, { body }) => {
      this.#session.leg = leg;
      this.#session.config = body ?? '';
    },
    'session-archived': () => {
      this.#session.status = 'archived';
    },
    'head-created': (body) => this.#makeHead(body),
    'head-moved': ({ head }) => {
      this.#session.liveHead = head;
    },
    'turn-accepted': (body, record, turn) => this.#accept(record, turn, body),
    steering: (body, _, turn) => this.#addKey(turn, body),
    'turn-context': (_, __, turn) => this.#start(turn),
    'turn-closed': (body, _, turn) => this.#close(turn, body),
    'tool-result': (body, record, turn) => this.#addEvidence(record, turn, body),
    'evidence-body': ({ evidence }, { seq }) => {
      const row = this.#evidence.get(evidence);
      if (row !== undefined) row.seq = seq;
    },
    packet: (body, record) => this.#addPacket(record, body),
    'call-retrying': ({ child }, _, turn) => {
      const key = `${turn}~${child}`;
      this.#retries.set(key, (this.#retries.get(key) ?? 0) + 1);
    },
    'actor-parked': ({ actor }) => {
      this.#parked.add(actor);
    },
  };

  add(record: StoredRecord): void {
    this.#session.nextSeq = record.seq + 1;
    this.#session.lastDigest = record.digest;
    if (!isKnownKind(record.kind)) {
      if (record.class === 'protocol')
        throw new TurnwrightError(
          'ledger_corrupt',
          `Record ${record.seq} is of the unknown protocol kind "${record.kind}"; run a version that knows it.`,
          { details: { seq: record.seq } },
        );
      return;
    }
    if (record.body === null) {
      if (record.turnId !== null) this.#erased.add(record.turnId);
      return;
    }
    const body = JSON.parse(record.body) as never;
    if (record.turnId !== null) this.#keep(record, record.turnId, body);
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
      parked: this.#parked,
      retries: this.#retries,
    };
  }

  #keep(record: StoredRecord, turnId: string, body: unknown): void {
    const { seq, kind, class: recordClass } = record;
    const kept = this.#open.get(turnId) ?? [];
    if (kind === 'turn-accepted') this.#open.set(turnId, kept);
    kept.push({ seq, kind, class: recordClass, turnId, body });
  }

  #makeHead({ head, from, atSeq }: BodyOf<'head-created'>): void {
    this.#heads.set(head, { head, from, atSeq, openTurn: null });
    if (this.#session.liveHead === '') this.#session.liveHead = head;
  }

  #accept({ headId }: StoredRecord, turn: string, body: BodyOf<'turn-accepted'>): void {
    const { number, priority } = body;
    const state = { status: 'accepted', outcome: null, reason: null, steps: 0, bytes: null } as const;
    this.#turns.set(turn, { turn, head: headId, number, priority, ...state });
    this.#session.nextTurn = Math.max(this.#session.nextTurn, number + 1);
    this.#addKey(turn, body);
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

  #close(turn: string, { outcome, reason, steps }: BodyOf<'turn-closed'>): void {
    const row = this.#turns.get(turn);
    if (row === undefined) return;
    const records = this.#open.get(turn) ?? [];
    this.#open.delete(turn);
    const bytes = this.#erased.has(turn) ? undefined : rendered(renderTurn(foldTurn(records), null)).bytes;
    Object.assign(row, { status: 'closed', outcome, reason, steps, bytes });
    const head = this.#heads.get(row.head);
    if (head?.openTurn === turn) head.openTurn = null;
  }

  #addEvidence({ seq }: StoredRecord, turn: string, { evidence, name }: BodyOf<'tool-result'>): void {
    const ordinal = Number(evidence.slice(1));
    this.#evidence.set(evidence, { ordinal, seq, turn, tool: name });
    this.#session.nextEvidence = Math.max(this.#session.nextEvidence, ordinal + 1);
  }

  #addPacket({ headId, seq }: StoredRecord, { from, to, text }: BodyOf<'packet'>): void {
    const key = `${headId}/${from}/${to}`;
    if (this.#packets.has(key)) return;
    const bytes = weighMessages(packetMessages({ from, to, text }));
    this.#packets.set(key, { head: headId, from, to, seq, bytes });
  }
}
