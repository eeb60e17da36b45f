/** Reads the actions of a transition as what they ask for. XState executes nothing here. */
import type { Json } from '../ledger/json.ts';
import type { AnswerParams, CloseParams, RecordParams, StateParams } from '../machines/turn-context.ts';

export type Effect =
  | { readonly kind: 'spawn'; readonly child: string; readonly src: string; readonly input: Json }
  | { readonly kind: 'stop'; readonly child: string }
  | { readonly kind: 'timer'; readonly timer: string; readonly event: Json; readonly delayMs: number }
  | { readonly kind: 'clear-timer'; readonly timer: string }
  | { readonly kind: 'record'; readonly draft: RecordParams }
  | { readonly kind: 'answer'; readonly params: AnswerParams }
  | { readonly kind: 'state'; readonly params: StateParams }
  | { readonly kind: 'close'; readonly params: CloseParams };

/** The part of an XState action object that the interpreter reads. */
export interface ActionData {
  readonly type: string;
  readonly params?: unknown;
}

/** @throws Error for an action the runtime has no meaning for: a defect of the machine, caught by its tests. */
export function readEffects(actions: readonly ActionData[]): readonly Effect[] {
  return actions
    .map(readEffect)
    .filter((effect) => effect.kind !== 'answer' || effect.params.calls.length > 0);
}

function readEffect(action: ActionData): Effect {
  const params = (action.params ?? {}) as Record<string, unknown>;
  switch (action.type) {
    case 'xstate.spawnChild':
      return {
        kind: 'spawn',
        child: String(params.id),
        src: String(params.src),
        input: (params.input ?? null) as Json,
      };
    case 'xstate.stopChild':
      return { kind: 'stop', child: childId(action.params) };
    case 'xstate.raise':
      return {
        kind: 'timer',
        timer: String(params.id),
        event: params.event as Json,
        delayMs: Number(params.delay),
      };
    case 'xstate.cancel':
      return { kind: 'clear-timer', timer: String(params.sendId) };
    case 'record':
      return { kind: 'record', draft: action.params as RecordParams };
    case 'answer':
      return { kind: 'answer', params: action.params as AnswerParams };
    case 'state':
      return { kind: 'state', params: action.params as StateParams };
    case 'close':
      return { kind: 'close', params: action.params as CloseParams };
    default:
      throw new Error(`the runtime has no effect for the action "${action.type}"`);
  }
}

function childId(params: unknown): string {
  if (typeof params === 'object' && params !== null && 'id' in params) return String(params.id);
  return String(params);
}
