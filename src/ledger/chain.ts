/**
 * The hash chain. A record's digest covers a length-prefixed envelope, so no byte can move between fields,
 * and the digest of its body rather than the body, so an erased body leaves a chain that still verifies.
 */
import { hash } from 'blake3';
import { TurnwrightError } from './errors.ts';
import { byteLength, canonicalJson } from './json.ts';
import { classOf, type MintedDraft, parseBody, type RecordClass } from './kinds.ts';

const ENVELOPE_VERSION = 1;
/** The previous digest of a session's first record. */
export const GENESIS_DIGEST = '0'.repeat(64);

export interface ChainFields {
  readonly session: string;
  readonly seq: number;
  readonly kind: string;
  readonly turnId: string | null;
  readonly headId: string;
  readonly bodyDigest: string;
  readonly prevDigest: string;
}

/** A record as stored. `body` is canonical JSON text; digests are lower-case hex of 32 bytes. */
export interface ChainedRecord extends ChainFields {
  readonly class: RecordClass;
  readonly body: string;
  readonly bytes: number;
  readonly digest: string;
}

export interface ChainHead {
  readonly session: string;
  readonly nextSeq: number;
  readonly lastDigest: string;
}

/** A draft and the head it is written on. */
export interface PlacedDraft {
  readonly headId: string;
  readonly draft: MintedDraft;
}

export function blake3Hex(content: string | Uint8Array): string {
  return hash(content).toString('hex');
}

export function envelopeDigest(fields: ChainFields): string {
  const parts = [
    String(ENVELOPE_VERSION),
    fields.session,
    String(fields.seq),
    fields.kind,
    fields.turnId ?? '',
    fields.headId,
    fields.bodyDigest,
    fields.prevDigest,
  ];
  return blake3Hex(parts.map((part) => `${byteLength(part)}:${part}`).join(''));
}

/**
 * Turns drafts into the records that follow `head`, each checked against its kind.
 *
 * @throws TurnwrightError `record_refused` naming the kind and the member that does not fit.
 */
export function chainRecords(head: ChainHead, drafts: readonly PlacedDraft[]): readonly ChainedRecord[] {
  let prevDigest = head.lastDigest;
  return drafts.map(({ draft, headId }, index) => {
    const body = canonicalBody(draft);
    const bodyDigest = blake3Hex(body);
    const fields: ChainFields = {
      session: head.session,
      seq: head.nextSeq + index,
      kind: draft.kind,
      turnId: draft.turnId,
      headId,
      bodyDigest,
      prevDigest,
    };
    const digest = envelopeDigest(fields);
    prevDigest = digest;
    return { ...fields, class: classOf(draft.kind), body, bytes: byteLength(body), digest };
  });
}

function canonicalBody(draft: MintedDraft): string {
  try {
    return canonicalJson(parseBody(draft.kind, draft.body));
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new TurnwrightError('record_refused', `A ${draft.kind} record was refused: ${found}`, { cause });
  }
}
