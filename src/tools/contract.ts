/** What a tool is, to the model that calls it and to the worker that runs it. */
import type { ToolDefinition } from '../context/request.ts';
import type { Domain } from '../ledger/domains.ts';
import type { Json } from '../ledger/json.ts';

/**
 * What running twice would mean. `once`: it may have effects a second run would repeat, so it never runs
 * again after an unknown outcome. `idempotent`: safe to repeat under the same key. `read`: changes nothing.
 */
export const TOOL_EFFECTS = ['once', 'idempotent', 'read'] as const;
export type ToolEffect = (typeof TOOL_EFFECTS)[number];

/** Of a `once` tool that was started and whose worker died: tell the model, or ask a person to decide. */
export const UNKNOWN_OUTCOMES = ['report', 'ask'] as const;
export type UnknownOutcome = (typeof UNKNOWN_OUTCOMES)[number];

/** Reads stored evidence of the calling session; null when no such id exists there. */
export interface EvidenceReader {
  read(evidenceId: string): Promise<string | null>;
  /** Ids that exist, newest first, for a corrective error. */
  list(limit: number): Promise<readonly string[]>;
}

export interface ToolContext {
  readonly signal: AbortSignal;
  /** Absolute path of the folder that file tools are confined to. */
  readonly root: string;
  /** The same for every attempt at this call. */
  readonly idempotencyKey: string;
  readonly evidence: EvidenceReader;
}

/** An `isError` result goes back to the model, which may repair its call. */
export interface ToolOutput {
  readonly content: string;
  readonly isError: boolean;
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
  readonly timeoutMs: number;
  /** Checks arguments; the message tells the model what was wrong, what was found and what is allowed. */
  parse(args: Json): ParsedArgs;
  run(args: Json, context: ToolContext): Promise<ToolOutput>;
}
