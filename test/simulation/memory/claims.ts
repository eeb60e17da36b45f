/** What a claim brings to the worker that made it, by what its call is for. */
import type { Claim, ClaimedCall, Loaded, SessionRef, StoredPacketRow } from '../../../src/db/contract.ts';
import { closedTurns, loadedOf, turnRecords } from './reads.ts';
import type { CallRow, Tables } from './rows.ts';

/** Turns whose weight a plan is given. */
const WEIGHED_TURNS = 256;
/** Packets a step is given. */
const PACKETS = 2;

export function claimOf(tables: Tables, call: CallRow, nowMs: number): Claim {
  const loaded = loadedOf(tables, call, nowMs);
  if (loaded === null) throw new Error(`call ${call.actor}~${call.child} belongs to no actor`);
  const whole = call.src === 'step' || call.src === 'intent';
  return { call: claimedCall(call), loaded, whole, ...broughtAlong(tables, call, loaded) };
}

export function claimedCall({
  child,
  src,
  input,
  attempt,
  fence,
  token,
  dispatch,
  started,
  deaths,
}: CallRow): ClaimedCall {
  return { child, src, input, attempt, fence, token, dispatch, started, deaths };
}

export function weighedTurns(tables: Tables, ref: SessionRef, head: string, before: number) {
  return closedTurns(tables, ref, { head, before, limit: WEIGHED_TURNS });
}

export function packetsOfStep(tables: Tables, ref: SessionRef, head: string): readonly StoredPacketRow[] {
  return newestPackets(tables, ref, head).slice(0, PACKETS);
}

function broughtAlong(
  tables: Tables,
  call: CallRow,
  { actor, turn }: Loaded,
): Pick<Claim, 'records' | 'closed' | 'packets'> {
  const head = turn?.head ?? '';
  switch (call.src) {
    case 'step': {
      const records = turnRecords(tables, call, actor.turn);
      const planned = records.some(({ kind }) => kind === 'context-plan');
      const closed = planned ? null : weighedTurns(tables, call, head, turn?.number ?? 0);
      return { records, closed, packets: packetsOfStep(tables, call, head) };
    }
    case 'intent':
      return { records: turnRecords(tables, call, actor.turn), closed: null, packets: null };
    case 'tool': {
      const records = turnRecords(tables, call, actor.turn, ['assistant-message']);
      return { records, closed: null, packets: null };
    }
    case 'summary': {
      const { from, to } = JSON.parse(call.input) as { readonly from: number; readonly to: number };
      const earlier = newestPackets(tables, call, head).filter((row) => row.from === from && row.to < to);
      return { records: [], closed: null, packets: earlier.slice(0, 1) };
    }
    default:
      return { records: [], closed: null, packets: null };
  }
}

function newestPackets(tables: Tables, ref: SessionRef, head: string): readonly StoredPacketRow[] {
  return tables.packets
    .of(ref)
    .filter((packet) => packet.head === head)
    .sort((a, b) => b.from - a.from || b.to - a.to)
    .map(({ from, to, seq, bytes }) => ({ from, to, seq, bytes }));
}
