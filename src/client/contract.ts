/** What the server answers, as far as the client reads it. Servers may add members. */
import type { Usage } from '../context/request.ts';
import type { InputBlock } from '../ledger/blocks.ts';
import type { Json } from '../ledger/json.ts';
import type { Outcome } from '../ledger/kinds.ts';

export interface Session {
  readonly id: string;
  readonly [member: string]: unknown;
}

export interface NewSession {
  readonly leg?: string;
  readonly ladder?: string;
  readonly policy?: Json;
  /** Names; every configured tool when left out. */
  readonly tools?: readonly string[];
  readonly system?: string;
  readonly locale?: string;
  readonly timezone?: string;
  readonly metadata?: Readonly<Record<string, Json>>;
}

export interface Turn {
  readonly id: string;
  readonly session: string;
  readonly number: number;
  /** `accepted`, `running`, `waiting`, `closed`, or `parked`. */
  readonly status: string;
  readonly outcome: Outcome | null;
  readonly reason: string | null;
  readonly steps: number;
  readonly answer: string | null;
  readonly usage: Usage | null;
  readonly [member: string]: unknown;
}

export type TurnInput = string | readonly InputBlock[];

export interface TurnOptions {
  readonly mode?: 'enqueue' | 'reject';
  /** 0 is the most urgent. */
  readonly priority?: number;
  readonly budget?: { readonly steps?: number; readonly timeMs?: number };
  readonly metadata?: Readonly<Record<string, Json>>;
  /** The same key with the same body is the same turn. One is made when left out, so that a retry is safe. */
  readonly idempotencyKey?: string;
}

export type Signal = { readonly type: 'approve' | 'deny' };

/** `id` is a record's number for a durable event, `<seq>.<attempt>.<n>` for a live one. */
export interface TurnEvent {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, Json>>;
}

export interface ReplayStep {
  readonly id: string;
  readonly type: string;
  readonly matches: boolean;
  readonly [member: string]: unknown;
}

export interface StuckTurn {
  readonly id?: string;
  readonly [member: string]: unknown;
}
