/** Whether a turn may end on an answer: what it said it would do is done, checked, and no failure is passed over. */
import type { Domain } from '../ledger/domains.ts';
import type { Act, Reading } from '../ledger/reading.ts';
import { endsOnAnnouncedAction } from './announced-action.ts';
import { claimsEffect } from './claimed-effect.ts';
import { isHonestNoData } from './freshness.ts';
import type { CheckLexicon } from './lexicon/index.ts';
import { holdsPhrase, phrasesOf, sentencesOf } from './sentences.ts';

/** In the order they are reported. */
export const STOP_REASONS = [
  'plan_unfinished',
  'verification_missing',
  'verification_stale',
  'receipt_missing',
  'tool_failure_unresolved',
  'condition_unmet',
] as const;
export type StopReason = (typeof STOP_REASONS)[number];

/** What a call of the turn was. */
export interface GateCall {
  readonly step: number;
  readonly name: string;
  readonly ok: boolean;
  readonly card: boolean;
  readonly observes: boolean;
  /** Its effect is more than reading. */
  readonly changes: boolean;
}

export interface GateInput {
  readonly text: string;
  /** Why the model stopped, as its step recorded it. */
  readonly reading: Reading | null;
  /** Of this turn, in the order they were made. */
  readonly calls: readonly GateCall[];
  /** Whether a tool that observes, or changes, is offered at all. */
  readonly canObserve: boolean;
  readonly canChange: boolean;
  /** The operator's own. */
  readonly unmetConditions: readonly string[];
}

/** Where the state of things can be looked at. */
const CHECKABLE: ReadonlySet<Domain> = new Set<Domain>([
  'filesystem',
  'code-exec',
  'vcs',
  'observability',
  'live-data',
]);
const CHANGING_ACTS: ReadonlySet<Act> = new Set<Act>(['author', 'modify', 'operate']);

type Question = (given: GateInput, lexicon: CheckLexicon) => boolean;

const QUESTIONS: { readonly [Reason in StopReason]: Question } = {
  plan_unfinished: ({ text, reading }, lexicon) =>
    endsOnAnnouncedAction(text, reading?.act === 'author', lexicon),
  verification_missing: isUnverified,
  verification_stale: isChangedSince,
  receipt_missing: claimsWithoutCall,
  tool_failure_unresolved: passesOverFailure,
  condition_unmet: ({ unmetConditions }) => unmetConditions.length > 0,
};

export function stopReasons(given: GateInput, lexicon: CheckLexicon): readonly StopReason[] {
  return STOP_REASONS.filter((reason) => QUESTIONS[reason](given, lexicon));
}

/** A check that was tried and failed, and is said to have failed, is all a turn can do. */
function isUnverified({ text, reading, calls, canObserve }: GateInput, lexicon: CheckLexicon): boolean {
  if (reading?.act !== 'verify' || !canObserve) return false;
  if (!reading.domains.some((domain) => CHECKABLE.has(domain))) return false;
  const checks = calls.filter(({ observes, card }) => observes && !card);
  if (checks.some(({ ok }) => ok)) return false;
  return checks.length === 0 || !admitsFailure(text, lexicon);
}

function isChangedSince({ reading, calls }: GateInput): boolean {
  if (reading?.act !== 'verify') return false;
  const observed = calls.findLastIndex(({ ok, observes, card }) => ok && observes && !card);
  const changed = calls.findLastIndex(({ ok, changes, card }) => ok && changes && !card);
  return observed !== -1 && changed > observed;
}

function claimsWithoutCall({ text, reading, calls, canChange }: GateInput, lexicon: CheckLexicon): boolean {
  if (reading === null || !CHANGING_ACTS.has(reading.act) || !canChange) return false;
  if (calls.some(({ ok, changes, card }) => ok && changes && !card)) return false;
  return claimsEffect(text, lexicon);
}

/** A card that failed leaves the answer as true as it was. */
function passesOverFailure({ text, calls }: GateInput, lexicon: CheckLexicon): boolean {
  const tried = calls.filter(({ card }) => !card);
  const last = tried.at(-1)?.step;
  if (last === undefined || tried.some(({ step, ok }) => step === last && ok)) return false;
  return !admitsFailure(text, lexicon);
}

function admitsFailure(text: string, lexicon: CheckLexicon): boolean {
  const failures = phrasesOf(lexicon.failureWords);
  return (
    sentencesOf(text).some(({ tokens }) => holdsPhrase(tokens, failures)) || isHonestNoData(text, lexicon)
  );
}
