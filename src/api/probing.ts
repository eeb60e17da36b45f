/** Probes that an operator asks for, and how far they are. */

import type { Services } from '../app/services.ts';
import { isLocalLeg, probeDue } from '../context/capacity/due.ts';
import type { CapacityProfile } from '../context/capacity/profile.ts';
import type { SessionRef } from '../db/contract.ts';
import { readSession } from '../db/queries/read-sessions.ts';
import { blake3Hex } from '../ledger/chain.ts';
import { canonicalJson } from '../ledger/json.ts';
import type { Leg } from '../providers/contract.ts';
import { PROBE_LEASE_MS } from '../runtime/probe-watch.ts';
import { modelKey } from '../runtime/profiles.ts';
import { createSession } from '../runtime/sessions.ts';
import { askedAnswer } from './capacity-answers.ts';

type Begun =
  | { readonly begun: true; readonly session: string; readonly actor: string }
  | { readonly begun: false; readonly reason: string };

/** Begins the ladder in the tenant's session for probes of the leg, or says why there is nothing to begin. */
export async function beginProbe(
  services: Services,
  tenant: string,
  leg: Leg,
  force: boolean,
): Promise<Begun> {
  const profile = await services.legProfiles.current(leg);
  const reason = (await isProbed(services, leg))
    ? `The model of leg ${leg.name} is being probed now. GET /v1/legs/${encodeURIComponent(leg.name)}/profile shows when it is over.`
    : force
      ? null
      : whyNot(services, leg, profile);
  if (reason !== null) return { begun: false, reason };
  const ref = { tenant, session: probeSession(tenant, leg.name) };
  await ensureSession(services, ref, leg);
  const actor = await services.probes.begin(ref, leg, { ladder: true, delayMs: 0, forced: true });
  if (actor === null) throw new Error(`the session ${ref.session} of probes is gone`);
  return { begun: true, session: ref.session, actor: actor.actor };
}

/** `actor`: a probe the tenant began. */
export async function probeState(services: Services, tenant: string, leg: Leg, actor: string | undefined) {
  const state = (await isProbed(services, leg)) ? ('running' as const) : ('idle' as const);
  if (actor === undefined) return { state, asked: null };
  const loaded = await services.store.load({ tenant, session: probeSession(tenant, leg.name), actor });
  return { state, asked: loaded === null ? null : askedAnswer(loaded.actor) };
}

/** One session for the probes of each leg: a version 8 UUID, https://www.rfc-editor.org/rfc/rfc9562#section-5.8 */
export function probeSession(tenant: string, leg: string): string {
  const hex = blake3Hex(canonicalJson({ leg, purpose: 'probe', tenant }));
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0b0011) | 0b1000).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** A probe that failed holds its model until its lease is out; what counts is whether it still runs. */
async function isProbed({ flights, store }: Services, leg: Leg): Promise<boolean> {
  const key = canonicalJson({ ...modelKey(leg) });
  for (const flight of await flights.held(PROBE_LEASE_MS)) {
    if (flight.actor === null || canonicalJson({ ...flight.key }) !== key) continue;
    return (await store.load(flight.actor))?.actor.status === 'active';
  }
  return false;
}

/** null: a ladder is due. */
function whyNot({ config, engine }: Services, leg: Leg, profile: CapacityProfile): string | null {
  const { hosted } = config.probe;
  const isLocal = isLocalLeg(leg);
  if (!isLocal && hosted === 'off')
    return `Leg ${leg.name} is hosted, and hosted models are not probed, since that costs money. Send force to probe it once, or set probe.hosted to "full".`;
  const due = probeDue({ profile, isLocal, hosted, nowMs: engine.clock.nowMs(), metadataDigest: null });
  if (due !== null) return null;
  const at = new Date(profile.provenance.probedAtMs).toISOString();
  return `Leg ${leg.name} was probed at ${at} and nothing speaks against what was found. Send force to probe it anyway.`;
}

async function ensureSession({ engine, newId, pool }: Services, ref: SessionRef, leg: Leg): Promise<void> {
  try {
    await createSession(engine, ref, newId(), {
      leg: leg.name,
      policy: { name: 'plan', options: {} },
      tools: null,
      system: '',
      metadata: { purpose: 'probe' },
    });
  } catch (error) {
    // An earlier probe made it, or one that is asked for at this moment.
    if ((await readSession(pool, ref.tenant, ref.session)) === null) throw error;
  }
}
