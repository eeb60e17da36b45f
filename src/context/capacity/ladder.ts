/**
 * The search for the largest prompt at which a model still follows an instruction: sizes double until one fails, then
 * the gap is halved until it is small. The state is JSON, and holds only what was asked and answered; where the search
 * stands is read off it.
 */
import type { Rung, RungVerdict } from './profile.ts';

const FIRST_RUNG_TOKENS = 4_000;
/** A prompt at the very window leaves no room for a reply, or for a ratio that is a little off. */
const WINDOW_SHARE = 0.9;
/** Where nobody states a window: more than any model takes, so that the search ends where nothing ever fails. */
const LARGEST_RUNG_TOKENS = 2_048_000;
/** Below it a request is little more than its instruction: a model that misses that follows nothing. */
const SMALLEST_RUNG_TOKENS = 1_000;
/** The search is over when its bounds are closer than this share of the upper one. */
const CLOSE_SHARE = 0.25;
/** A provider that counts less than this share of what was sent has dropped the rest. */
const READ_SHARE = 0.75;
/** A rung that takes longer to read would hold a local model from its user. */
const LONGEST_PREFILL_SECONDS = 45;

export interface LadderState {
  readonly window: number | null;
  readonly samples: number;
  readonly prefillTokensPerSecond: number;
  /** Decided, in the order in which they were asked. */
  readonly rungs: readonly Rung[];
  /** Of the rung that is being asked. */
  readonly votes: { readonly followed: number; readonly missed: number };
  /** Least of the sizes that refusals and silent truncation name. */
  readonly verifiedWindow: number | null;
}

export interface LadderOptions {
  /** The declared window; null where it is only assumed. */
  readonly window: number | null;
  /** Odd: the requests a rung is planned with. */
  readonly samples: number;
  /** 0 when it was not measured. */
  readonly prefillTokensPerSecond: number;
}

export function openLadder({ window, samples, prefillTokensPerSecond }: LadderOptions): LadderState {
  const votes = { followed: 0, missed: 0 };
  return { window, samples, prefillTokensPerSecond, rungs: [], votes, verifiedWindow: null };
}

/** The request to send next; `rung` and `sample` count from 1. */
export interface LadderSample {
  readonly targetTokens: number;
  readonly rung: number;
  readonly sample: number;
  readonly phase: 'climbing' | 'bisecting';
}

/** null when the search is over. */
export function nextSample(state: LadderState): LadderSample | null {
  const targetTokens = nextTarget(state);
  if (targetTokens === null || isTooSlow(state, targetTokens)) return null;
  const { rungs, votes } = state;
  return {
    targetTokens,
    rung: rungs.length + 1,
    sample: votes.followed + votes.missed + 1,
    phase: upperBound(rungs) === null ? 'climbing' : 'bisecting',
  };
}

/** `failed`: no answer, after the caller's own retries. */
export interface SampleAnswer {
  readonly verdict: 'followed' | 'not-followed' | 'rejected' | 'failed';
  /** All prompt tokens the provider reports, whatever the model said; null where it reports none. */
  readonly promptTokens: number | null;
}

/** @throws RangeError when the search is over. */
export function takeSample(state: LadderState, { verdict, promptTokens }: SampleAnswer): LadderState {
  const asked = nextSample(state);
  if (asked === null) throw new RangeError('the ladder is over: no answer is awaited');
  const { targetTokens, sample: samples } = asked;
  const decided = (told: RungVerdict, agreed: number, window: number | null): LadderState => ({
    ...state,
    rungs: [...state.rungs, { kind: 'horizon', targetTokens, verdict: told, samples, agreed }],
    votes: { followed: 0, missed: 0 },
    verifiedWindow: lesser(state.verifiedWindow, window),
  });
  if (verdict === 'failed') return decided('failed', 1, null);
  if (verdict === 'rejected') return decided('rejected', 1, Math.max(1, targetTokens - 1));
  if (isTruncated(state, targetTokens, promptTokens))
    return decided('truncated', 1, promptTokens === null ? null : Math.max(1, promptTokens));
  const votes = voted(state.votes, verdict);
  const { followed, missed } = votes;
  if (!isDecided(votes, state.samples)) return { ...state, votes };
  return followed > missed ? decided('followed', followed, null) : decided('not-followed', missed, null);
}

/**
 * Ollama drops the head of a prompt over its context and answers 200, with what it kept as the count:
 * https://github.com/ollama/ollama/issues/17427. Where no window is stated either, only a count shows that a prompt
 * was read.
 */
