/** A turn as its records tell it. */
import type { AssistantBlock, InputBlock } from './blocks.ts';
import type { BodyOf } from './kinds.ts';
import type { Presentation } from './presentation.ts';

/** What the fold needs of a stored record; `body` is its parsed content. */
export interface RecordView {
  readonly seq: number;
  readonly kind: string;
  readonly class: string;
  readonly turnId: string | null;
  readonly body: unknown;
}

/** A prompt that a leg refused as too long. */
export type OverLength = Extract<BodyOf<'capacity-feedback'>, { reason: 'over-length' }>;

/** A span as it was resolved, with the record it stands in. */
export type EvictionView = BodyOf<'evicted'> & { readonly seq: number };

export type PressureView = BodyOf<'pressure-told'> & { readonly seq: number };

/** Tokens of a prompt that a leg reported; `seq` is the receipt's record. */
export interface MeasureView {
  readonly leg: string;
  readonly tokens: number;
  readonly seq: number;
}

export interface StepView {
  readonly item: number;
  readonly step: number;
  readonly seq: number;
  readonly content: readonly AssistantBlock[];
  readonly finish: BodyOf<'assistant-message'>['finish'];
  /** The reply at a provider that keeps it. */
  readonly kept: BodyOf<'assistant-message'>['kept'] | null;
  /** By call index; a call not answered yet has no entry. */
  readonly results: ReadonlyMap<number, BodyOf<'tool-result'>>;
  /** Set when the reply was sent back: it is discarded, the nudge stands in its place. */
  readonly nudge: BodyOf<'nudge'> | null;
}

export interface TurnView {
  readonly turnId: string;
  readonly number: number;
  /** Its prompt's; null before the turn began. */
  readonly item: number | null;
  readonly imported: boolean;
  readonly input: readonly InputBlock[];
  readonly context: Omit<BodyOf<'turn-context'>, 'item'> | null;
  readonly reading: BodyOf<'reading'> | null;
  /** The newest plan: frozen for the turn unless an over-length reply replaced it. */
  readonly plan: BodyOf<'context-plan'> | null;
  readonly rejections: readonly OverLength[];
  /** The record of the newest of them; 0 for none. */
  readonly rejectedSeq: number;
  readonly steps: readonly StepView[];
  /** Messages for the running turn, in the order they came. */
  readonly steering: readonly (readonly InputBlock[])[];
  /** Which step took up the messages up to which. */
  readonly steered: readonly BodyOf<'turn-steered'>[];
  /** What its checks found, in order. */
  readonly findings: readonly BodyOf<'finding'>[];
  /** The system's answer, where a check closed the turn: the reply of its step does not stand. */
  readonly statement: BodyOf<'statement'> | null;
  /** How the prefix grew, in order. */
  readonly growths: readonly BodyOf<'surface-grown'>[];
  /** Spans that left the requests meanwhile, in order. */
  readonly evictions: readonly EvictionView[];
  /** What providers counted of its requests, in order. */
  readonly measures: readonly MeasureView[];
  /** What the model was told of the room left, in order. */
  readonly pressures: readonly PressureView[];
  /** Cards in the order they were made. */
  readonly presentations: readonly Presentation[];
  /** The newest reset of this turn, with the record it stands in. */
  readonly reset: (BodyOf<'reset'> & { readonly seq: number }) | null;
  readonly metadata: BodyOf<'turn-accepted'>['metadata'];
  /** What the turn may cost at most; null where nobody said. */
  readonly budget: BodyOf<'turn-accepted'>['budget'] | null;
  /** What its calls were billed so far, as far as they could be priced. */
  readonly spent: { readonly microUsd: number; readonly tokens: number };
  readonly closed: BodyOf<'turn-closed'> | null;
  readonly lastSeq: number;
}
