/** What a probe carries from event to event, and what each of its calls is asked and answers. Pure. */
import type { CacheSample } from '../context/capacity/cache-rung.ts';
import {
  type LadderResult,
  type LadderState,
  ladderResult,
  nextSample,
  openLadder,
  type SampleAnswer,
  takeSample,
} from '../context/capacity/ladder.ts';
import { probeChild } from '../ledger/ids.ts';

export interface ProbeInput {
  readonly leg: string;
  /** The leg the ladder runs on, the same or a cheaper one of its family; null asks the provider what the model is, and no more. */
  readonly ladderLeg: string | null;
  /** Samples of one rung at most; odd. */
  readonly samples: number;
  /** Time from one probe of a model to the next, of which this much is left. */
  readonly delayMs: number;
  /** An operator asked for it: the time since the last one does not matter. */
  readonly forced: boolean;
  /** After so much time in calls, or cost where the leg is priced, the ladder ends with what it has confirmed. */
  readonly maxMs: number;
  readonly maxMicroUsd: number;
}

/** What the provider says of the model; null where it says nothing. */
export interface ProbedMetadata {
  readonly declaredWindow: number | null;
  readonly maxOutputTokens: number | null;
  readonly quantisation: string | null;
}

export interface ProbeContext extends ProbeInput {
  readonly metadata: ProbedMetadata | null;
  readonly ladder: LadderState | null;
  /** Tokens per byte of the probe's own requests, as last reported. */
  readonly tokensPerByte: number;
  readonly prefix: { readonly digest: string; readonly tokens: number } | null;
  readonly cache: readonly CacheSample[];
  readonly signals: readonly string[];
  /** Calls begun. */
  readonly calls: number;
  readonly spentMs: number;
  readonly spentMicroUsd: number;
  /** Another probe holds the model, or this one was told to go. */
  readonly displaced: boolean;
}

export type ProbeCall =
  | { readonly kind: 'metadata'; readonly leg: string; readonly spacing: 'spaced' | 'forced' }
  | { readonly kind: 'prefix'; readonly leg: string }
  | {
      readonly kind: 'sample';
      readonly leg: string;
      readonly targetTokens: number;
      readonly tokensPerByte: number;
    }
  | { readonly kind: 'cache'; readonly leg: string; readonly tokensPerByte: number }
  | {
      readonly kind: 'store';
      readonly metadata: ProbedMetadata;
      readonly ladder: LadderResult | null;
      readonly prefix: ProbeContext['prefix'];
      readonly tokensPerByte: number;
      readonly cache: readonly CacheSample[];
      readonly signals: readonly string[];
      readonly ladderLeg: string | null;
    };
/** Every call names the leg whose model is held while it runs. */
export type ProbeCallInput = ProbeCall & { readonly held: string };

/** What a call came to. `displaced`: it was not made, since another probe holds the model. */
export type ProbeOutput =
  | { readonly kind: 'displaced' }
  | {
      readonly kind: 'metadata';
      readonly metadata: ProbedMetadata;
      /** The window the ladder climbs in; null when nobody states one. */
      readonly window: number | null;
      readonly tokensPerByte: number;
      readonly prefillTokensPerSecond: number;
    }
  | (Spent & {
      readonly kind: 'prefix';
      readonly digest: string;
      readonly tokens: number;
      readonly tokensPerByte: number;
    })
  | (Spent & {
      readonly kind: 'sample';
      readonly verdict: SampleAnswer['verdict'];
      readonly promptTokens: number | null;
      /** As this request's usage says; null where it says nothing. */
      readonly tokensPerByte: number | null;
      readonly signal: string | null;
    })
  | (Spent & { readonly kind: 'cache'; readonly seen: CacheSample })
  | { readonly kind: 'stored' };

interface Spent {
  readonly tookMs: number;
  readonly microUsd: number;
}

export type ProbeEvent =
  | { readonly type: 'probe.begin' }
  | { readonly type: 'probe.interrupt' }
  | { readonly type: `xstate.done.actor.${string}`; readonly output: unknown }
  | { readonly type: `xstate.error.actor.${string}`; readonly error: unknown };

