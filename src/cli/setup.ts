/** What every command that runs a part of the system begins with: its configuration and its log. */
import { type Config, loadConfig } from '../app/config.ts';
import { createLogger, type Logger, secretsOf } from '../app/logger.ts';
import type { CliContext } from './context.ts';
import { UsageError } from './exit.ts';

export interface Setup {
  readonly config: Config;
  readonly logger: Logger;
}

export async function setUp(
  { env, cwd }: CliContext,
  adjust: (config: Config) => Config = (config) => config,
): Promise<Setup> {
  const config = adjust(await loadConfig({ env, cwd }));
  return { config, logger: createLogger({ level: config.logLevel, secrets: secretsOf(config, env) }) };
}

/** @throws UsageError for a process that must not make a database of its own. */
export function requireDatabase(config: Config, command: string): void {
  if (config.databaseUrl !== undefined) return;
  throw new UsageError(
    `\`turnwright ${command}\` needs DATABASE_URL, which is not set. Set it, or run everything in one process with \`turnwright up\`.`,
  );
}

/** @throws UsageError unless `text` is a whole number in the range. */
export function wholeNumber(text: string, option: string, least: number, most: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`${option} is "${text}"; allowed is a whole number from ${least} to ${most}.`);
}
