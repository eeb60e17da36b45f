/**
 * Calls of the tool `context`, answered where their batch is settled: a survey of what the requests carry, or a span of
 * it that leaves. An edit lands at once, and what is answered is how the context stands after it.
 */
import { readContextCall } from '../context/evict/context-call.ts';
import type { Eviction } from '../context/evict/contract.ts';
import { resolveSpan } from '../context/evict/resolve.ts';
import { surveyText } from '../context/evict/survey.ts';
import type { Json } from '../ledger/json.ts';
import type { BodyOf, ToolStatus } from '../ledger/kinds.ts';
import { type TurnView, toolCalls } from '../ledger/view.ts';
import type { AnswerParams } from '../machines/turn-context.ts';
import { CONTEXT } from '../tools/surface.ts';
import { type HeadItems, measureOf } from './head-items.ts';

export interface ContextCallGiven {
  /** As they stood before this commit. */
  readonly items: HeadItems;
  readonly view: TurnView;
  /** What this commit evicts already. */
  readonly made: readonly (Eviction & { readonly seq: number })[];
  readonly leg: string;
}

export interface ContextAnswer {
  readonly content: string;
  readonly status: ToolStatus;
  readonly evicted: BodyOf<'evicted'> | null;
}

/** Whether one of the calls reads or edits the context. */
export function editsContext({ steps }: TurnView, { step, calls, withheld }: AnswerParams): boolean {
  const asked = toolCalls(steps.find((one) => one.step === step)?.content ?? []);
  return calls.some(
    (index) => asked[index]?.name === CONTEXT && !withheld.some((one) => one.index === index),
  );
}

export function answerContextCall(args: Json, given: ContextCallGiven): ContextAnswer {
  const call = readContextCall(args);
  if (!call.ok) return { content: call.message, status: 'invalid_args', evicted: null };
  if (call.op === 'survey') return { content: surveyOf(given, null), status: 'ok', evicted: null };
  const table = tableOf(given);
  const resolved = resolveSpan(table, call);
  if (!resolved.ok) return { content: resolved.message, status: 'error', evicted: null };
  const { span, note } = resolved;
  const evicted = { from: span.from, to: span.to, note, author: 'model' as const };
  return { content: surveyOf(given, evicted), status: 'ok', evicted };
}

function tableOf({ items, made }: ContextCallGiven): HeadItems['table'] {
  return { ...items.table, evictions: [...items.table.evictions, ...made] };
}

/** After an edit no measure stands: the next reply brings one. */
function surveyOf(given: ContextCallGiven, evicted: Eviction | null): string {
  const { items, view, made, leg } = given;
  const table = tableOf(given);
  const after = evicted === null ? table : { ...table, evictions: [...table.evictions, evicted] };
  const isEdited = evicted !== null || made.length > 0;
  const measure = measureOf(items, view, { leg, limit: view.plan?.limitTokens ?? null });
  return surveyText(after, isEdited && measure.unit === 'tokens' ? { unit: 'stale' } : measure);
}
