/** Places in a turn's stream: a record's number, or `<seq>.<attempt>.<n>` of a live frame after that record. */

export interface LiveId {
  readonly seq: number;
  readonly attempt: number;
  readonly n: number;
}

/** Where a client stopped: after record `seq`, and after `live` where it saw a frame since. */
export interface Place {
  readonly seq: number;
  readonly live: Omit<LiveId, 'seq'> | null;
}

export const START: Place = { seq: 0, live: null };

const NUMBER = String.raw`(\d{1,15})`;
const DURABLE = new RegExp(`^${NUMBER}$`, 'u');
const LIVE = new RegExp(String.raw`^${NUMBER}\.${NUMBER}\.${NUMBER}$`, 'u');

export function parseLiveId(text: string): LiveId | null {
  const match = LIVE.exec(text);
  if (match === null) return null;
  return { seq: Number(match[1]), attempt: Number(match[2]), n: Number(match[3]) };
}

/** null for a text that is no id of this stream. */
export function parsePlace(text: string): Place | null {
  if (DURABLE.test(text)) return { seq: Number(text), live: null };
  const live = parseLiveId(text);
  return live === null ? null : { seq: live.seq, live: { attempt: live.attempt, n: live.n } };
}

/** Whether a client that stopped at `place` has seen the frame, or an attempt after it. */
export function wasSeen(place: Place, id: LiveId): boolean {
  if (place.live === null || id.seq > place.seq) return false;
  const { attempt, n } = place.live;
  return id.attempt < attempt || (id.attempt === attempt && id.n <= n);
}

/**
 * The id a client is sent with a frame. A frame may be older than records the client has by now: it then takes
 * the number of the newest, or a client that resumes from it would be sent those records again.
 */
export function renderLiveId(id: LiveId, newestSeq: number): string {
  return `${Math.max(id.seq, newestSeq)}.${id.attempt}.${id.n}`;
}
