/** When a model is probed: after a turn, while it is idle and due; or because an operator asks. */
import { isLocalLeg, probeDue } from '../context/capacity/due.ts';
import type { CapacityProfile } from '../context/capacity/profile.ts';
import type { ActorRef, SessionRef } from '../db/contract.ts';
import { flightOf } from '../db/probe-flights.ts';
import type { Clock } from '../ledger/clock.ts';
import { PROBE_MACHINE, PROBE_VERSION } from '../machines/probe.ts';
import type { ProbeInput } from '../machines/probe-context.ts';
import type { Leg } from '../providers/contract.ts';
import { beginActor } from './actor.ts';
import type { Engine } from './engine.ts';
import { PROBE_SPACING_MS } from './probe-watch.ts';
import { modelKey, modelName } from './profiles.ts';
import { commitToSession } from './session-commit.ts';

export interface ProbeSettings {
  /** `off`: the ladder does not run on local models by itself either. */
  readonly local: 'off' | 'full';
  /** `full`: the ladder runs on hosted models too, which costs money. */
  readonly hosted: 'off' | 'full';
  /** Samples of a rung, odd. */
  readonly samples: number;
  /** After so much time in calls, or cost, the ladder ends with what it has confirmed. */
  readonly maxMs: number;
  readonly maxMicroUsd: number;
}

export const PROBE_DEFAULTS: ProbeSettings = {
  local: 'full',
  hosted: 'off',
  samples: 3,
  maxMs: 900_000,
  maxMicroUsd: 500_000,
};

export interface ProbesOptions {
  readonly engine: Engine;
  readonly settings: ProbeSettings;
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  readonly newId: () => string;
}

export class Probes {
  readonly #options: ProbesOptions;
  /** When a model was last probed anywhere, or the next probe from here begins: one at a time waits its minute. */
  readonly #beginsAtMs = new Map<string, number>();

  constructor(options: ProbesOptions) {
    this.#options = options;
  }

  /** A payload of `PROBES_CHANNEL`: some process holds the model. */
  heard(payload: string): void {
    if (payload === '') return;
    const { key, actor } = flightOf(payload);
    if (actor === null) return;
    const name = modelName(key);
    const nowMs = this.#options.clock.monotonicMs();
    this.#beginsAtMs.set(name, Math.max(nowMs, this.#beginsAtMs.get(name) ?? nowMs));
  }

  /** A turn on the leg ended in this session: a probe that is due begins, or is put off until the model was left alone for a minute. */
  async afterTurn(ref: SessionRef, leg: Leg, profile: CapacityProfile): Promise<void> {
    const wanted = this.#wanted(leg, profile);
    if (wanted === null) return;
    const nowMs = this.#options.clock.monotonicMs();
    const name = modelName(modelKey(leg));
    const begins = this.#beginsAtMs.get(name);
    if (begins !== undefined && begins > nowMs) return;
    const delayMs = begins === undefined ? 0 : Math.max(0, begins + PROBE_SPACING_MS - nowMs);
    // What the provider says is asked for by any later turn; only a ladder needs a model that is idle.
    if (delayMs > 0 && !wanted.ladder) return;
    this.#beginsAtMs.set(name, nowMs + delayMs);
    await this.begin(ref, leg, { ...wanted, delayMs: Math.ceil(delayMs), forced: false });
  }

  /** Begins now, whether it is due or not; the ladder runs where the operator asks, hosted or not. */
  begin(
    ref: SessionRef,
    leg: Leg,
    {
      ladder,
      delayMs,
      forced,
    }: { readonly ladder: boolean; readonly delayMs: number; readonly forced: boolean },
  ): Promise<ActorRef | null> {
    const { engine, settings, newId } = this.#options;
    const { samples, maxMs, maxMicroUsd } = settings;
    const ladderLeg = ladder ? (isLocalLeg(leg) ? leg.name : (leg.probeWith ?? leg.name)) : null;
    const input: ProbeInput = { leg: leg.name, ladderLeg, samples, delayMs, forced, maxMs, maxMicroUsd };
    return commitToSession(engine, ref, async (builder, { session }) => {
      const actor = newId();
      const begun = {
        actor,
        turn: null,
        machine: PROBE_MACHINE,
        version: PROBE_VERSION,
        input: { ...input },
      };
      beginActor(builder, engine.hopContext(), begun, {
        actor,
        turn: null,
        head: session.liveHead,
        priority: 0,
      });
      const { tenant, session: id } = ref;
      return { value: { tenant, session: id, actor } };
    });
  }

  /** null: nothing is due. A hosted model is asked once what it is, whatever is allowed beyond that. */
  #wanted(leg: Leg, profile: CapacityProfile): { readonly ladder: boolean } | null {
    const { settings, clock } = this.#options;
    const isLocal = isLocalLeg(leg);
    const mayClimb = settings[isLocal ? 'local' : 'hosted'] === 'full';
    const { hosted } = settings;
    const due = probeDue({ profile, isLocal, hosted, nowMs: clock.nowMs(), metadataDigest: null });
    if (mayClimb && due !== null) return { ladder: true };
    return mayClimb || profile.provenance.rungs.length > 0 ? null : { ladder: false };
  }
}
