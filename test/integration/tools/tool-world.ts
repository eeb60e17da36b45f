/** A deployment with tools, servers and skills of the test's own, and the requests that its turns sent. */
import { onTestFinished } from 'vitest';
import type { Config } from '../../../src/app/config.ts';
import type { ChatRequest } from '../../../src/context/request.ts';
import type { SessionRef } from '../../../src/db/contract.ts';
import type { Leg } from '../../../src/providers/contract.ts';
import { RequestBuilder } from '../../../src/runtime/request.ts';
import { rebuildSent } from '../../../src/runtime/sent-request.ts';
import { SessionConfigs } from '../../../src/runtime/sessions.ts';
import { LegWorld, legTo } from '../runtime/leg-process.ts';

/** No model is probed by itself here. */
const QUIET = { local: 'off', hosted: 'off' } as const;

/** One process with the given legs, or one to the simulator's large model; closed with the test. */
export async function openToolWorld(change: Partial<Config>, legs?: readonly Leg[]): Promise<LegWorld> {
  const world = await LegWorld.open();
  onTestFinished(() => world.close());
  const { sim, producer } = world.stack;
  const probe = { ...producer.config.probe, ...QUIET };
  await world.process(legs ?? [legTo(sim, 'sim-large')], { probe, ...change });
  return world;
}

/** Every answered step of a turn, made again by a process that sent none: each must come out byte for byte. */
export async function requestsOf(
  { stack }: LegWorld,
  ref: SessionRef,
  turn: string,
): Promise<readonly ChatRequest[]> {
  const { store, planning, turns } = stack.open();
  const deps = { store, requests: new RequestBuilder(planning, turns), configs: new SessionConfigs(store) };
  const head = (await store.loadSession(ref, null))?.session.liveHead ?? '';
  const receipts = (await stack.records(ref, turn)).filter(
    ({ kind, data }) => kind === 'work-receipt' && data.purpose === 'step' && data.settlement === 'answered',
  );
  const requests: ChatRequest[] = [];
  for (const { data } of receipts) {
    const sent = await rebuildSent(deps, ref, { turn, head }, Number(data.step));
    if (sent?.same !== true || sent.rebuilt === null)
      throw new Error(`step ${String(data.step)} of turn ${turn} is not rebuilt as it was sent`);
    requests.push(sent.rebuilt.request);
  }
  return requests;
}
