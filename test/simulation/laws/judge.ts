/** The oracle: every law, asked of one world. */
import type { World } from '../world/world.ts';
import { CALL_LAWS } from './calls.ts';
import { evidenceOf, type Law } from './evidence.ts';
import { HOP_LAWS } from './hops.ts';
import { ITEM_LAWS } from './items.ts';
import { LEDGER_LAWS } from './ledger.ts';
import { REST_LAWS } from './rest.ts';
import { TURN_LAWS } from './turns.ts';

export const LAWS: Readonly<Record<string, Law>> = {
  ...REST_LAWS,
  ...TURN_LAWS,
  ...LEDGER_LAWS,
  ...ITEM_LAWS,
  ...HOP_LAWS,
  ...CALL_LAWS,
};

/** Every broken law, as `<law>: <reason>`. */
export function judge(world: World, settled: boolean): readonly string[] {
  const evidence = evidenceOf(world, settled);
  return Object.entries(LAWS).flatMap(([law, holds]) => holds(evidence).map((reason) => `${law}: ${reason}`));
}
