/** A terminal that remembers what was written to it. */
import { tmpdir } from 'node:os';
import { Readable } from 'node:stream';
import type { CliContext, Writer } from '../../../src/cli/context.ts';
import { runCli } from '../../../src/cli/run.ts';

export interface Run {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface TerminalOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stdin?: string;
  readonly stopped?: AbortSignal;
}

export async function runInTerminal(words: readonly string[], options: TerminalOptions = {}): Promise<Run> {
  const [stdout, stderr] = [paper(), paper()];
  const context: CliContext = {
    env: options.env ?? {},
    cwd: options.cwd ?? tmpdir(),
    stdin: Readable.from(options.stdin === undefined ? [] : [options.stdin]),
    stdout,
    stderr,
    stopped: options.stopped ?? new AbortController().signal,
  };
  const exit = await runCli(words, context);
  return { exit, stdout: stdout.text(), stderr: stderr.text() };
}

export function paper(): Writer & { text(): string } {
  let written = '';
  return {
    write: (text) => {
      written += text;
    },
    text: () => written,
  };
}

/** Fails unless the text is one JSON object on one line, and nothing else. */
export function onlyObject(text: string): Record<string, unknown> {
  if (!/^[^\n]+\n$/.test(text)) throw new Error(`this is not one line: ${JSON.stringify(text)}`);
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`this is no object: ${text}`);
  return value as Record<string, unknown>;
}
