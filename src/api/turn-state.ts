/** What a turn's row says of its state, whatever stands in its snapshot: a parked one may hold anything. */
import type { TurnRow } from '../db/queries/find-turn.ts';

export const TURN_STATES = ['accepted', 'running', 'waiting', 'parked', 'closed'] as const;
export type TurnState = (typeof TURN_STATES)[number];

/** The phase of a snapshot nobody can read. */
const UNREADABLE = 'unreadable';

export interface ReadSnapshot {
  /** The state of its machine, such as stepping or tooling. */
  readonly phase: string;
  readonly context: Readonly<Record<string, unknown>>;
}

export function snapshotOf(snapshot: string): ReadSnapshot {
  const parsed = parse(snapshot);
  if (!isObject(parsed) || !('value' in parsed)) return { phase: UNREADABLE, context: {} };
  const { value, context } = parsed;
  return {
    phase: typeof value === 'string' ? value : JSON.stringify(value),
    context: isObject(context) ? context : {},
  };
}

export function stateOf({
  status,
  actor,
}: {
  readonly status: TurnRow['status'];
  readonly actor: Pick<TurnRow['actor'], 'snapshot' | 'status'>;
}): TurnState {
  if (status === 'closed') return 'closed';
  if (actor.status === 'parked') return 'parked';
  return status === 'running' && snapshotOf(actor.snapshot).phase === 'waiting' ? 'waiting' : status;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
