/**
 * Keeps probes out of the way of turns. Each process knows which models are being probed and how many calls of turns
 * it has under way on each; where both meet, the probe is interrupted. Nobody waits for that: a turn's call goes out at
 * once, and the sample that ran beside it is aborted.
 */
import type { ActorRef } from '../db/contract.ts';
import { flightOf, type ModelKey, type ProbeFlight, type ProbeFlightStore } from '../db/probe-flights.ts';
import type { Leg } from '../providers/contract.ts';
import type { Engine } from './engine.ts';
import { modelKey, modelName } from './profiles.ts';

/** Above the longest request: a probe that held its model for longer without another one is gone. */
export const PROBE_LEASE_MS = 60_000;
export const PROBE_SPACING_MS = 60_000;

const INTERRUPT_EVENT = 'interrupt';

export interface ProbeWatchOptions {
  readonly flights: ProbeFlightStore;
  readonly engine: Pick<Engine, 'deliver'>;
  readonly onError: (error: unknown) => void;
}

export class ProbeWatch {
  readonly #options: ProbeWatchOptions;
  readonly #probed = new Map<string, { readonly key: ModelKey; readonly actor: ActorRef }>();
  readonly #busy = new Map<string, number>();
  readonly #pending = new Set<Promise<void>>();

  constructor(options: ProbeWatchOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.#refresh();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#pending);
  }

  /** A payload of `PROBES_CHANNEL`. */
  hear(payload: string): void {
    if (payload === '') {
      this.#later(this.#refresh());
      return;
    }
    this.#know(flightOf(payload));
  }

  /** A turn's call to the leg begins; the function it returns says that it ended. */
  enter(leg: Leg): () => void {
    const name = modelName(modelKey(leg));
    this.#busy.set(name, (this.#busy.get(name) ?? 0) + 1);
    this.#interruptIf(name);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const count = (this.#busy.get(name) ?? 1) - 1;
      if (count === 0) this.#busy.delete(name);
      else this.#busy.set(name, count);
    };
  }

  isBusy(leg: Leg): boolean {
    return this.#busy.has(modelName(modelKey(leg)));
  }

  async #refresh(): Promise<void> {
    const held = await this.#options.flights.held(PROBE_LEASE_MS);
    this.#probed.clear();
    for (const flight of held) this.#know(flight);
  }

  #know({ key, actor }: ProbeFlight): void {
    const name = modelName(key);
    if (actor === null) this.#probed.delete(name);
    else {
      this.#probed.set(name, { key, actor });
      this.#interruptIf(name);
    }
  }

  #interruptIf(name: string): void {
    const flight = this.#probed.get(name);
    if (flight === undefined || !this.#busy.has(name)) return;
    this.#probed.delete(name);
    this.#later(this.#interrupt(flight));
  }

  async #interrupt({ key, actor }: { readonly key: ModelKey; readonly actor: ActorRef }): Promise<void> {
    await this.#options.engine.deliver(actor, { id: INTERRUPT_EVENT, event: { type: 'probe.interrupt' } });
    await this.#options.flights.release(key, actor);
  }

  #later(work: Promise<void>): void {
    const settled = work.catch(this.#options.onError);
    this.#pending.add(settled);
    void settled.finally(() => this.#pending.delete(settled));
  }
}
