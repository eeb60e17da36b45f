/** Probes under way, in memory (src/db/probe-flights.ts). */
import type { ActorRef } from '../../../src/db/contract.ts';
import type { ModelKey, ProbeFlight, ProbeFlightStore } from '../../../src/db/probe-flights.ts';

interface Row extends ProbeFlight {
  readonly beganMs: number;
  readonly heldMs: number;
}

export class MemoryProbeFlights implements ProbeFlightStore {
  readonly #rows = new Map<string, Row>();
  readonly #nowMs: () => number;
  readonly #notify: (payload: string) => void;

  constructor(nowMs: () => number, notify: (payload: string) => void = () => {}) {
    this.#nowMs = nowMs;
    this.#notify = notify;
  }

  async hold({ key, actor, leaseMs, spacingMs }: Parameters<ProbeFlightStore['hold']>[0]): Promise<boolean> {
    const nowMs = this.#nowMs();
    const row = this.#rows.get(nameOf(key));
    const own = row !== undefined && row.actor?.actor === actor.actor;
    if (row !== undefined && !own) {
      const free = row.actor === null || row.heldMs < nowMs - leaseMs;
      if (!free || row.beganMs > nowMs - spacingMs) return false;
    }
    const beganMs = own ? row.beganMs : nowMs;
    const { tenant, session } = actor;
    this.#put({ key, actor: { tenant, session, actor: actor.actor }, beganMs, heldMs: nowMs });
    return true;
  }

  async release(key: ModelKey, actor: ActorRef): Promise<void> {
    const row = this.#rows.get(nameOf(key));
    if (row?.actor?.actor === actor.actor) this.#put({ ...row, actor: null });
  }

  async held(leaseMs: number): Promise<readonly ProbeFlight[]> {
    const sinceMs = this.#nowMs() - leaseMs;
    return [...this.#rows.values()]
      .filter(({ actor, heldMs }) => actor !== null && heldMs > sinceMs)
      .map(({ key, actor }) => ({ key, actor }));
  }

  #put(row: Row): void {
    this.#rows.set(nameOf(row.key), row);
    const { key, actor } = row;
    const holder = actor === null ? null : `${actor.tenant}/${actor.session}/${actor.actor}`;
    this.#notify(JSON.stringify({ key, holder }));
  }
}

function nameOf({ provider, endpointDigest, model }: ModelKey): string {
  return `${provider}\n${endpointDigest}\n${model}`;
}
