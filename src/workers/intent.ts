/** The `intent` pool: a classifier reads a directive its own words leave unclear. Any failure falls open. */
import { escapeMarkers } from '../context/assemble/markers.ts';
import { isLocalLeg } from '../context/capacity/due.ts';
import { INITIAL_TOKENS_PER_BYTE } from '../context/capacity/profile.ts';
import { firstSentence } from '../context/first-sentence.ts';
import type { ChatRequest } from '../context/request.ts';
import type { Claim } from '../db/contract.ts';
import { classifierRequest, partsToClassify, readClassification } from '../intent/classifier.ts';
import { mergeReadings } from '../intent/merge.ts';
import { blake3Hex } from '../ledger/chain.ts';
import { byteLength, canonicalJson } from '../ledger/json.ts';
import type { RecordDraft } from '../ledger/kinds.ts';
import type { Reading } from '../ledger/reading.ts';
import { type TurnView, visibleText } from '../ledger/view.ts';
import type { Leg } from '../providers/contract.ts';
import type { JobRef } from '../queues/contract.ts';
import { type Spending, spendingOf } from '../runtime/budgets.ts';
import type { Called, ModelCall } from '../runtime/model-calls.ts';
import { type CallResult, runSideCall, type Settled } from '../runtime/side-call.ts';
import { foldRecords } from '../runtime/turn-cache.ts';
import type { WorkerDeps } from './deps.ts';

/** Also how long a reading may wait for the provider's limits: the turn goes on without it after that. */
const CLASSIFY_TIMEOUT_MS = 10_000;
/** Earlier directives that the classifier sees, and how much of each. */
const THREAD_TURNS = 6;
const THREAD_LINE_WORDS = 16;

export interface IntentSettings {
  /** `local`: only a leg of this machine that takes no key, so that no directive leaves it. */
  readonly legs: 'local' | 'any';
  /** The most that one reading may cost, in micro-dollars. A leg nobody states a price of costs nothing. */
  readonly maxClassifyMicroUsd: number;
}

export const INTENT_DEFAULTS: IntentSettings = { legs: 'any', maxClassifyMicroUsd: 10_000 };

export function intentWorker(deps: WorkerDeps, ref: JobRef): Promise<Settled> {
  return runSideCall(deps.host, ref, (claim, signal) => performIntent(deps, ref, claim, signal));
}

async function performIntent(
  deps: WorkerDeps,
  ref: JobRef,
  claim: Claim,
  signal: AbortSignal,
): Promise<CallResult> {
  const { legs, maxClassifyMicroUsd } = deps.intent;
  const open = foldRecords(claim.records);
  const lexical = open.reading;
  if (lexical === null) return notClassified('the turn has no reading of its own words', []);
  const config = await deps.configs.get(ref);
  const bound = deps.sideLeg('intent', config.leg);
  if (bound === null) {
    const message = `leg "${config.leg}" is not configured`;
    return { kind: 'failed', code: 'unknown_leg', message, drafts: [] };
  }
  if (legs === 'local' && !isKeylessLocal(bound.leg))
    return notClassified(`leg "${bound.leg.name}" is not local, or takes a key: it may not classify`, []);
  const thread = await threadOf(deps, ref, claim, open);
  const { parts, pastedChars } = partsToClassify(visibleText(open.input), lexical);
  const packet = classifierRequest({ parts, pastedChars, thread, escapeText: escapeMarkers });
  const request: ChatRequest = { ...packet, thinking: 'off' };
  const spending = capped(spendingOf(open, config), maxClassifyMicroUsd);
  const called = await deps.calls.make(
    callOf({ ref, claim, turnId: open.turnId, bound, request, spending, signal }),
  );
  return resultOf(called, open.turnId, lexical);
}

/** Beside a key of its own a leg may be local by its address alone. */
function isKeylessLocal(leg: Leg): boolean {
  return leg.apiKeyEnv === undefined && isLocalLeg(leg);
}

/** What was asked before, oldest first: cards that this process mostly holds already. */
async function threadOf(
  { turns }: Pick<WorkerDeps, 'turns'>,
  ref: JobRef,
  { loaded: { session, turn } }: Claim,
  { number }: TurnView,
): Promise<readonly string[]> {
  if (turn === null || number === 1) return [];
  const cards = await turns.cards(
    ref,
    { head: turn.head, epoch: session.epoch },
    Math.max(1, number - THREAD_TURNS),
    number - 1,
  );
  return cards.map(({ card }) => firstSentence(card.asked, THREAD_LINE_WORDS));
}

/** The turn may spend no more than one reading may cost, on top of what it spent. */
function capped({ turn, session }: Spending, maxMicroUsd: number): Spending {
  const most = turn.spent.microUsd + maxMicroUsd;
  const microUsd = Math.min(most, turn.limit?.microUsd ?? most);
  return { turn: { ...turn, limit: { ...turn.limit, microUsd } }, session };
}

interface IntentCall extends Pick<ModelCall, 'ref' | 'bound' | 'request' | 'spending' | 'signal'> {
  readonly claim: Claim;
  readonly turnId: string;
}

function callOf({ claim, ...call }: IntentCall): ModelCall {
  const text = canonicalJson(call.request);
  const requestBytes = byteLength(text);
  return {
    ...call,
    step: 0,
    purpose: 'intent',
    attempt: claim.call.attempt,
    requestDigest: blake3Hex(text),
    requestBytes,
    prefixDigest: null,
    // A first estimate will do: the request is small, and what it really cost is known afterwards.
    promptTokens: Math.ceil(requestBytes * INITIAL_TOKENS_PER_BYTE),
    replyTokens: call.request.maxTokens,
    timeoutMs: CLASSIFY_TIMEOUT_MS,
  };
}

function resultOf(called: Called, turnId: string, lexical: Reading): CallResult {
  if (called.kind === 'delayed' && called.delayMs > CLASSIFY_TIMEOUT_MS)
    return notClassified(called.reason, []);
  if (called.kind === 'budget-spent')
    return notClassified(`it could pass the ${called.budget} budget, or what a reading may cost`, []);
  if (called.kind === 'not-cached') return notClassified('no reply is kept', [called.receipt]);
  if (called.kind !== 'called') return called;
  const { outcome, receipt } = called;
  if (!outcome.ok) {
    if (outcome.failure.kind === 'aborted') return { kind: 'aborted', drafts: [receipt] };
    return notClassified(outcome.failure.message, [receipt]);
  }
  const classified = readClassification(outcome.reply.content);
  if (classified === null) {
    const spent = outcome.reply.finish === 'length' ? ', and its tokens are spent' : '';
    return notClassified(`the reply held no reading${spent}`, [receipt]);
  }
  const body = mergeReadings(lexical, classified);
  const drafts: readonly RecordDraft[] = [receipt, { kind: 'reading', turnId, body }];
  return { kind: 'done', output: null, additions: () => ({ drafts }) };
}

function notClassified(message: string, drafts: readonly RecordDraft[]): CallResult {
  return { kind: 'failed', code: 'not_classified', message, drafts };
}
