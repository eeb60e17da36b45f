import { type Config, parseConcurrency } from '../../app/config.ts';
import { startStack } from '../../app/stack.ts';
import { isPool, POOLS, type Pool } from '../../queues/index.ts';
import type { Command } from '../command.ts';
import { EXIT, UsageError } from '../exit.ts';
import { requireDatabase, setUp } from '../setup.ts';
import { serveUntilStopped } from '../stopping.ts';

export const command: Command = {
  name: 'worker',
  summary: 'Run worker pools until stopped',
  options: {
    pools: { type: 'string', value: 'a,b', help: `pools to run; all unless given: ${POOLS.join(', ')}` },
    concurrency: { type: 'string', value: 'step=16,tool=8', help: 'jobs that run at the same time, by pool' },
  },
  run: async ({ context, output, text }) => {
    const pools = readPools(text('pools'));
    const { config, logger } = await setUp(context, (loaded) => withConcurrency(loaded, text('concurrency')));
    requireDatabase(config, 'worker');
    const stack = await startStack({ config, logger, workers: pools, api: null });
    const slots = pools.map((pool) => `${pool}=${config.pools[pool].concurrency}`);
    output.result(
      { pools: Object.fromEntries(pools.map((pool) => [pool, config.pools[pool]])) },
      () => `Working: ${slots.join(' ')}`,
    );
    await serveUntilStopped(stack, context.stopped, (line) => output.progress(line));
    return EXIT.done;
  },
};

function readPools(list: string | undefined): readonly Pool[] {
  if (list === undefined) return POOLS;
  const names = list.split(',').map((name) => name.trim());
  const pools = names.filter((name) => isPool(name));
  if (pools.length === names.length) return [...new Set(pools)];
  const unknown = names.filter((name) => !isPool(name)).map((name) => `"${name}"`);
  throw new UsageError(`--pools holds ${unknown.join(', ')}; the pools are ${POOLS.join(', ')}.`);
}

function withConcurrency(config: Config, list: string | undefined): Config {
  if (list === undefined) return config;
  return { ...config, pools: { ...config.pools, ...parseConcurrency(list, '--concurrency') } };
}
