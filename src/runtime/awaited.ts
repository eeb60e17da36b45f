/**
 * What an open actor waits for, worked out anew from its events: calls without a result, timers not yet fired. The
 * rows that say the same can be compared with it, and mended from it. Pure.
 */
import { initialTransition, transition } from 'xstate';
import type { Json } from '../ledger/json.ts';
import { canonicalJson } from '../ledger/json.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import { CALL_POLICY, isCallSource } from './calls.ts';
import { type ActionData, readEffects } from './effects.ts';
import { findMachine, persist, restore } from './snapshot.ts';

export interface PastEvent {
  readonly id: string;
  readonly event: string;
  /** The actor's revision after it. */
  readonly revision: number;
  readonly receivedMs: number;
}

export interface AwaitedCall {
  readonly child: string;
  readonly src: string;
  readonly pool: string;
  readonly input: string;
}

export interface AwaitedTimer {
  readonly timer: string;
  readonly event: string;
  readonly revision: number;
  readonly dueMs: number;
}

export interface Awaited {
  /** As the actor's row should hold it. */
  readonly snapshot: string;
  readonly calls: readonly AwaitedCall[];
  readonly timers: readonly AwaitedTimer[];
}

/** The event of a timer that fell due names it: `timer.<id>.<revision>`. */
const FIRED = /^timer\.(.+)\.\d+$/u;

/** null where the machine is not known here, or there is no event. @throws what a replay of altered events meets. */
export function awaitedBy(
  registry: MachineRegistry,
  { machine: name, version }: { readonly machine: string; readonly version: number },
  events: readonly PastEvent[],
): Awaited | null {
  const machine = findMachine(registry, name, version);
  if (machine === null) return null;
  const calls = new Map<string, AwaitedCall>();
  const timers = new Map<string, AwaitedTimer>();
  let snapshot: string | null = null;
  for (const past of events) {
    const event = JSON.parse(past.event) as { readonly type: string; readonly input?: Json };
    calls.delete(past.id);
    const openChildren = [...calls.keys()];
    const [next, actions]: readonly [Parameters<typeof persist>[0], readonly ActionData[]] =
      snapshot === null
        ? initialTransition(machine, event.input)
        : transition(machine, restore(machine, { machine: name, version, snapshot, openChildren }), event);
    timers.delete(FIRED.exec(past.id)?.[1] ?? '');
    perform(actions, past, { calls, timers });
    snapshot = persist(next);
  }
  return snapshot === null ? null : { snapshot, calls: [...calls.values()], timers: [...timers.values()] };
}

interface Open {
  readonly calls: Map<string, AwaitedCall>;
  readonly timers: Map<string, AwaitedTimer>;
}

function perform(
  actions: readonly ActionData[],
  { revision, receivedMs }: PastEvent,
  { calls, timers }: Open,
): void {
  for (const effect of readEffects(actions)) {
    if (effect.kind === 'spawn' && isCallSource(effect.src)) {
      const { child, src, input } = effect;
      calls.set(child, { child, src, pool: CALL_POLICY[src].pool, input: canonicalJson(input) });
    } else if (effect.kind === 'stop') calls.delete(effect.child);
    else if (effect.kind === 'timer') {
      const { timer, event, delayMs } = effect;
      timers.set(timer, { timer, event: canonicalJson(event), revision, dueMs: receivedMs + delayMs });
    } else if (effect.kind === 'clear-timer') timers.delete(effect.timer);
  }
}
