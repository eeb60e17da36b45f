/**
 * Searches turns, oldest first, for lines that match. One turn is held at a time: the next is pulled when the one before
 * was searched. This thread only says where records stand, or passes them on, so it goes on answering; the search ends
 * by itself, at the deadline or when it is called off, and then answers with what it has.
 */
import type {
  GrepAnswer,
  GrepAsked,
  GrepHit,
  GrepLimits,
  Skipped,
  TurnPlace,
  TurnText,
  Unreadable,
} from './contract.ts';
import { type GrepWorker, startGrepWorker } from './grep-worker.ts';

/** What matches everything costs one answer; the total tells to narrow, rather than to page. */
export const MAX_HITS = 100;

const STOPPED = Symbol('stopped');

/** `source` yields turns in order of their items. @throws what `source` throws. */
export async function grepTurns(
  source: AsyncIterable<TurnText | TurnPlace>,
  asked: GrepAsked,
  limits: GrepLimits,
): Promise<GrepAnswer> {
  const tally = new Tally(asked.newest);
  if (limits.signal.aborted) return tally.cutShort();
  const stop = stopOf(limits);
  const { pattern: sought, items, address } = asked;
  const worker = startGrepWorker({ pattern: sought, items, address });
  try {
    const pattern = await stop.before(worker.pattern);
    if (pattern === STOPPED) return tally.cutShort();
    if (!pattern.ok) return { kind: 'bad_pattern', message: pattern.message };
    return await searchAll(source, worker, { asked, stop, tally });
  } finally {
    stop.release();
    await worker.stop();
  }
}

interface Searching {
  readonly asked: GrepAsked;
  readonly stop: Stop;
  readonly tally: Tally;
}

async function searchAll(
  source: AsyncIterable<TurnText | TurnPlace>,
  worker: GrepWorker,
  { asked, stop, tally }: Searching,
): Promise<GrepAnswer> {
  const turns = source[Symbol.asyncIterator]();
  let pulling = false;
  try {
    for (;;) {
      pulling = true;
      const pulled = await stop.before(turns.next());
      if (pulled === STOPPED) return tally.cutShort();
      pulling = false;
      if (pulled.done === true) return tally.complete();
      const turn = pulled.value;
      const found = await stop.before(worker.search({ turn, room: tally.room }));
      if (found === STOPPED) return tally.cutShort();
      if (found.kind === 'found') tally.add(found.hits, found.total, turn);
      else if (asked.items !== null) return found;
      else tally.skip(found.unreadable, turn);
    }
  } finally {
    const closed = Promise.resolve(turns.return?.());
    // A source that is still pulled from closes behind the pull, which nobody waits for any more.
    if (pulling) closed.catch(() => undefined);
    else await closed;
  }
}

interface Stop {
  /** Settles as `work` does, unless the search is stopped before. */
  before<T>(work: Promise<T>): Promise<T | typeof STOPPED>;
  release(): void;
}

function stopOf({ deadlineMs, clock, signal }: GrepLimits): Stop {
  let stopped = false;
  // One waits at a time. A race against one lasting promise would keep every turn that was ever pulled.
  let wake: () => void = () => undefined;
  const halt = (): void => {
    stopped = true;
    wake();
  };
  const cancel = clock.after(deadlineMs, halt);
  signal.addEventListener('abort', halt, { once: true });
  return {
    before: (work) =>
      new Promise((resolve, reject) => {
        wake = () => resolve(STOPPED);
        if (stopped) wake();
        work.then(resolve, reject);
      }),
    release: () => {
      cancel();
      signal.removeEventListener('abort', halt);
    },
  };
}

class Tally {
  readonly #hits: GrepHit[] = [];
  readonly #newest: number;
  #total = 0;
  #searchedTo = 0;
  #skipped: Skipped = { turns: 0, first: null };

  constructor(newest: number) {
    this.#newest = newest;
  }

  get room(): number {
    return MAX_HITS - this.#hits.length;
  }

  add(hits: readonly GrepHit[], total: number, { items }: Pick<TurnText, 'items'>): void {
    this.#hits.push(...hits);
    this.#total += total;
    this.#searchedTo = items.to;
  }

  skip(unreadable: Unreadable, { items }: Pick<TurnText, 'items'>): void {
    this.#skipped = { turns: this.#skipped.turns + 1, first: this.#skipped.first ?? unreadable };
    this.#searchedTo = items.to;
  }

  complete(): GrepAnswer {
    return { ...this.#found(), complete: true };
  }

  cutShort(): GrepAnswer {
    const searchedTo = { item: this.#searchedTo, of: this.#newest };
    return { ...this.#found(), complete: false, searchedTo };
  }

  #found() {
    return { kind: 'found' as const, hits: this.#hits, total: this.#total, skipped: this.#skipped };
  }
}
