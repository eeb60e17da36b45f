/**
 * Whether a run kept its promises, judged from witnesses that no database keeps: what producers were told, what the
 * model was asked, what tools did, how processes ended.
 */
import type { SimCall } from '../../src/sim/index.ts';
import type { Fault } from './faults.ts';
import type { Crash } from './processes.ts';
import type { Asked, ProducersLog, Refusal } from './producer.ts';
import { type Effect, ONCE_TOOL } from './tools.ts';

export const VERDICTS = ['lost', 'stuck', 'duplicate', 'wrong'] as const;

export interface Violation {
  readonly verdict: (typeof VERDICTS)[number];
  /** The turn, call or process it is about. */
  readonly about: string;
  readonly says: string;
}

export interface Witnesses {
  readonly log: ProducersLog;
  readonly calls: readonly SimCall[];
  readonly faults: readonly Fault[];
  readonly crashes: readonly Crash[];
  /** Every start of a tool. */
  readonly effects: readonly Effect[];
}

/** What a client may meet while things are broken: told to come back, or that the turn it cancels has ended. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([503]);
const EXPECTED_CODES: ReadonlySet<string> = new Set(['turn_closed']);

export function judgeWitnesses(witnesses: Witnesses): readonly Violation[] {
  const { log, crashes } = witnesses;
  return [
    ...log.asked.flatMap(judgeTurn),
    ...log.failures.map((says) => violation('lost', 'a producer', says)),
    ...log.refusals.flatMap(judgeRefusal),
    ...judgeEffects(witnesses),
    ...repeatedCalls(witnesses).flatMap(({ call, before, faults: hits }) =>
      hits > 0
        ? []
        : [violation('duplicate', `call ${call.n}`, `repeats call ${before.n}, and no fault lies between`)],
    ),
    ...crashes.map(({ name, code, signal }) =>
      violation('wrong', name, `ended by itself with code ${code} and signal ${signal}`),
    ),
  ];
}

function judgeTurn(asked: Asked): readonly Violation[] {
  const { turn, resentAs, end } = asked;
  const other = resentAs.filter((id) => id !== turn);
  const twice = other.map((id) => violation('duplicate', turn, `its key was given the turn ${id} as well`));
  if (end === null) return [...twice, violation('stuck', turn, `"${asked.question.text}" did not end`)];
  const says = problemOf(asked, end);
  return says === null ? twice : [...twice, violation('wrong', turn, says)];
}

/** How the model begins an answer that it gave to another question before. */
const SAID_BEFORE = /^As said (?:\d+ times )?before: /u;

function problemOf(
  { cancelling, question }: Asked,
  { outcome, reason, answer }: NonNullable<Asked['end']>,
): string | null {
  if (cancelling === 'confirmed' && outcome !== 'cancelled') return `was cancelled, and ended ${outcome}`;
  if (outcome === 'cancelled')
    return cancelling === 'confirmed' || cancelling === 'unsure' ? null : 'ended cancelled by nobody';
  if (outcome !== 'completed' || reason !== 'answered') return `ended ${outcome}: ${reason}`;
  if (answer !== null && question.answers.includes(answer.replace(SAID_BEFORE, ''))) return null;
  return `answers "${String(answer)}" where "${question.answers[0] ?? ''}" was planted`;
}

function judgeRefusal(refusal: Refusal): readonly Violation[] {
  const { request, status, code, retryAfter } = refusal;
  if (EXPECTED_CODES.has(code)) return [];
  if (!PASSING_STATUSES.has(status)) return [violation('wrong', request, `was answered ${status} ${code}`)];
  return retryAfter ? [] : [violation('wrong', request, `was answered ${status} without Retry-After`)];
}

/** A `once` tool starts at most once for each call, and only for turns that were asked to. */
function judgeEffects({ log, effects }: Witnesses): readonly Violation[] {
  const bells = new Set(log.asked.filter(({ question }) => question.kind === 'bell').map(({ turn }) => turn));
  const rung = effects.filter(({ tool }) => tool === ONCE_TOOL);
  return [...grouped(rung, ({ call }) => call)].flatMap(([call, all]) => [
    ...(all.length === 1 ? [] : [violation('duplicate', call, `${ONCE_TOOL} ran ${all.length} times`)]),
    ...(bells.has(call.split('~')[0] ?? '')
      ? []
      : [violation('duplicate', call, `${ONCE_TOOL} ran, and no producer asked for it`)]),
  ]);
}

export interface RepeatedCall {
  readonly call: SimCall;
  /** The call with the same request before it. */
  readonly before: SimCall;
  /** Faults that may have hit the one before: each accounts for one repeat of a request. */
  readonly faults: number;
}

/** Requests the model was sent more than once. */
export function repeatedCalls({
  calls,
  faults,
}: Pick<Witnesses, 'calls' | 'faults'>): readonly RepeatedCall[] {
  const repeating = faults.filter(({ repeatsCalls }) => repeatsCalls);
  const found: RepeatedCall[] = [];
  for (const same of grouped(calls, ({ requestDigest }) => requestDigest).values()) {
    const used = new Set<Fault>();
    for (const [index, call] of same.entries()) {
      const before = same[index - 1];
      if (before === undefined) continue;
      const hits = repeating.filter((fault) => !used.has(fault) && overlap(fault, before.at, call.at));
      const [first] = hits;
      if (first !== undefined) used.add(first);
      found.push({ call, before, faults: hits.length });
    }
  }
  return found;
}

function grouped<T>(list: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of list) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

export function overlap(
  { fromMs, toMs }: Pick<Fault, 'fromMs' | 'toMs'>,
  sinceMs: number,
  untilMs: number,
): boolean {
  return sinceMs <= toMs && fromMs <= untilMs;
}

export function violation(verdict: Violation['verdict'], about: string, says: string): Violation {
  return { verdict, about, says };
}
