/** The configuration of a process under measurement: the bench's own, and that of the workers it starts. */
import { type Config, loadConfig } from '../src/app/config.ts';
import type { Leg } from '../src/providers/contract.ts';
import type { Tool } from '../src/tools/contract.ts';

export interface BenchSettings {
  readonly databaseUrl: string;
  /** null: the queue lives in the database. */
  readonly redisUrl: string | null;
  readonly queueNamespace: string;
  /** The folder that tools see. */
  readonly root: string;
  /** Of the instant model, which is sized by it and never refuses. */
  readonly windowTokens: number;
}

export const INSTANT_LEG = 'instant';
const INSTANT_OUTPUT_TOKENS = 1_000;
/** Longer than any turn takes here, so that a turn which hangs ends the bench instead of outlasting it. */
export const TURN_LIMIT_MS = 300_000;

export async function benchConfig(
  { databaseUrl, redisUrl, queueNamespace, root, windowTokens }: BenchSettings,
  tools: readonly Tool[],
  legs: readonly Leg[] = [],
): Promise<Config & { readonly databaseUrl: string }> {
  const instant: Leg = {
    name: INSTANT_LEG,
    provider: 'openai',
    model: INSTANT_LEG,
    window: windowTokens,
    maxOutputTokens: INSTANT_OUTPUT_TOKENS,
    timeoutMs: TURN_LIMIT_MS,
  };
  return {
    ...(await loadConfig({ env: {}, cwd: root })),
    databaseUrl,
    ...(redisUrl === null ? {} : { redisUrl }),
    queueNamespace,
    root,
    logLevel: 'error',
    legs: [instant, ...legs],
    tools,
  };
}
