/** Where a wire with explicit cache breakpoints sets them. */
import type { ChatRequest } from '../context/request.ts';

/** https://docs.claude.com/en/docs/build-with-claude/prompt-caching: at most four in a request. */
const MAX_BREAKPOINTS = 4;
/** The hint that marks the end of system and tools. */
const PREFIX_HINT = -1;

export const EPHEMERAL = { type: 'ephemeral' } as const;

export interface CacheMarks {
  readonly prefix: boolean;
  /** Indexes into the request's messages. */
  readonly messages: ReadonlySet<number>;
}

/** The prefix's own mark, when hinted, then the latest messages: those are read back by the next request. */
export function cacheMarks({ cache, messages }: ChatRequest): CacheMarks {
  const hinted = new Set(cache?.breakpoints ?? []);
  const prefix = hinted.has(PREFIX_HINT);
  const latest = [...hinted].filter((index) => index >= 0 && index < messages.length).sort((a, b) => b - a);
  return { prefix, messages: new Set(latest.slice(0, MAX_BREAKPOINTS - (prefix ? 1 : 0))) };
}