function isTruncated({ window }: LadderState, targetTokens: number, promptTokens: number | null): boolean {
  return promptTokens === null ? window === null : promptTokens < READ_SHARE * targetTokens;
}

function voted({ followed, missed }: LadderState['votes'], verdict: SampleAnswer['verdict']) {
  return verdict === 'followed' ? { followed: followed + 1, missed } : { followed, missed: missed + 1 };
}

/**
 * Over when one side leads by a majority of `samples`: 2 of 3 planned. A split is asked on, up to 2 × samples − 1, then
 * counted. A climb is as good as the worst of its votes: at one flipped answer in ten the plain majority of three is
 * right to a quarter in 87 searches of a hundred with 14.3 requests on average; asked on, in 93 with 15.9.
 */
function isDecided({ followed, missed }: LadderState['votes'], samples: number): boolean {
  return Math.abs(followed - missed) >= (samples + 1) / 2 || followed + missed >= 2 * samples - 1;
}

export interface LadderResult {
  readonly horizonTokens: number;
  readonly confidence: number;
  /** Largest prompt known to be accepted; null where none was refused or cut. */
  readonly verifiedWindow: number | null;
  readonly needsReprobe: boolean;
  /** False when a failure or a slow model ended the search before its bounds met. */
  readonly complete: boolean;
  readonly rungs: readonly Rung[];
}

const COMPLETE_CONFIDENCE = 0.9;
const CUT_SHORT_CONFIDENCE = 0.5;
const NOTHING_FOLLOWED_CONFIDENCE = 0.3;

export function ladderResult(state: LadderState): LadderResult {
  const { window, rungs } = state;
  const followed = largestFollowed(rungs);
  const complete = nextTarget(state) === null && !hasFailed(rungs);
  const refused = state.verifiedWindow;
  // A truncating server keeps less than it could: what was read whole says more than what was kept.
  const verifiedWindow = refused === null ? null : Math.max(refused, followed);
  const least = Math.min(FIRST_RUNG_TOKENS, lesser(window, verifiedWindow) ?? FIRST_RUNG_TOKENS);
  return {
    horizonTokens: followed === 0 ? least : followed,
    confidence: confidenceOf(followed, complete),
    verifiedWindow,
    needsReprobe: hasFailed(rungs),
    complete,
    rungs,
  };
}

function confidenceOf(followed: number, complete: boolean): number {
  if (followed === 0) return NOTHING_FOLLOWED_CONFIDENCE;
  return complete ? COMPLETE_CONFIDENCE : CUT_SHORT_CONFIDENCE;
}

/** null when nothing is left to ask. */
function nextTarget({ window, rungs }: LadderState): number | null {
  if (hasFailed(rungs)) return null;
  const low = largestFollowed(rungs);
  const high = upperBound(rungs);
  if (high === null) {
    const last = window === null ? LARGEST_RUNG_TOKENS : Math.max(1, Math.floor(WINDOW_SHARE * window));
    if (low >= last) return null;
    return Math.min(low === 0 ? FIRST_RUNG_TOKENS : 2 * low, last);
  }
  if (high - low < CLOSE_SHARE * high) return null;
  const middle = Math.floor(low + (high - low) / 2);
  return middle < SMALLEST_RUNG_TOKENS ? null : middle;
}

function isTooSlow({ prefillTokensPerSecond }: LadderState, targetTokens: number): boolean {
  return prefillTokensPerSecond > 0 && targetTokens / prefillTokensPerSecond > LONGEST_PREFILL_SECONDS;
}

function hasFailed(rungs: readonly Rung[]): boolean {
  return rungs.some(({ verdict }) => verdict === 'failed');
}

/** 0 when none was. */
export function largestFollowed(rungs: readonly Rung[]): number {
  return Math.max(0, ...targetsOf(rungs, true));
}

/** Least size that was not followed, whatever the reason; null while none was. */
function upperBound(rungs: readonly Rung[]): number | null {
  const missed = targetsOf(rungs, false);
  return missed.length === 0 ? null : Math.min(...missed);
}

function targetsOf(rungs: readonly Rung[], followed: boolean): readonly number[] {
  return rungs
    .filter(({ verdict }) => (verdict === 'followed') === followed)
    .flatMap(({ targetTokens }) => targetTokens ?? []);
}

function lesser(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}
