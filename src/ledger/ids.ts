/** Ids are data: built from a clock and random bytes that the caller passes in, or derived from what they name. */

const UUID_BYTES = 16;

/** A UUIDv7: 48 bits of `nowMs`, then 74 random bits from `random` (at least 16 bytes). */
export function uuidv7(nowMs: number, random: Uint8Array): string {
  if (random.length < UUID_BYTES) throw new RangeError('a UUIDv7 needs 16 random bytes');
  const bytes = Buffer.from(random.subarray(0, UUID_BYTES));
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export const stepChild = (step: number): string => `step-${step}`;
export const toolChild = (step: number, index: number): string => `tool-${step}-${index}`;
/** The call again, after a person decided what to do about its unknown outcome for the `round`th time. */
export const decidedToolChild = (step: number, index: number, round: number): string =>
  `tool-${step}-${index}-${round}`;
export const summaryChild = (ordinal: number): string => `summary-${ordinal}`;
export const HANDOFF_CHILD = 'handoff-1';
export const INTENT_CHILD = 'intent-1';
export const probeChild = (ordinal: number): string => `probe-${ordinal}`;
/** Not a side call: the job that applies an actor's pending events. */
export const DRAIN_CHILD = 'drain';
/** Upkeep jobs, which belong to no session. */
export const FOLD_CHILD = 'fold';
export const COLLECT_CHILD = 'collect';

/** The number in an id such as `e7` or `p3`; null for a text that is no such id. Larger ones are no integer of the database. */
export function ordinalOf(letter: 'e' | 'p', id: string): number | null {
  const ordinal = new RegExp(`^${letter}([1-9]\\d{0,8})$`, 'u').exec(id)?.[1];
  return ordinal === undefined ? null : Number(ordinal);
}

export const presentationId = (ordinal: number): string => `p${ordinal}`;
export const evidenceId = (ordinal: number): string => `e${ordinal}`;
