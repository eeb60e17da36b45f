/** The `upkeep` pool: bulk work that no turn waits for. */
import type { UpkeepStore } from '../db/contract.ts';

/** Finished actors folded in one statement. */
const FOLD_BATCH = 500;

/** Folds the events of finished actors, batch after batch, until none is left. Returns how many. */
export async function upkeepWorker(upkeep: UpkeepStore): Promise<number> {
  let folded = 0;
  for (;;) {
    const batch = await upkeep.compact(FOLD_BATCH);
    folded += batch;
    if (batch < FOLD_BATCH) return folded;
  }
}
