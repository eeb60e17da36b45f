/** Sees every line of a streamed body before the SDK does, and bounds what an SDK would have to hold of it. */

/** SDKs hold one event until it is complete; 8 MiB is far above any real one. */
export const MAX_EVENT_BYTES = 8 * 1_048_576;

export type LineVerdict =
  | { readonly type: 'pass' }
  /** The wire's terminal line: what follows is not waited for. */
  | { readonly type: 'end' }
  | { readonly type: 'fault'; readonly message: string };

export interface LineWatch {
  /** What one event is: lines up to a blank one, one line, or the whole body. */
  readonly framing: 'sse' | 'ndjson' | 'document';
  readonly see?: (line: Buffer) => LineVerdict;
}

export const PASS: LineVerdict = { type: 'pass' };
const TOO_LARGE: LineVerdict = {
  type: 'fault',
  message: `One event of the reply is larger than ${MAX_EVENT_BYTES} bytes.`,
};
const NEWLINE = 0x0a;
const RETURN = 0x0d;

export class LineScanner {
  readonly #watch: LineWatch;
  #held: Buffer[] = [];
  #eventBytes = 0;

  constructor(watch: LineWatch) {
    this.#watch = watch;
  }

  /** The first verdict that is not `pass`, over the lines this chunk completes. */
  push(chunk: Buffer): LineVerdict {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const verdict = this.#line(chunk.subarray(start, end));
      if (verdict.type !== 'pass') return verdict;
      start = end + 1;
    }
    return this.#hold(chunk.subarray(start)) ? PASS : TOO_LARGE;
  }

  /** The last line may lack its newline. */
  end(): LineVerdict {
    return this.#held.length > 0 ? this.#line(Buffer.alloc(0)) : PASS;
  }

  #line(tail: Buffer): LineVerdict {
    if (!this.#hold(tail)) return TOO_LARGE;
    const joined = this.#held.length === 1 ? (this.#held[0] ?? tail) : Buffer.concat(this.#held);
    const line = joined.at(-1) === RETURN ? joined.subarray(0, -1) : joined;
    this.#held = [];
    const { framing, see } = this.#watch;
    if (framing === 'ndjson' || (framing === 'sse' && line.length === 0)) this.#eventBytes = 0;
    return see === undefined ? PASS : see(line);
  }

  #hold(part: Buffer): boolean {
    this.#eventBytes += part.length;
    if (this.#eventBytes > MAX_EVENT_BYTES) return false;
    if (part.length > 0) this.#held.push(part);
    return true;
  }
}
