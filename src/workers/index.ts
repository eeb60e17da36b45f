/** The one table from pools to what their workers do. */
import type { UpkeepStore } from '../db/contract.ts';
import type { JobRef, Pool } from '../queues/contract.ts';
import type { WorkerDeps } from './deps.ts';
import { intentWorker } from './intent.ts';
import { probeWorker } from './probe.ts';
import { stepWorker } from './step.ts';
import { summaryWorker } from './summary.ts';
import { toolWorker } from './tool.ts';
import { turnWorker } from './turn.ts';
import { upkeepWorker } from './upkeep.ts';

export type { WorkerDeps } from './deps.ts';

export function poolHandlers(
  deps: WorkerDeps,
  upkeep: UpkeepStore,
): Readonly<Record<Pool, (ref: JobRef) => Promise<unknown>>> {
  return {
    turn: (ref) => turnWorker(deps, ref),
    step: (ref) => stepWorker(deps, ref),
    tool: (ref) => toolWorker(deps, ref),
    summary: (ref) => summaryWorker(deps, ref),
    probe: (ref) => probeWorker(deps, ref),
    intent: (ref) => intentWorker(deps, ref),
    upkeep: (ref) => upkeepWorker(upkeep, ref),
  };
}
