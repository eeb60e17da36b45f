/** The `upkeep` pool: bulk work that no turn waits for. */
import type { UpkeepStore } from '../db/contract.ts';
import { COLLECT_CHILD } from '../ledger/ids.ts';
import type { JobRef } from '../queues/contract.ts';

/** Finished actors folded in one statement. */
const FOLD_BATCH = 500;

/** What the sweep asks for, by the job's child. */
export async function upkeepWorker(upkeep: UpkeepStore, ref: JobRef): Promise<number> {
  return ref.child === COLLECT_CHILD ? upkeep.collectBodies() : foldAll(upkeep);
}

/** Folds the events of finished actors, batch after batch, until none is left. Returns how many. */
async function foldAll(upkeep: UpkeepStore): Promise<number> {
  let folded = 0;
  for (;;) {
    const batch = await upkeep.compact(FOLD_BATCH);
    folded += batch;
    if (batch < FOLD_BATCH) return folded;
  }
}
