/** What a command may touch of the process it runs in. */
import type { Environment } from '../app/config.ts';

export interface Writer {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface Reader extends AsyncIterable<Buffer | string> {
  readonly isTTY?: boolean;
}

export interface CliContext {
  readonly env: Environment;
  readonly cwd: string;
  readonly stdin: Reader & NodeJS.ReadableStream;
  readonly stdout: Writer;
  readonly stderr: Writer;
  /** Aborts when the process is asked to end: stop what runs, close what is open, then return. */
  readonly stopped: AbortSignal;
}
