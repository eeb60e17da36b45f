/** Snapshots: what is stored of an actor, and the guard that stands between a stored row and XState. */
import { type AnyMachineSnapshot, type AnyStateMachine, createEmptyActor } from 'xstate';
import { TurnwrightError } from '../ledger/errors.ts';
import { byteLength, canonicalJson } from '../ledger/json.ts';
import type { MachineRegistry } from '../machines/registry.ts';

/** Machine context holds ids, counters and flags; a snapshot beyond this holds text that belongs in records. */
export const MAX_SNAPSHOT_BYTES = 8 * 1024;

export interface StoredSnapshot {
  readonly machine: string;
  readonly version: number;
  readonly snapshot: string;
  readonly openChildren?: readonly string[];
}

/** null when this process does not know the version: the event is left for one that does. */
export function findMachine(
  registry: MachineRegistry,
  name: string,
  version: number,
): AnyStateMachine | null {
  return registry[name]?.[version] ?? null;
}

/** Canonical JSON of `{value, context, status, output?}`; children are side calls, which have rows of their own. */
export function persist(snapshot: AnyMachineSnapshot): string {
  const { value, context, status, output, error } = snapshot;
  if (status === 'error')
    throw new TurnwrightError(
      'snapshot_refused',
      `The machine met an error it does not handle: ${String(error)}.`,
    );
  const text = canonicalJson({ value, context, status, output });
  if (byteLength(text) > MAX_SNAPSHOT_BYTES) {
    throw new TurnwrightError(
      'snapshot_refused',
      `A snapshot of ${byteLength(text)} bytes was refused; at most ${MAX_SNAPSHOT_BYTES} are stored.`,
    );
  }
  return text;
}

/**
 * @throws TurnwrightError `snapshot_refused` when the row is not a running snapshot of this machine: XState
 * accepts such a snapshot silently and dies of it later.
 */
export function restore(machine: AnyStateMachine, stored: StoredSnapshot): AnyMachineSnapshot {
  const { value, context, status } = parse(stored);
  if (status !== 'active') throw refused(stored, `its status is "${String(status)}"`);
  if (!stateExists(machine.root, value))
    throw refused(stored, `it names the state ${JSON.stringify(value)}, which does not exist`);
  if (typeof context !== 'object' || context === null) throw refused(stored, 'it has no context');
  const snapshot = machine.resolveState({ value: value as never, context: context as never });
  for (const id of stored.openChildren ?? []) {
    const child = createEmptyActor();
    child.id = id;
    (snapshot.children as Record<string, typeof child>)[id] = child;
  }
  return snapshot;
}

function parse(stored: StoredSnapshot): {
  readonly value: unknown;
  readonly context: unknown;
  readonly status: unknown;
} {
  try {
    const parsed: unknown = JSON.parse(stored.snapshot);
    if (
      typeof parsed === 'object' &&
      parsed !== null &&
      'value' in parsed &&
      'context' in parsed &&
      'status' in parsed
    )
      return parsed;
  } catch {
    // Falls through to the refusal below, which names the actor's machine.
  }
  throw refused(stored, 'it is not a snapshot');
}

type StateNode = { readonly states: Readonly<Record<string, StateNode>> };

function stateExists(node: StateNode, value: unknown): boolean {
  if (typeof value === 'string') return Object.hasOwn(node.states, value);
  if (typeof value !== 'object' || value === null) return false;
  const regions = Object.entries(value);
  return (
    regions.length > 0 &&
    regions.every(([key, inner]) => {
      const child = Object.hasOwn(node.states, key) ? node.states[key] : undefined;
      return child !== undefined && stateExists(child, inner);
    })
  );
}

function refused(stored: StoredSnapshot, problem: string): TurnwrightError {
  return new TurnwrightError(
    'snapshot_refused',
    `The stored snapshot of ${stored.machine} version ${stored.version} was refused: ${problem}.`,
  );
}
