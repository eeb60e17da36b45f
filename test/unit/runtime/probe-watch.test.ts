import { setImmediate as settled } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ActorRef } from '../../../src/db/contract.ts';
import type { Leg } from '../../../src/providers/contract.ts';
import { PROBE_LEASE_MS, ProbeWatch } from '../../../src/runtime/probe-watch.ts';
import { modelKey } from '../../../src/runtime/profiles.ts';
import { MemoryProbeFlights } from '../../simulation/memory/probe-flights.ts';

const LEG: Leg = { name: 'main', provider: 'ollama', model: 'm', timeoutMs: 1_000 };
const TWIN: Leg = { ...LEG, name: 'twin' };
const OTHER: Leg = { ...LEG, name: 'other', model: 'n' };
const ACTOR: ActorRef = { tenant: 't', session: 's', actor: 'a' };

let nowMs = 0;
let deaf = false;
let interrupted: { readonly actor: string; readonly id: string; readonly type: string }[] = [];
let errors: unknown[] = [];
let broken = false;
let watches: ProbeWatch[] = [];
let flights: MemoryProbeFlights;

beforeEach(() => {
  nowMs = 1_000_000;
  deaf = false;
  broken = false;
  interrupted = [];
  errors = [];
  watches = [];
  flights = new MemoryProbeFlights(
    () => nowMs,
    (payload) => {
      if (!deaf) for (const watch of watches) watch.hear(payload);
    },
  );
});

function watch(): ProbeWatch {
  const made = new ProbeWatch({
    flights,
    engine: {
      deliver: ({ actor }, { id, event }) => {
        if (broken) return Promise.reject(new Error('no database'));
        interrupted.push({ actor, id, type: event.type });
        return Promise.resolve('applied');
      },
    },
    onError: (error) => errors.push(error),
  });
  watches.push(made);
  return made;
}

const hold = (leg = LEG, actor = ACTOR) =>
  flights.hold({ key: modelKey(leg), actor, leaseMs: PROBE_LEASE_MS, spacingMs: 0 });

describe('a turn on a model that is probed', () => {
  it('CAP-03 interrupts the probe, once, and goes on at once', async () => {
    const own = watch();
    await hold();
    own.enter(LEG);
    own.enter(TWIN);
    await settled();
    expect(interrupted).toEqual([{ actor: 'a', id: 'interrupt', type: 'probe.interrupt' }]);
    expect(await flights.held(PROBE_LEASE_MS)).toEqual([]);
  });

  it('CAP-03 leaves the probe of another model alone', async () => {
    const own = watch();
    await hold();
    own.enter(OTHER);
    await settled();
    expect(interrupted).toEqual([]);
    expect(await flights.held(PROBE_LEASE_MS)).toHaveLength(1);
  });

  it('CAP-03 is seen by a probe that begins while the turn’s call is under way, in another process too', async () => {
    const [here] = [watch(), watch()];
    const leave = here.enter(LEG);
    await hold();
    await settled();
    expect(interrupted).toHaveLength(1);
    leave();
    await hold(LEG, { ...ACTOR, actor: 'b' });
    await settled();
    expect(interrupted).toHaveLength(1);
  });

  it('CAP-03 keeps the model busy until its last call ended, however often one says so', () => {
    const own = watch();
    const [first, second] = [own.enter(LEG), own.enter(TWIN)];
    expect([own.isBusy(LEG), own.isBusy(TWIN), own.isBusy(OTHER)]).toEqual([true, true, false]);
    first();
    first();
    expect(own.isBusy(LEG)).toBe(true);
    second();
    expect(own.isBusy(LEG)).toBe(false);
  });

  it('CAP-03 interrupts nothing once the probe has ended', async () => {
    const own = watch();
    await hold();
    await flights.release(modelKey(LEG), ACTOR);
    own.enter(LEG);
    await settled();
    expect(interrupted).toEqual([]);
  });
});

describe('what a process knows of probes', () => {
  it('CAP-03 a process that starts learns of those under way, and not of those that died', async () => {
    await hold();
    const own = watch();
    await own.start();
    own.enter(LEG);
    await settled();
    expect(interrupted).toHaveLength(1);

    await hold(OTHER);
    nowMs += PROBE_LEASE_MS;
    const late = watch();
    await late.start();
    late.enter(OTHER);
    await settled();
    expect(interrupted).toHaveLength(1);
  });

  it('CAP-03 notices that were missed are made good when the connection is back', async () => {
    const own = watch();
    deaf = true;
    await hold();
    own.enter(LEG);
    await settled();
    expect(interrupted).toEqual([]);
    own.hear('');
    await settled();
    expect(interrupted).toHaveLength(1);
  });

  it('CAP-03 an interrupt that fails is reported, and keeps nobody', async () => {
    const own = watch();
    await hold();
    broken = true;
    own.enter(LEG);
    await own.stop();
    expect(errors).toHaveLength(1);
  });
});
