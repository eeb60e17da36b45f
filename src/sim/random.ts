/** Randomness as a function: the same seed and words give the same number, whatever was drawn before. */

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const RANGE = 2 ** 32;

/** A number in [0, 1). */
export function draw(seed: number, ...words: readonly (string | number)[]): number {
  let state = FNV_OFFSET ^ Math.imul(seed | 0, 0x9e3779b1);
  for (const word of words) {
    const text = `${word}\u0000`;
    for (let index = 0; index < text.length; index += 1) {
      state = Math.imul(state ^ text.charCodeAt(index), FNV_PRIME);
    }
  }
  return finish(state) / RANGE;
}

/** FNV alone leaves neighbouring words with neighbouring numbers; this spreads them. */
function finish(state: number): number {
  let mixed = state ^ (state >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
