/**
 * Which events of a turn were given out already. Durable events carry one whole number, their place in the
 * ledger, and only grow; live ones (`<seq>.<attempt>.<n>`) are told apart by everything they say, since two
 * calls of one step may number theirs alike. An event without an id says how things stand: it is always new.
 */

/** Live events kept for comparison: more than the server buffers of one turn. */
const MAX_LIVE = 1_000;

interface Comparable {
  readonly id: string;
  readonly type: string;
  readonly data: string;
}

export class Seen {
  readonly #live = new Set<string>();
  #durable: number;

  /** `after` is the id to go on from; '' for the beginning. */
  constructor(after: string) {
    this.#durable = after === '' ? -1 : Number.parseInt(after, 10);
  }

  /** What to send as `Last-Event-ID`; '' before anything durable came. */
  get resumeFrom(): string {
    return this.#durable < 0 ? '' : String(this.#durable);
  }

  isNew(event: Comparable): boolean {
    if (/^\d+$/.test(event.id)) {
      const seq = Number(event.id);
      if (seq <= this.#durable) return false;
      this.#durable = seq;
      return true;
    }
    if (event.id === '') return true;
    const key = `${event.id} ${event.type} ${event.data}`;
    if (this.#live.has(key)) return false;
    this.#live.add(key);
    if (this.#live.size > MAX_LIVE) this.#live.delete(this.#live.keys().next().value ?? '');
    return true;
  }
}
