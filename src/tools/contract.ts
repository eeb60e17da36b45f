/** What a tool is, to the model that calls it and to the worker that runs it. */
import type { ToolDefinition } from '../context/request.ts';
import type { Clock } from '../ledger/clock.ts';
import type { Domain } from '../ledger/domains.ts';
import type { Json } from '../ledger/json.ts';
import type { Outcome } from '../ledger/outcomes.ts';

/**
 * What running twice would mean. `once`: it may have effects a second run would repeat, so it never runs
 * again after an unknown outcome. `idempotent`: safe to repeat under the same key. `read`: changes nothing.
 */
export const TOOL_EFFECTS = ['once', 'idempotent', 'read'] as const;
export type ToolEffect = (typeof TOOL_EFFECTS)[number];

/** Of a `once` tool that was started and whose worker died: tell the model, or ask a person to decide. */
export const UNKNOWN_OUTCOMES = ['report', 'ask'] as const;
export type UnknownOutcome = (typeof UNKNOWN_OUTCOMES)[number];

/** A turn by its number in the session's lineage, and by its UUID. */
export type TurnTarget = { readonly number: number } | { readonly id: string };

/** `text`: the full record of a closed turn. The one that is running is open. */
export type RememberedTurn =
  | { readonly kind: 'closed'; readonly text: string }
  | { readonly kind: 'open' }
  /** A record of it is not the one that was written: `message` names it. */
  | { readonly kind: 'unreadable'; readonly message: string };

/** `line`: the turn as its card shows it, one line, with or without `T<number>: ` before it. */
export interface FoundTurn {
  readonly number: number;
  readonly line: string;
}

/** `closedAt` is ISO 8601 in UTC. */
export interface FoundElsewhere extends FoundTurn {
  readonly session: string;
  readonly closedAt: string;
}

/** `complete` is false when turns were left unread, for want of time or because there are too many. */
export interface FoundInSessions {
  readonly found: readonly FoundElsewhere[];
  readonly searchedTurns: number;
  readonly complete: boolean;
}

/**
 * The items of the calling session's lineage, whatever its requests still carry of them, as text for a model. What
 * cannot be answered is an error result that says what may be asked instead.
 */
export interface SessionTranscript {
  /** At most `limit` items after item `after`. */
  index(page: { readonly after: number; readonly limit: number }): Promise<ToolOutput>;
  read(items: readonly number[]): Promise<ToolOutput>;
  /** `items` null searches all of them. A search that is not done by its deadline answers with what it has. */
  grep(
    asked: { readonly pattern: string; readonly items: readonly number[] | null },
    limits: { readonly deadlineMs: number; readonly signal: AbortSignal },
  ): Promise<ToolOutput>;
}

/** What the calling session remembers; every reading is of its own lineage, except `searchSessions`. */
export interface SessionMemory {
  /** The whole result; null when no such id exists. */
  evidence(id: string): Promise<string | null>;
  /** Ids that exist, newest first, for a corrective error. */
  evidenceIds(limit: number): Promise<readonly string[]>;
  /** Null when there is no such turn. */
  turn(which: TurnTarget): Promise<RememberedTurn | null>;
  /** The number of the newest closed turn; 0 before the first. */
  newestTurn(): Promise<number>;
  /** The canonical payload of a presentation with its type and title, as text; null when there is none. */
  presentation(id: string): Promise<string | null>;
  /** Closed turns of the session that the query fits, best first. */
  search(query: string, limit: number): Promise<readonly FoundTurn[]>;
  /** The same over the tenant's other sessions. */
  searchSessions(query: string, limit: number): Promise<FoundInSessions>;
  readonly transcript: SessionTranscript;
}

/** What a process grants its tools for reaching services outside. */
export interface Outbound {
  /** Hosts (`host` or `host:port`) that may be reached on a private network. */
  readonly allow: readonly string[];
  /** The value of an environment variable; undefined where it is not set. */
  readonly secret: (envName: string) => string | undefined;
  readonly clock: Pick<Clock, 'nowMs' | 'after'>;
}

/** What became of a directive that a call gave to a session of its own. `reason` is a sentence or the turn's own reason. */
export type Delegated =
  /** To be asked again after so long. */
  | { readonly kind: 'pending'; readonly session: string; readonly delayMs: number }
  | { readonly kind: 'refused'; readonly reason: string }
  | {
      readonly kind: 'ended';
      readonly session: string;
      readonly outcome: Outcome;
      readonly reason: string;
      /** null where the turn ended without one. */
      readonly answer: string | null;
    };

/** Begins a turn in a session of its own, and tells what became of it: the same call of a tool asks for the same turn. */
export interface Delegation {
  /** `inherit`: the session goes on from what the calling one holds; else it begins blank. */
  ask(directive: string, inherit: boolean): Promise<Delegated>;
}

export interface ToolContext {
  readonly signal: AbortSignal;
  /** Absolute path of the folder that file tools are confined to. */
  readonly root: string;
  /** The same for every attempt at this call. */
  readonly idempotencyKey: string;
  readonly memory: SessionMemory;
  /** Left out where tools reach no network. */
  readonly outbound?: Outbound;
  /** Left out where no turn calls. */
  readonly delegation?: Delegation;
}

/** An `isError` result goes back to the model, which may repair its call. */
export interface ToolOutput {
  readonly content: string;
  readonly isError: boolean;
  /**
   * Nothing to answer with yet: the call is run again after so long, in whatever process, and no worker waits for it.
   * `content` then names what it waits for, and no model reads it.
   */
  readonly againAfterMs?: number | undefined;
  /** Files the call read or wrote: turns about one file find each other by it. */
  readonly files?: readonly { readonly kind: 'read' | 'wrote'; readonly path: string }[] | undefined;
  /** What the call learned of tools behind this one: `tools` by name, `digest` of their whole descriptions. */
  readonly listed?:
    | { readonly server: string; readonly digest: string; readonly tools: readonly string[] }
    | undefined;
}

/** What one call of a tool means, where that hangs on its arguments. */
export interface CallTraits {
  readonly effect: ToolEffect;
  /** A call that succeeds has seen the world as it is now. */
  readonly observes: boolean;
  /** A call that succeeds has brought text from outside to answer from. */
  readonly retrieves: boolean;
}

export type ParsedArgs =
  | { readonly ok: true; readonly args: Json }
  | { readonly ok: false; readonly message: string };

export interface Tool extends ToolDefinition {
  readonly serves: readonly Domain[];
  readonly alwaysLoaded: boolean;
  readonly effect: ToolEffect;
  readonly onUnknown: UnknownOutcome;
  readonly approval: boolean;
  /** Not loaded merely because it declares no domain: its schema costs every request. */
  readonly deferred: boolean;
  readonly timeoutMs: number;
  /** The client makes the call itself: the turn waits for its result, and `run` is never called. */
  readonly byClient: boolean;
  /** What a call with these arguments means; never throws, whatever they are. */
  traitsOf(args: Json): CallTraits;
  /** Answered in the commit that settles its batch, without a job; `run` is never called. */
  readonly inHop: boolean;
  /** Checks arguments; the message tells the model what was wrong, what was found and what is allowed. */
  parse(args: Json): ParsedArgs;
  run(args: Json, context: ToolContext): Promise<ToolOutput>;
}
