/**
 * Reads a session once and holds it against its laws: the chain of its records, then what is stored beside them, then
 * where the parts end that it goes on from.
 */
import type { SegmentRow, SessionRef, Store } from '../db/contract.ts';
import { ChainVerifier, type StoredRecord, type Verdict } from '../ledger/verify.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import { anchorFault } from './ancestors.ts';
import { brokenSessionLaw } from './invariants.ts';
import { readProjections } from './rebuild.ts';

export interface SessionVerdict {
  readonly chain: Verdict;
  /** The first broken law of what is stored beside the records, as `<number>: <reason>`; null when all hold. */
  readonly broken: string | null;
}

/** null where the session has no records. */
export async function verifySession(
  { store, registry }: { readonly store: Store; readonly registry: MachineRegistry },
  ref: SessionRef,
): Promise<SessionVerdict | null> {
  const seen = { verifier: new ChainVerifier(ref.session), late: [] as StoredRecord[], sound: true };
  const restart = (): void => {
    seen.verifier = new ChainVerifier(ref.session);
    seen.late = [];
    seen.sound = true;
  };
  const reading = await readProjections(store, registry, ref, restart, (record) => {
    if (record.kind === 'late-result') seen.late.push(record);
    // What follows a broken record is not trusted, nor projected.
    seen.sound &&= seen.verifier.next(record);
    return seen.sound;
  });
  if (reading === null) return null;
  const { stored, projected } = reading;
  const end = stored?.session ?? projected.records.session;
  const chain = seen.verifier.end({ nextSeq: end.nextSeq, lastDigest: end.lastDigest });
  if (!chain.ok || stored === null) return { chain, broken: null };
  const law = brokenSessionLaw({ registry, state: stored, projected, late: seen.late });
  return { chain, broken: law ?? (await brokenLink(store, ref.tenant, projected.records.segments)) };
}

/** Law 21, which reads other sessions. */
async function brokenLink(
  store: Store,
  tenant: string,
  segments: readonly SegmentRow[],
): Promise<string | null> {
  const anchors = segments.map(({ fromSession: session, toSeq, digest }) => ({ session, toSeq, digest }));
  const fault = await anchorFault(store, tenant, anchors);
  return fault === null ? null : `21: record ${fault.record} of session ${fault.session}: ${fault.reason}`;
}
