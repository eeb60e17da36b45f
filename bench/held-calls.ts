/** Calls that last until they are cancelled, and tell when their signal fired. */
import { once } from 'node:events';
import { z } from 'zod';
import type { Provider } from '../src/providers/contract.ts';
import type { Tool } from '../src/tools/contract.ts';
import { defineTool } from '../src/tools/define.ts';

/** The instant model's leg whose tool never ends by itself. */
export const HOLDING_LEG = 'holding';
export const HOLD_TOOL = 'hold';

export interface HeldCall {
  running(): void;
  aborted(): void;
  returned(): void;
}

export function holdTool(held: HeldCall): Tool {
  return defineTool({
    name: HOLD_TOOL,
    description: 'Runs until it is told to stop.',
    input: z.object({ part: z.number() }),
    effect: 'read',
    run: async (_, { signal }) => {
      const aborted = watched(signal, held);
      held.running();
      await aborted;
      held.returned();
      return 'It was told to stop.';
    },
  });
}

/** The provider as it is; only its first text, its abort and its return are told. */
export function heldProvider(provider: Provider, held: HeldCall): Provider {
  return {
    searchesTools: provider.searchesTools,
    embed: null,
    describe: (options) => provider.describe(options),
    call: async (request, options) => {
      let streams = false;
      void watched(options.signal, held);
      const outcome = await provider.call(request, {
        ...options,
        onDelta: (delta) => {
          if (!streams) held.running();
          streams = true;
          options.onDelta?.(delta);
        },
      });
      held.returned();
      return outcome;
    },
  };
}

async function watched(signal: AbortSignal, held: HeldCall): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
  held.aborted();
}
