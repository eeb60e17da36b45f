/** What a claim brings to the worker that made it, by what its call is for. */
import type { Claim, ClaimedCall, IndexedTo, Loaded } from '../../../src/db/contract.ts';
import { toPlan } from './closed-turns.ts';
import { loadedOf, turnRecords } from './reads.ts';
import type { CallRow, Tables } from './rows.ts';

export function claimOf(tables: Tables, call: CallRow, indexed: IndexedTo, nowMs: number): Claim {
  const loaded = loadedOf(tables, call, nowMs);
  if (loaded === null) throw new Error(`call ${call.actor}~${call.child} belongs to no actor`);
  const whole = call.src === 'step' || call.src === 'intent';
  return { call: claimedCall(call), loaded, whole, ...broughtAlong(tables, call, loaded, indexed) };
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

function broughtAlong(
  tables: Tables,
  call: CallRow,
  { actor, turn }: Loaded,
  indexed: IndexedTo,
): Pick<Claim, 'records' | 'toPlan'> {
  switch (call.src) {
    case 'step': {
      const records = turnRecords(tables, call, actor.turn);
      const planned = records.some(({ kind }) => kind === 'context-plan');
      return { records, toPlan: planned ? null : toPlan(tables, call, turn?.head ?? '', indexed) };
    }
    case 'intent':
      return { records: turnRecords(tables, call, actor.turn), toPlan: null };
    case 'tool':
      return { records: turnRecords(tables, call, actor.turn, ['assistant-message']), toPlan: null };
    default:
      return { records: [], toPlan: null };
  }
}
