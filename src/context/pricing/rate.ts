/** What a token costs: prices as people state them, and the whole numbers that are computed with. */

/** US dollars per million tokens. A missing tier is charged as input. */
export interface ListPrice {
  readonly inputPerMillion: number;
  readonly cachedInputPerMillion?: number;
  readonly cacheWritePerMillion?: number;
  readonly outputPerMillion: number;
}

/** Some models charge a request whose whole prompt has more than `aboveTokens` at other prices, all of it. */
export interface TieredPrice extends ListPrice {
  readonly longPrompt?: ListPrice & { readonly aboveTokens: number };
}

/** Whole micro-dollars per million tokens. */
export interface TierRates {
  readonly inputMicroUsdPerMillion: number;
  readonly cachedInputMicroUsdPerMillion: number;
  readonly cacheWriteMicroUsdPerMillion: number;
  readonly outputMicroUsdPerMillion: number;
}

/** `id` says whose price it is: `leg:<leg>`, `config:<model>` or `catalogue:<model>@<effectiveFrom>`. */
export interface Rate extends TierRates {
  readonly id: string;
  readonly longPrompt?: TierRates & { readonly aboveTokens: number };
}

/** A price finer than a micro-dollar per million tokens is rounded to one. Throws on a negative or endless price. */
export function rateOf(id: string, price: TieredPrice): Rate {
  const { longPrompt } = price;
  const base = { id, ...tierOf(id, price) };
  if (longPrompt === undefined) return base;
  return { ...base, longPrompt: { aboveTokens: longPrompt.aboveTokens, ...tierOf(id, longPrompt) } };
}

/** The tier that charges a request of this prompt. */
export function tierFor(rate: Rate, promptTokens: number): TierRates {
  const { longPrompt } = rate;
  return longPrompt !== undefined && promptTokens > longPrompt.aboveTokens ? longPrompt : rate;
}

function tierOf(id: string, price: ListPrice): TierRates {
  const inputMicroUsdPerMillion = microUsd(id, price.inputPerMillion);
  return {
    inputMicroUsdPerMillion,
    cachedInputMicroUsdPerMillion: microUsd(id, price.cachedInputPerMillion ?? price.inputPerMillion),
    cacheWriteMicroUsdPerMillion: microUsd(id, price.cacheWritePerMillion ?? price.inputPerMillion),
    outputMicroUsdPerMillion: microUsd(id, price.outputPerMillion),
  };
}

function microUsd(id: string, usd: number): number {
  const whole = Math.round(usd * 1_000_000);
  if (usd >= 0 && Number.isSafeInteger(whole)) return whole;
  throw new RangeError(`The price ${id} holds ${usd}: it must be US dollars, 0 or more.`);
}
