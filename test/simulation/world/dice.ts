/** Seeded choices. Each stream of draws has a name, so that more draws of one kind leave the others as they were. */
import { draw } from '../../../src/sim/random.ts';

export class Dice {
  readonly #seed: number;
  readonly #stream: string;
  #draws = 0;

  constructor(seed: number, stream: string) {
    this.#seed = seed;
    this.#stream = stream;
  }

  /** In [0, 1). */
  next(): number {
    this.#draws += 1;
    return draw(this.#seed, this.#stream, this.#draws);
  }

  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability;
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  /** A whole number, both ends included. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<T>(choices: readonly T[]): T {
    const chosen = choices[this.whole(0, choices.length - 1)];
    if (choices.length === 0) throw new RangeError('nothing to choose from');
    return chosen as T;
  }

  /** A choice by weight. */
  weighed<T>(choices: readonly (readonly [T, number])[]): T {
    let left = this.next() * choices.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [choice, weight] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    return this.pick(choices)[0];
  }
}
