/** Checks a session's records against the chain, one at a time, in sequence order. */
import { blake3Hex, envelopeDigest, GENESIS_DIGEST } from './chain.ts';
import { evictionProblem, newestItem } from './evicted.ts';
import { byteLength } from './json.ts';
import { type BodyOf, classOf, isKnownKind, parseBody } from './kinds.ts';
import { linkProblem } from './link.ts';

/** A row as read back. `body` is null where its content was erased. */
export interface StoredRecord {
  readonly seq: number;
  readonly kind: string;
  readonly class: string;
  readonly turnId: string | null;
  readonly headId: string;
  readonly body: string | null;
  readonly bytes: number;
  readonly bodyDigest: string;
  readonly digest: string;
  readonly prevDigest: string;
}

export interface ExpectedEnd {
  readonly nextSeq: number;
  readonly lastDigest: string;
}

export type Fault = { readonly seq: number; readonly kind: string; readonly problem: string };
export type Verdict =
  | { readonly ok: true; readonly records: number; readonly lastDigest: string }
  | { readonly ok: false; readonly fault: Fault };

/** Feed every record in order to `next`, then call `end`. The first fault is kept; nothing after it is trusted. */
export class ChainVerifier {
  readonly #session: string;
  #expectedSeq = 1;
  #prevDigest = GENESIS_DIGEST;
  #newestItem = 0;
  #fault: Fault | null = null;
  readonly #bodiless = new Map<number, { kind: string; bodyDigest: string }>();

  constructor(session: string) {
    this.#session = session;
  }

  /** Returns false once a fault was found. */
  next(record: StoredRecord): boolean {
    if (this.#fault !== null) return false;
    const problem = this.#problemOf(record);
    if (problem !== null) {
      this.#fault = { seq: record.seq, kind: record.kind, problem };
      return false;
    }
    this.#expectedSeq = record.seq + 1;
    this.#prevDigest = record.digest;
    return true;
  }

  end(expected: ExpectedEnd): Verdict {
    if (this.#fault !== null) return { ok: false, fault: this.#fault };
    for (const [seq, { kind }] of this.#bodiless) {
      return {
        ok: false,
        fault: { seq, kind, problem: 'its body is gone and no later record says it was erased' },
      };
    }
    if (this.#expectedSeq !== expected.nextSeq) {
      const problem = `the session expects record ${expected.nextSeq - 1} to be the last, but the ledger ends at ${this.#expectedSeq - 1}`;
      return { ok: false, fault: { seq: this.#expectedSeq, kind: '(missing)', problem } };
    }
    if (this.#prevDigest !== expected.lastDigest) {
      const problem = 'its digest is not the one the session ended with';
      return { ok: false, fault: { seq: this.#expectedSeq - 1, kind: '(last)', problem } };
    }
    return { ok: true, records: this.#expectedSeq - 1, lastDigest: this.#prevDigest };
  }

  #problemOf(record: StoredRecord): string | null {
    if (record.seq !== this.#expectedSeq) return `record ${this.#expectedSeq} is missing or out of order`;
    if (record.prevDigest !== this.#prevDigest) return 'it does not follow the record before it';
    const envelope = { ...record, session: this.#session };
    if (envelopeDigest(envelope) !== record.digest) return 'its envelope was altered';
    if (isKnownKind(record.kind) && classOf(record.kind) !== record.class) return 'its class was altered';
    if (record.body === null) {
      this.#bodiless.set(record.seq, { kind: record.kind, bodyDigest: record.bodyDigest });
      if (isKnownKind(record.kind)) this.#newestItem = newestItem(this.#newestItem, record.kind, null);
      return null;
    }
    if (blake3Hex(record.body) !== record.bodyDigest) return 'its body was altered';
    if (byteLength(record.body) !== record.bytes) return 'its size was altered';
    return this.#contentProblem(record, record.body);
  }

  #contentProblem({ seq, kind, class: recordClass }: StoredRecord, body: string): string | null {
    if (!isKnownKind(kind))
      return recordClass === 'protocol' ? 'it is of a protocol kind this version does not know' : null;
    try {
      const parsed = parseBody(kind, JSON.parse(body));
      if (kind === 'erased') this.#attest(parsed as BodyOf<'erased'>);
      this.#newestItem = newestItem(this.#newestItem, kind, parsed);
      if (kind === 'evicted') return evictionProblem(parsed as BodyOf<'evicted'>, this.#newestItem);
      return kind === 'inherited' ? linkProblem(this.#session, seq, parsed as BodyOf<'inherited'>) : null;
    } catch {
      return 'its body does not fit its kind';
    }
  }

  #attest(erased: { seq: number; digest: string }): void {
    if (this.#bodiless.get(erased.seq)?.bodyDigest === erased.digest) this.#bodiless.delete(erased.seq);
  }
}
