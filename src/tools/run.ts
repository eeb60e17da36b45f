/**
 * Runs one tool call to one closed outcome. Nothing a tool does escapes: a throw becomes a result the model
 * can read, and a tool that ignores its signal is left behind when its time is up or the call is aborted.
 */
import type { Clock } from '../ledger/clock.ts';
import type { Json } from '../ledger/json.ts';
import type { ParsedArgs, Tool, ToolContext, ToolOutput } from './contract.ts';
import { MAX_TOOL_TIMEOUT_MS } from './define.ts';
import { safeMessage } from './safe-message.ts';

export type ToolOutcome =
  | { readonly kind: 'done'; readonly output: ToolOutput }
  /** To be run again after so long; the output names what it waits for. */
  | { readonly kind: 'pending'; readonly delayMs: number; readonly output: ToolOutput }
  | { readonly kind: 'invalid_args'; readonly output: ToolOutput }
  | { readonly kind: 'timeout'; readonly output: ToolOutput }
  | { readonly kind: 'aborted' };

/** Never rejects. `aborted` follows `context.signal`; the tool itself sees a signal that also ends at its timeout. */
export async function runTool(
  tool: Tool,
  args: Json,
  context: ToolContext,
  clock: Pick<Clock, 'after'>,
): Promise<ToolOutcome> {
  if (context.signal.aborted) return { kind: 'aborted' };
  const parsed = parse(tool, args, context.root);
  if (!parsed.ok) return { kind: 'invalid_args', output: failure(parsed.message) };

  const stop = new AbortController();
  const stopped = new Promise<ToolOutcome>((resolve) => {
    const onStop = () => resolve(context.signal.aborted ? { kind: 'aborted' } : timedOut(tool, args));
    stop.signal.addEventListener('abort', onStop, { once: true });
  });
  const onAbort = () => stop.abort(context.signal.reason);
  context.signal.addEventListener('abort', onAbort, { once: true });
  const onTimeout = () => stop.abort(new DOMException('The tool took too long.', 'TimeoutError'));
  const stopTimer = clock.after(Math.min(tool.timeoutMs, MAX_TOOL_TIMEOUT_MS), onTimeout);
  try {
    return await Promise.race([stopped, perform(tool, parsed.args, { ...context, signal: stop.signal })]);
  } finally {
    stopTimer();
    context.signal.removeEventListener('abort', onAbort);
  }
}

function parse(tool: Tool, args: Json, root: string): ParsedArgs {
  try {
    return tool.parse(args);
  } catch (error) {
    return { ok: false, message: `${tool.name} cannot read these arguments: ${safeMessage(error, root)}` };
  }
}

async function perform(tool: Tool, args: Json, context: ToolContext): Promise<ToolOutcome> {
  try {
    const output: unknown = await tool.run(args, context);
    if (isOutput(output)) return outcomeOf(output);
    return { kind: 'done', output: failure(`${tool.name} failed: it returned no text.`) };
  } catch (error) {
    const reason = safeMessage(error, context.root);
    return { kind: 'done', output: failure(`${tool.name} failed: ${reason}`) };
  }
}

function outcomeOf(output: ToolOutput): ToolOutcome {
  const { againAfterMs: delayMs } = output;
  return delayMs === undefined ? { kind: 'done', output } : { kind: 'pending', delayMs, output };
}

/** The type says so already, but tools are also written in JavaScript. */
function isOutput(output: unknown): output is ToolOutput {
  if (typeof output !== 'object' || output === null) return false;
  const { content, isError } = output as Record<string, unknown>;
  return typeof content === 'string' && typeof isError === 'boolean';
}

function timedOut(tool: Tool, args: Json): ToolOutcome {
  const doubt =
    tool.traitsOf(args).effect === 'read'
      ? ''
      : ' It may have taken effect all the same: check before calling it again.';
  return {
    kind: 'timeout',
    output: failure(`${tool.name} did not finish within ${tool.timeoutMs} ms.${doubt}`),
  };
}

function failure(content: string): ToolOutput {
  return { content, isError: true };
}
