/** The `turn` pool: applies the events that came from outside, in the order they came. */
import type { JobRef } from '../queues/contract.ts';
import type { MachineEvent } from '../runtime/actor.ts';
import type { Delivered } from '../runtime/engine.ts';
import type { WorkerDeps } from './deps.ts';

export async function turnWorker(deps: WorkerDeps, ref: JobRef): Promise<readonly Delivered[]> {
  const { engine } = deps.host;
  const pending = await engine.store.drain(ref, ref.dispatch);
  engine.admission.claimed('turn');
  const delivered: Delivered[] = [];
  for (const { id, event } of pending) {
    delivered.push(await engine.deliver(ref, { id, event: JSON.parse(event) as MachineEvent }));
  }
  return delivered;
}
