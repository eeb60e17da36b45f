/** What happened, operation by operation: a digest of all of it, and its last lines for a person. */

const KEPT_LINES = 400;
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}/gu;

interface Line {
  readonly atMs: number;
  readonly who: string;
  readonly what: string;
}

export class Trace {
  readonly #keepAll: boolean;
  readonly #names = new Map<string, string>();
  #lines: Line[] = [];
  #high = FNV_OFFSET;
  #low = FNV_PRIME;

  constructor(keepAll: boolean) {
    this.#keepAll = keepAll;
  }

  note(atMs: number, who: string, what: string): void {
    this.#lines.push({ atMs, who, what });
    if (!this.#keepAll && this.#lines.length > 2 * KEPT_LINES) this.#lines = this.#lines.slice(-KEPT_LINES);
    this.#mix(Math.round(atMs * 1_000) | 0);
    for (let index = 0; index < who.length; index += 1) this.#mix(who.charCodeAt(index));
    for (let index = 0; index < what.length; index += 1) this.#mix(what.charCodeAt(index));
  }

  /** How a person reads an id from now on. */
  name(id: string, name: string): void {
    this.#names.set(id, name);
  }

  /** Equal for two runs of one seed; any other order, time or answer gives another. */
  digest(): string {
    return [this.#high, this.#low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
  }

  lines(): readonly string[] {
    return this.#lines
      .slice(this.#keepAll ? 0 : -KEPT_LINES)
      .map(({ atMs, who, what }) => `${(atMs / 1_000).toFixed(4).padStart(10)}  ${who.padEnd(4)} ${what}`)
      .map((line) => line.replaceAll(UUID, (id) => this.#names.get(id) ?? `…${id.slice(-4)}`));
  }

  #mix(value: number): void {
    this.#high = Math.imul(this.#high ^ value, FNV_PRIME);
    this.#low = Math.imul(this.#low ^ value, 0x85ebca6b) + this.#high;
  }
}
