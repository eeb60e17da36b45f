/** The simulator's public shapes: what a test or a bench may set, and what it may read back. */
import { z } from 'zod';

export const SIM_WIRES = ['openai', 'openai-responses', 'anthropic', 'ollama'] as const;
export type SimWire = (typeof SIM_WIRES)[number];

/** How the wires of OpenAI's shape word a refusal over length: each provider behind that shape has its own way. */
const OVER_LENGTH_WORDINGS = ['openai', 'google', 'openrouter', 'bedrock', 'vllm'] as const;
export type OverLengthWording = (typeof OVER_LENGTH_WORDINGS)[number];

/** Faults of models, in the order in which they are tried: of those that are drawn, the first that fits is made. */
export const SIM_HABITS = [
  'thinkingOnly',
  'staleFigure',
  'oldCard',
  'inventsSource',
  'repeatsCard',
  'badArguments',
  'writesCalls',
  'plansOnly',
  'brokenFence',
  'claimsDone',
  'ignoresFailure',
  'ungrounded',
  'repeatAnswer',
] as const;
export type SimHabit = (typeof SIM_HABITS)[number];

/** Customs in managing the context, in the order in which they are tried, before any fault. No correction ends them. */
export const CONTEXT_HABITS = ['evictsWrongly', 'evictsWhenTold', 'surveys'] as const;
export type ContextHabit = (typeof CONTEXT_HABITS)[number];

/**
 * Shares, 0 to 1, of the replies in whose place the fault or the custom could stand. A correction of the runtime ends
 * every fault for the rest of the turn, unless the model is stubborn.
 */
export interface SimHabits {
  /** Thinking and nothing else. */
  readonly thinkingOnly?: number;
  /** Answers what is asked as of now with an earlier figure: as a card where a tool for one is offered, else in prose. */
  readonly staleFigure?: number;
  /** After a look-up, shows a card of something older and unrelated. */
  readonly oldCard?: number;
  /** Shows a card with an address that stands nowhere in the request. */
  readonly inventsSource?: number;
  /** Shows the card again that it has just shown. */
  readonly repeatsCard?: number;
  /** Calls with a member of the wrong type; it is the failure of the call that corrects it. */
  readonly badArguments?: number;
  /** Writes the call as text: the name, then the arguments. */
  readonly writesCalls?: number;
  /** Ends on what it will do next. */
  readonly plansOnly?: number;
  /** Puts a card into its text whose JSON is cut. */
  readonly brokenFence?: number;
  /** Asked for a change, says that it is made. */
  readonly claimsDone?: number;
  /** Speaks as if the call that failed had worked. */
  readonly ignoresFailure?: number;
  /** After a look-up, answers in general words: none of its figures and hosts. */
  readonly ungrounded?: number;
  /** Repeats an earlier answer word for word. */
  readonly repeatAnswer?: number;
  /**
   * On a reminder that proposes an eviction, asks for it wrongly: with a misspelled member, or up to the item that is
   * still open. Refused, it asks for what was proposed.
   */
  readonly evictsWrongly?: number;
  /** Asks for the eviction that a reminder proposes, with a note in words of the request. */
  readonly evictsWhenTold?: number;
  /** Asks once a turn what its context holds. */
  readonly surveys?: number;
  /** Share of corrected replies that make the fault again. */
  readonly stubbornness?: number;
}

/** Ground truth of one simulated model. A prober or a budget is right when it finds these figures. */
export interface SimModel {
  readonly name: string;
  /** Largest prompt plus reply, in tokens. */
  readonly window: number;
  /** Largest prompt, in tokens, at which tool instructions are still followed. */
  readonly horizon: number;
  readonly tokensPerByte: number;
  readonly maxOutputTokens: number;
  readonly prefillTokensPerSecond: number;
  readonly decodeTokensPerSecond: number;
  readonly quantisation: string;
  readonly supportsImages: boolean;
  /** What it does wrong now and then; a model without habits is sound. */
  readonly habits?: SimHabits;
  /**
   * Share of calls, 0 to 1, whose decision to follow instructions is turned round: within the horizon they are not
   * followed, beyond it they are. It hangs on the call's number, so identical requests differ from each other.
   */
  readonly flipRate?: number;
  /** Tokens. A longer prompt loses its oldest messages without a word; usage tells what was read. */
  readonly silentWindow?: number;
  /** `openai` unless given. */
  readonly overLengthWording?: OverLengthWording;
  /** false: usage says nothing of the cache, which still saves its time. true unless given. */
  readonly reportsCache?: boolean;
}

const share = z.number().min(0).max(1);

const habits: z.ZodType<SimHabits> = z.strictObject(
  Object.fromEntries(
    [...SIM_HABITS, ...CONTEXT_HABITS, 'stubbornness'].map((name) => [name, share.exactOptional()]),
  ),
);

