/** A whole turn of a lineage as text, by its number or its UUID, read through the same comparison as its items. */
import { recordText } from '../../context/assemble/record-text.ts';
import type { SessionRef, Store, TranscriptTurn, TurnPlace } from '../../db/contract.ts';
import { RENDERED_KINDS } from '../../ledger/view.ts';
import type { RememberedTurn, TurnTarget } from '../../tools/contract.ts';
import { foldRecords } from '../turn-cache.ts';
import { foldChecked } from './check-record.ts';
import type { TranscriptRow } from './contract.ts';
import { linkedDigests, recordsOf, type TranscriptStore } from './locate.ts';
import { unreadableTurn } from './refusals.ts';

type TurnStore = TranscriptStore & Pick<Store, 'turnAt' | 'load'>;

/** Of a session as it is seen from `place`, the turn that asks; null for one that asks from outside. */
interface Asking {
  readonly ref: SessionRef;
  readonly head: string;
  readonly place: TurnPlace | null;
}

/** null where the lineage has no such turn, or it has not begun. */
export async function recalledTurn(
  store: TurnStore,
  { ref, head, place }: Asking,
  which: TurnTarget,
): Promise<RememberedTurn | null> {
  const at = 'id' in which ? await byId(store, ref, head, which.id) : await byNumber(store, ref, head, which);
  if (at === null) return null;
  const records = await recordsOf(store, ref.tenant, at, await linkedDigests(store, ref, [at]));
  const checked = foldChecked(records);
  if (!checked.ok) {
    const { seq, problem } = checked;
    return { kind: 'unreadable', message: unreadableTurn(at.number, { session: at.session, seq, problem }) };
  }
  const { number, closed } = checked.turn;
  if (closed === null && at.toSeq === null) return number <= (place?.number ?? 0) ? { kind: 'open' } : null;
  return { kind: 'closed', text: recordText(foldRecords(records.records.filter(isRendered))) };
}

type Found = Pick<TranscriptTurn, 'session' | 'turn' | 'number' | 'toSeq'>;

async function byNumber(
  store: TurnStore,
  ref: SessionRef,
  head: string,
  { number }: { readonly number: number },
): Promise<Found | null> {
  const at = await store.turnAt(ref, head, number);
  if (at === null || at.session === ref.session) return at === null ? null : { ...at, toSeq: null };
  return inherited(store, ref, head, at.turn);
}

async function byId(store: TurnStore, ref: SessionRef, head: string, id: string): Promise<Found | null> {
  const own = await store.load({ ...ref, actor: id });
  const number = own?.turn?.number;
  const at = number === undefined ? null : await store.turnAt(ref, head, number);
  return at?.turn === id ? { ...at, toSeq: null } : inherited(store, ref, head, id);
}

/** One that was open where a fork left it ends there, though its session went on. */
async function inherited(
  store: TurnStore,
  ref: SessionRef,
  head: string,
  turn: string,
): Promise<Found | null> {
  const turns = await store.transcriptTurns(ref, head, null);
  return turns.find((one) => one.turn === turn && one.session !== ref.session) ?? null;
}

/** An erased card is left out of the text, as it is of the session. */
function isRendered(row: TranscriptRow): row is TranscriptRow & { readonly body: string } {
  return row.body !== null && (RENDERED_KINDS as readonly string[]).includes(row.kind);
}
