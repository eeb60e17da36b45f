/** `recall` from outside a turn: the tool that models call, over the same memory. */
import type { AcceptState, TurnPlace } from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { Json } from '../ledger/json.ts';
import type { ToolOutput } from '../tools/contract.ts';
import { runTool } from '../tools/run.ts';
import type { ToolSurface } from '../tools/surface.ts';
import type { Engine } from './engine.ts';
import { sessionMemory } from './memory.ts';
import type { TurnCache } from './turn-cache.ts';

const RECALL = 'recall';

export interface RecallDeps {
  readonly engine: Engine;
  readonly turns: TurnCache;
  readonly surface: Pick<ToolSurface, 'get'>;
}

export interface RecallRequest {
  readonly args: Json;
  /** The folder of the process, which no message shows. */
  readonly root: string;
  /** The turn that runs on the live head, by number; null while none does. */
  readonly running: number | null;
}

/** @throws TurnwrightError `invalid_request` for arguments the tool does not take, in the tool's own words. */
export async function recallFrom(
  { engine, turns, surface }: RecallDeps,
  state: AcceptState,
  { args, root, running }: RecallRequest,
): Promise<ToolOutput> {
  const tool = surface.get(RECALL);
  if (tool === undefined) throw new Error('this deployment has no recall tool');
  const { session } = state;
  const memory = sessionMemory(
    { store: engine.store, indexes: engine.indexes, turns, clock: engine.clock },
    { session, turn: placeOf(session.liveHead, running) },
  );
  const signal = new AbortController().signal;
  const outcome = await runTool(tool, args, { signal, root, idempotencyKey: '', memory }, engine.clock);
  if (outcome.kind === 'invalid_args') throw new TurnwrightError('invalid_request', outcome.output.content);
  if (outcome.kind === 'aborted') throw new Error('a recall that nothing aborts was aborted');
  return outcome.output;
}

/** What a turn calling now would stand at: turns after it have not begun. */
function placeOf(head: string, running: number | null): TurnPlace | null {
  return running === null ? null : { head, number: running, status: 'running', priority: 0 };
}