const MOST_SIGNALS = 6;

export function freshProbe(input: ProbeInput): ProbeContext {
  return {
    ...input,
    metadata: null,
    ladder: null,
    tokensPerByte: 0,
    prefix: null,
    cache: [],
    signals: [],
    calls: 0,
    spentMs: 0,
    spentMicroUsd: 0,
    displaced: false,
  };
}

function outputOf(event: ProbeEvent): ProbeOutput | null {
  return 'output' in event ? (event.output as ProbeOutput) : null;
}

/** The context once a call's result is taken in. A sample that came to nothing counts as failed: the ladder ends there. */
export function taken(context: ProbeContext, event: ProbeEvent): ProbeContext {
  const output = outputOf(event);
  if (output === null) return failed(context);
  switch (output.kind) {
    case 'displaced':
      return { ...context, displaced: true };
    case 'metadata': {
      const { metadata, window, tokensPerByte, prefillTokensPerSecond } = output;
      const { samples } = context;
      return {
        ...context,
        metadata,
        tokensPerByte,
        ladder: openLadder({ window, samples, prefillTokensPerSecond }),
      };
    }
    case 'prefix': {
      const { digest, tokens, tokensPerByte } = output;
      return { ...spent(context, output), prefix: { digest, tokens }, tokensPerByte };
    }
    case 'sample': {
      const { verdict, promptTokens, tokensPerByte, signal } = output;
      const signals =
        signal === null || context.signals.includes(signal) ? context.signals : [...context.signals, signal];
      const ladder = context.ladder === null ? null : takeSample(context.ladder, { verdict, promptTokens });
      // Samples of one rung are one request: another ratio waits for the next rung.
      const isDecided = ladder?.rungs.length !== context.ladder?.rungs.length;
      return {
        ...spent(context, output),
        ladder,
        tokensPerByte: isDecided ? (tokensPerByte ?? context.tokensPerByte) : context.tokensPerByte,
        signals: signals.slice(0, MOST_SIGNALS),
      };
    }
    case 'cache':
      return { ...spent(context, output), cache: [...context.cache, output.seen] };
    case 'stored':
      return context;
  }
}

function failed(context: ProbeContext): ProbeContext {
  const { ladder } = context;
  if (ladder === null || nextSample(ladder) === null) return context;
  return { ...context, ladder: takeSample(ladder, { verdict: 'failed', promptTokens: null }) };
}

function spent(context: ProbeContext, { tookMs, microUsd }: Spent): ProbeContext {
  const { spentMs, spentMicroUsd } = context;
  return { ...context, spentMs: spentMs + tookMs, spentMicroUsd: spentMicroUsd + microUsd };
}

/** The next call of a state, with its child's id. */
export function callOf(
  context: ProbeContext,
  kind: ProbeCall['kind'],
): { id: string; input: ProbeCallInput } {
  return { id: probeChild(context.calls), input: { ...asked(context, kind), held: context.leg } };
}

function asked(context: ProbeContext, kind: ProbeCall['kind']): ProbeCall {
  const { leg, ladder, tokensPerByte, forced, prefix, cache, signals } = context;
  const ladderLeg = context.ladderLeg ?? leg;
  switch (kind) {
    case 'metadata':
      return { kind, leg, spacing: forced ? 'forced' : 'spaced' };
    case 'prefix':
      return { kind, leg: ladderLeg };
    case 'sample': {
      const targetTokens = ladder === null ? 0 : (nextSample(ladder)?.targetTokens ?? 0);
      return { kind, leg: ladderLeg, targetTokens, tokensPerByte };
    }
    case 'cache':
      return { kind, leg: ladderLeg, tokensPerByte };
    case 'store': {
      const metadata = context.metadata ?? {
        declaredWindow: null,
        maxOutputTokens: null,
        quantisation: null,
      };
      const result = context.ladderLeg === null || ladder === null ? null : ladderResult(ladder);
      return {
        kind,
        metadata,
        ladder: result,
        prefix,
        tokensPerByte,
        cache,
        signals,
        ladderLeg: context.ladderLeg,
      };
    }
  }
}
