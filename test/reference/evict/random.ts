/** Draws that a seed decides for ever. */
export interface Random {
  /** A whole number from 0 to below `limit`. */
  readonly below: (limit: number) => number;
  /** undefined from an empty list. */
  readonly pick: <T>(list: readonly T[]) => T | undefined;
}

/** A 32-bit counter stepped by the golden ratio and mixed: splitmix32. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const below = (limit: number) => {
    state = (state + 0x9e37_79b9) >>> 0;
    const once = Math.imul(state ^ (state >>> 16), 0x21f0_aaad);
    const twice = Math.imul(once ^ (once >>> 15), 0x735a_2d97);
    return Math.floor((((twice ^ (twice >>> 15)) >>> 0) / 2 ** 32) * limit);
  };
  return { below, pick: (list) => list[below(list.length)] };
}
