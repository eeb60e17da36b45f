/**
 * Calls that fail and can be corrected: how long a row of failing batches is, and what helps the next one.
 *
 * A batch, the calls of one step, is
 * * failing when at least one repairable call failed and none did anything else: it counts;
 * * clean when a call succeeded and no repairable one failed: it ends the row;
 * * neither otherwise: mixed, withheld, not admitted, or failed beyond repair. It is passed over.
 */

import { oneLine } from '../context/one-line.ts';
import type { ToolDefinition } from '../context/request.ts';
import type { BodyOf, ToolStatus } from '../ledger/kinds.ts';
import { type StepView, type TurnView, toolCalls } from '../ledger/view.ts';

/** A longer schema costs more than a model gains from it. */
const MAX_SCHEMA_CHARS = 4_000;
/** A closing statement quotes an error in a line. */
const MAX_ERROR_CHARS = 320;
const HINT_START = '\nTo repair: ';

const REPAIRABLE: ReadonlySet<ToolStatus> = new Set<ToolStatus>([
  'error',
  'invalid_args',
  'unknown_tool',
  'timeout',
]);
/** Calls that were never made say nothing of the tool. */
const NEUTRAL: ReadonlySet<ToolStatus> = new Set<ToolStatus>(['withheld', 'too_many_calls']);

type Result = BodyOf<'tool-result'>;

/** Failing batches in a row at the end of the turn. */
export function failingBatches(turn: TurnView, isRepairable: (toolName: string) => boolean): number {
  let row = 0;
  for (const step of turn.steps.toReversed()) {
    const results = resultsOf(step).filter(({ status }) => !NEUTRAL.has(status));
    const failed = results.filter(({ name, status }) => REPAIRABLE.has(status) && isRepairable(name));
    const others = results.filter(({ name, status }) => !REPAIRABLE.has(status) && isRepairable(name));
    if (failed.length === 0 && results.some(({ status }) => !REPAIRABLE.has(status))) return row;
    if (failed.length > 0 && others.length === 0) row += 1;
  }
  return row;
}

/**
 * The error, and behind it a line that says what to do. `tool` is null where there is none of that name; `again`
 * shows the schema of a tool whose last batch failed too. Content of any other status is left as it is.
 */
export function withRepairHint(given: {
  readonly content: string;
  readonly status: ToolStatus;
  readonly tool: ToolDefinition | null;
  readonly again: boolean;
}): string {
  const { content, status, tool, again } = given;
  if (!REPAIRABLE.has(status)) return content;
  const hint = `${content.trimEnd()}${HINT_START}${adviceOf(status, tool)}`;
  return again && tool !== null ? `${hint}\n${schemaOf(tool)}` : hint;
}

/** Of the last batch in which something failed; `error` is one line of at most 320 characters. */
export function repairSummary(turn: TurnView): {
  readonly tools: readonly string[];
  readonly error: string;
} {
  for (const step of turn.steps.toReversed()) {
    const failed = resultsOf(step).filter(({ status }) => REPAIRABLE.has(status));
    const [first] = failed;
    if (first !== undefined)
      return { tools: [...new Set(failed.map(({ name }) => name))], error: errorOf(first) };
  }
  return { tools: [], error: '' };
}

/** In the order of the calls. */
function resultsOf(step: StepView): readonly Result[] {
  return toolCalls(step.content).flatMap((_, index) => step.results.get(index) ?? []);
}

function adviceOf(status: ToolStatus, tool: ToolDefinition | null): string {
  if (tool === null) return 'there is no tool of this name; call one of the tools you have.';
  if (status === 'invalid_args') return `correct the arguments and call ${tool.name} again.`;
  if (status === 'timeout') return `ask ${tool.name} for less, or go another way.`;
  return `change what the error names and call ${tool.name} again, or go another way.`;
}

function schemaOf({ name, inputSchema }: ToolDefinition): string {
  const schema = jsonOf(inputSchema);
  if (schema !== null && schema.length <= MAX_SCHEMA_CHARS) return `The arguments of ${name}: ${schema}`;
  const { properties } = inputSchema;
  const members = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
  return clipped(`The arguments of ${name} are: ${members.join(', ')}`, MAX_SCHEMA_CHARS);
}

/** null for a schema that nests too deep to write. */
function jsonOf(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}

function errorOf({ content }: Result): string {
  const hint = content.lastIndexOf(HINT_START);
  return clipped(oneLine(hint === -1 ? content : content.slice(0, hint)), MAX_ERROR_CHARS);
}

function clipped(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars - 1).toWellFormed()}…`;
}
