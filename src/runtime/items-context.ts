/** What a turn's newest request carried of its head under the policy `evict`, and how full it was. */
import { explainItems, type ItemRun, type Room, roomOf } from '../context/evict/explain.ts';
import type { SessionHead } from '../db/contract.ts';
import type { TurnView } from '../ledger/view.ts';
import type { Engine } from './engine.ts';
import { measureOf } from './head-items.ts';
import type { SessionConfigs } from './sessions.ts';

export interface ItemsContext {
  readonly runs: readonly ItemRun[];
  readonly room: Room;
}

export async function itemsContext(
  { engine, configs }: { readonly engine: Engine; readonly configs: Pick<SessionConfigs, 'get'> },
  session: SessionHead,
  { head, turn }: { readonly head: string; readonly turn: TurnView },
): Promise<ItemsContext> {
  const { workContract = null } = await configs.get(session);
  const place = { head, epoch: session.epoch, before: turn.number };
  const items = await engine.items.read({ ref: session, place, open: turn, workContract });
  const limit = turn.plan?.limitTokens ?? null;
  const measure = measureOf(items, turn, { leg: session.leg, limit });
  return { runs: explainItems(items.table), room: roomOf(measure, limit) };
}
