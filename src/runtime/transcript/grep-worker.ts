/**
 * A thread of its own for each search. One that is in the middle of a match can only be stopped by ending it, so a
 * thread shared by searches could not be; and nothing that one tenant's search read is left for the next. Starting
 * it costs a tenth of a second, which a search of the log has.
 */
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { type ErrorCode, TurnwrightError } from '../../ledger/errors.ts';
import type { GrepAsked, TurnPlace, TurnText } from './contract.ts';
import type { TurnFound } from './search-turn.ts';

/**
 * What the thread makes and drops again is looked through early: by V8's own limits it piles up to a hundred megabytes.
 * The other limit is there for one turn of any length.
 */
const HEAP = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 1_024 } as const;

export type GrepSetup = Pick<GrepAsked, 'pattern' | 'items' | 'address'>;

export interface GrepWork {
  readonly turn: TurnText | TurnPlace;
  /** Hits that are still wanted. */
  readonly room: number;
}

/** The records could not be read at all: storage is away, for example. */
export interface SearchFailed {
  readonly kind: 'failed';
  readonly code: ErrorCode;
  readonly message: string;
}

export type PatternSaid = { readonly ok: true } | { readonly ok: false; readonly message: string };

export interface GrepWorker {
  readonly pattern: Promise<PatternSaid>;
  /** One turn at a time. @throws TurnwrightError where its records could not be read at all. */
  search(work: GrepWork): Promise<TurnFound>;
  /** Ends the thread, whatever it does, and settles when it has ended. */
  stop(): Promise<void>;
}

interface Waiting {
  readonly resolve: (said: unknown) => void;
  readonly reject: (ended: TurnwrightError) => void;
}

export function startGrepWorker(setup: GrepSetup): GrepWorker {
  const worker = startThread(setup);
  let waiting: Waiting | null = null;
  let ended: TurnwrightError | null = null;
  const end = (cause?: unknown): void => {
    ended ??= endedEarly(cause);
    waiting?.reject(ended);
  };
  worker.on('message', (said) => waiting?.resolve(said));
  worker.once('error', end);
  worker.once('exit', () => end());
  const next = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      waiting = { resolve, reject };
      if (ended !== null) reject(ended);
    });
  return {
    pattern: next() as Promise<PatternSaid>,
    search: async (work) => {
      const found = next() as Promise<TurnFound | SearchFailed>;
      worker.postMessage(work);
      const said = await found;
      if (said.kind === 'failed') throw new TurnwrightError(said.code, said.message);
      return said;
    },
    stop: async () => {
      await worker.terminate();
    },
  };
}

function startThread(workerData: GrepSetup): Worker {
  const options: WorkerOptions = {
    workerData,
    resourceLimits: HEAP,
  };
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL('./grep-thread.js', import.meta.url), options);
  }
  // From source: the loader a process was started with does not reach into its threads, so the thread loads its own.
  const loader = import.meta.resolve('tsx/esm/api');
  const script = new URL('./grep-thread.ts', import.meta.url);
  const start = `import { register } from ${JSON.stringify(loader)}; register(); await import(${JSON.stringify(script.href)});`;
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(start)}`), {
    ...options,
    execArgv: [],
  });
}

function endedEarly(cause?: unknown): TurnwrightError {
  const message = 'The thread that searched the transcript ended before it was done; search again.';
  return new TurnwrightError('internal', message, { cause });
}
