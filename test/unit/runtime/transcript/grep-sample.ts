/** Searches for tests: what they are asked of, and their answers. */
import { systemClock } from '../../../../src/app/clock.ts';
import type { GrepAnswer, GrepLimits, TurnText } from '../../../../src/runtime/transcript/contract.ts';
import { grepTurns } from '../../../../src/runtime/transcript/grep.ts';
import { streamed, tampered } from './transcript-sample.ts';

const LIMIT_MS = 60_000;

export const NONE_SKIPPED = { turns: 0, first: null };

export const limits = (given: Partial<GrepLimits> = {}): GrepLimits => ({
  deadlineMs: LIMIT_MS,
  clock: systemClock,
  signal: new AbortController().signal,
  ...given,
});

type Source = Iterable<TurnText> | AsyncIterable<TurnText>;

export function grep(
  source: Source,
  pattern: string,
  items: readonly number[] | null = null,
  given = limits(),
): Promise<GrepAnswer> {
  const turns = Symbol.asyncIterator in source ? source : streamed(source);
  const newest = Array.isArray(source) ? (source as readonly TurnText[]).at(-1)?.items.to : undefined;
  const asked = { pattern, items: items === null ? null : new Set(items), newest: newest ?? 0 };
  return grepTurns(turns, asked, given);
}

export async function found(
  ...asked: Parameters<typeof grep>
): Promise<Extract<GrepAnswer, { kind: 'found' }>> {
  const answer = await grep(...asked);
  if (answer.kind !== 'found') throw new Error(JSON.stringify(answer));
  return answer;
}

/** Its first record has another body, of the same length. */
export function altered(turn: TurnText): TurnText {
  return tampered(turn, 'turn-accepted', (body) => body.replace('t', 'T'));
}
