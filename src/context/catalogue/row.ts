/** What the catalogue knows of a model. Every figure stands with the pages that state it. */
import type { TieredPrice } from '../pricing/rate.ts';

export interface Sourced {
  /** Pages that together state the row's figures. */
  readonly sources: readonly [string, ...string[]];
  /** The day they were read, YYYY-MM-DD. */
  readonly lookedUp: string;
}

export interface CatalogueModel extends Sourced {
  readonly family: 'anthropic' | 'openai' | 'google' | 'deepseek' | 'meta' | 'mistral' | 'qwen';
  /** As the vendor's API spells it, without the date of a snapshot. */
  readonly model: string;
  readonly aliases?: readonly string[];
  /** Prompt and reply together, in tokens. A page that says `1M` is taken at its word: 1,000,000. */
  readonly window: number;
  /** Largest reply, in tokens; null where the pages do not say. */
  readonly maxOutput: number | null;
  /** Oldest first; none where no page with every figure was found. */
  readonly prices: readonly DatedPrice[];
}

/** The vendor's list price of standard processing; cache writes at their shortest lifetime. */
export interface DatedPrice extends Sourced {
  /** YYYY-MM-DD: the day it took force, or the day it was read where no page names that day. */
  readonly effectiveFrom: string;
  /** null for a change that is announced without every figure. */
  readonly price: TieredPrice | null;
}