const simModel: z.ZodType<SimModel> = z.strictObject({
  name: z.string().min(1),
  window: z.int().positive(),
  horizon: z.int().positive(),
  tokensPerByte: z.number().positive(),
  maxOutputTokens: z.int().positive(),
  prefillTokensPerSecond: z.number().positive(),
  decodeTokensPerSecond: z.number().positive(),
  quantisation: z.string(),
  supportsImages: z.boolean(),
  habits: habits.exactOptional(),
  flipRate: share.exactOptional(),
  silentWindow: z.int().positive().exactOptional(),
  overLengthWording: z.enum(OVER_LENGTH_WORDINGS).exactOptional(),
  reportsCache: z.boolean().exactOptional(),
});

/** Names are unique: a request names the model it is for. */
export const simModels = z.array(simModel).superRefine((models, context) => {
  for (const [index, { name }] of models.entries()) {
    const first = models.findIndex((model) => model.name === name);
    if (first === index) continue;
    context.addIssue({ code: 'custom', path: [index, 'name'], message: `model ${first} has this name, too` });
  }
});

/** A `rate_limit` without `retryAfterMs` does not say when to come back. */
const fault = z.discriminatedUnion('name', [
  z.strictObject({ name: z.literal('rate_limit'), retryAfterMs: z.int().nonnegative().optional() }),
  z.strictObject({ name: z.literal('overloaded') }),
  z.strictObject({ name: z.literal('server_error') }),
  z.strictObject({ name: z.literal('auth') }),
  z.strictObject({ name: z.literal('over_length') }),
  z.strictObject({ name: z.literal('drop_connection') }),
  z.strictObject({ name: z.literal('hang') }),
  z.strictObject({ name: z.literal('slow'), delayMs: z.int().nonnegative() }),
  z.strictObject({ name: z.literal('cut_stream'), afterBytes: z.int().nonnegative() }),
  z.strictObject({ name: z.literal('bad_json') }),
  z.strictObject({ name: z.literal('empty') }),
  z.strictObject({ name: z.literal('malformed_tool_args') }),
  z.strictObject({ name: z.literal('unknown_finish') }),
  z.strictObject({ name: z.literal('duplicate_call_ids') }),
  z.strictObject({ name: z.literal('missing_call_ids') }),
]);

/** `fromCall` is the lowest call number `n` that matches; `count` bounds how often the rule fires. */
const faultMatch = z.strictObject({
  model: z.string().optional(),
  wire: z.enum(SIM_WIRES).optional(),
  fromCall: z.int().positive().optional(),
  count: z.int().positive().optional(),
  probability: z.number().min(0).max(1).optional(),
});

export const faultRules = z.array(z.strictObject({ match: faultMatch.optional(), fault }));

export type Fault = z.infer<typeof fault>;
export type FaultName = Fault['name'];
export type FaultRule = z.infer<typeof faultRules>[number];

export type SimOutcome = 'answered' | 'aborted' | 'rejected' | `fault:${FaultName}`;

/** One call as received. `outcome` and `status` are null while it is open. */
export interface SimCall {
  /** Counts from 1 in order of arrival. */
  readonly n: number;
  /** Arrival, in milliseconds of the simulator's clock. */
  readonly at: number;
  readonly wire: SimWire;
  readonly model: string;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  /** By which the caller groups its prompts; null where the wire has no member for it, or the caller left it out. */
  readonly sessionKey: string | null;
  /** Text of the prompt, tools and system included, as it is counted for `promptTokens`. */
  readonly promptBytes: number;
  /**
   * Bytes of it, in whole blocks from its start, that an answered call before it had at its start, too: of the same
   * session key, model and wire. What a cache held of them is `cachedTokens`.
   */
  readonly sharedBytes: number;
  /** blake3 of the canonical body, in hex; of the raw bytes when the body is no JSON. */
  readonly requestDigest: string;
  readonly state: 'open' | 'ended';
  readonly outcome: SimOutcome | null;
  /** HTTP status sent; null when none was. */
  readonly status: number | null;
}

export interface SimulatorOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /** Everything random follows from it: the same seed and requests give the same replies. */
  readonly seed: number;
  readonly models?: readonly SimModel[];
  /** `instant` (the default) answers without delay; `real` paces by the model's rates. */
  readonly speed?: 'instant' | 'real';
  /** JSON lines, one as a call arrives and one as it ends, written before anything else happens. */
  readonly callLog?: string;
  readonly faults?: readonly FaultRule[];
  /** Milliseconds; lives of cache entries and `at` follow it. Defaults to the wall clock. */
  readonly clock?: () => number;
}

export interface Simulator {
  /** `http://127.0.0.1:<port>`, without a trailing slash. */
  readonly url: string;
  /** What to print wherever its answers are shown; names the models served now. */
  readonly banner: string;
  calls(): readonly SimCall[];
  /** Replaces all rules and their counts. */
  setFaults(rules: readonly FaultRule[]): void;
  /** Replaces the served models, as a restart of their server would: caches start empty. */
  setModels(models: readonly SimModel[]): void;
  /** Cuts what is open, frees the port and the log. May be called again. */
  close(): Promise<void>;
}
