/** What the demo reads from the ledger about its own session, beside what the events say. */
import type { SessionRef, Store } from '../../db/index.ts';
import { type BodyOf, isKnownKind, type RecordKind } from '../../ledger/kinds.ts';

type Receipt = BodyOf<'work-receipt'>;

/** The receipt of a turn's step: written in the commit of the reply itself. */
export async function stepReceipt(
  store: Store,
  ref: SessionRef,
  turn: string,
  step: number,
): Promise<Receipt | null> {
  const records = await store.turnRecords(ref, turn);
  const receipts = records
    .filter((record) => record.kind === 'work-receipt')
    .map((record) => JSON.parse(record.body) as Receipt);
  return receipts.findLast((receipt) => receipt.purpose === 'step' && receipt.step === step) ?? null;
}

export interface SessionFacts {
  readonly receipts: readonly Receipt[];
  readonly results: readonly BodyOf<'tool-result'>[];
  readonly packets: readonly BodyOf<'packet'>[];
  readonly evictions: readonly BodyOf<'evicted'>[];
  readonly probes: readonly BodyOf<'capacity-probe'>[];
  /** Plans in the order they were made, the first from before anything was asked of the provider. */
  readonly plans: readonly BodyOf<'context-plan'>[];
  /** Readings a classifier made, by the number of their turn. */
  readonly classified: ReadonlyMap<number, BodyOf<'reading'>>;
}

export async function sessionFacts(store: Store, ref: SessionRef): Promise<SessionFacts> {
  const bodies = new Map<RecordKind, unknown[]>();
  const numbers = new Map<string, number>();
  const classified = new Map<number, BodyOf<'reading'>>();
  for await (const { kind, turnId, body } of store.records(ref)) {
    if (!isKnownKind(kind) || body === null) continue;
    const value: unknown = JSON.parse(body);
    bodies.set(kind, [...(bodies.get(kind) ?? []), value]);
    if (turnId === null) continue;
    if (kind === 'turn-accepted') numbers.set(turnId, (value as BodyOf<'turn-accepted'>).number);
    const reading = kind === 'reading' ? (value as BodyOf<'reading'>) : null;
    if (reading?.source === 'classifier') classified.set(numbers.get(turnId) ?? 0, reading);
  }
  const all = <K extends RecordKind>(kind: K): readonly BodyOf<K>[] =>
    (bodies.get(kind) ?? []) as BodyOf<K>[];
  return {
    receipts: all('work-receipt'),
    results: all('tool-result'),
    packets: all('packet'),
    evictions: all('evicted'),
    probes: all('capacity-probe'),
    plans: all('context-plan'),
    classified,
  };
}
