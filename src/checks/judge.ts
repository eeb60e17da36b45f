/** Reads a reply and says which facts it is. The order is that of the outcomes table: calls first, then text. */
import { readFences } from '../context/cards/fences.ts';
import { toolCalls, visibleText } from '../ledger/view.ts';
import { judgeCalls } from './called-tools.ts';
import { isRepeatOf } from './drift.ts';
import { isEmptyStep } from './empty-step.ts';
import type { Finding, StepFacts } from './facts.ts';
import { malformedFence, repeatedFences } from './fences.ts';
import { isStale } from './freshness.ts';
import { isUngrounded } from './grounding.ts';
import { askedIn, type Judging, type PastCall, pastCalls } from './judged.ts';
import { unmadeCard } from './presentation.ts';
import { stopReasons } from './stop-gate.ts';
import { callInProse } from './unmade-call.ts';

/** Of a fault in words: more than the first sentences help no model. */
const FAULT_CHARS = 400;

export function judgeReply(judging: Judging): StepFacts {
  const { reply, turn, degraded } = judging;
  const calls = toolCalls(reply.content);
  if (isEmptyStep(calls.length, visibleText(reply.content)))
    return { kind: 'empty', shown: turn.presentations.length > 0 };
  const past = pastCalls(judging);
  if (calls.length > 0) return judgeCalls(judging, calls, past);
  return { kind: 'answer', degraded, findings: judgeText(judging, past) };
}

/** In the order in which they count. */
function judgeText(judging: Judging, past: readonly PastCall[]): readonly Finding[] {
  const text = visibleText(judging.reply.content);
  const rules = [
    repeats,
    callsInProse,
    isOutdated,
    restsOnNothing,
    cannotBeShown,
    repeatsCards,
    showsNothing,
    isUnfinished,
  ];
  return rules.flatMap((rule) => rule(judging, text, past) ?? []);
}

type Rule = (judging: Judging, text: string, past: readonly PastCall[]) => Finding | null;

const repeats: Rule = ({ turn, earlier, lexicon }, text) => {
  if (earlier === null || !isRepeatOf({ text, directive: visibleText(turn.input) }, earlier, lexicon))
    return null;
  return { check: 'drift', turn: earlier.number };
};

const callsInProse: Rule = ({ turn, tools, lexicon }, text) => {
  const named = callInProse({ text, directive: askedIn(turn), tools }, lexicon);
  return named === null ? null : { check: 'call-in-prose', tools: [named] };
};

const isOutdated: Rule = ({ turn, lookups, lexicon }, text, past) => {
  const observed = past.some(({ ok, observes }) => ok && observes);
  if (!isStale({ reading: turn.reading, observed, text }, lexicon)) return null;
  return { check: 'freshness', tools: lookups };
};

/** A card is grounded by checks of its own. */
const restsOnNothing: Rule = ({ turn, lexicon }, text, past) => {
  const last = past.at(-1);
  const batch = past.filter(({ step }) => step === last?.step);
  if (turn.presentations.length > 0 || readFences(text).length > 0) return null;
  if (!batch.some(({ ok, retrieves }) => ok && retrieves)) return null;
  const results = batch.filter(({ ok }) => ok).map(({ content }) => content);
  return isUngrounded({ text, results }, lexicon) ? { check: 'grounding' } : null;
};

const cannotBeShown: Rule = ({ cards }, text) => {
  const fault = malformedFence(cards, text);
  return fault === null ? null : { check: 'malformed-fence', reasons: [fault.slice(0, FAULT_CHARS)] };
};

const repeatsCards: Rule = ({ cards, turn }, text) =>
  repeatedFences(cards, text, turn.presentations) === 0 ? null : { check: 'repeated-fence' };

const showsNothing: Rule = ({ cards, turn, forms, toolOf, lexicon }, text, past) => {
  const fences = readFences(text).flatMap((fence) => (fence.kind === 'card' ? [fence.type] : []));
  const made = [...turn.presentations.map(({ type }) => type), ...fences];
  const looked = past.filter(({ observes }) => observes);
  const cameBackEmpty = looked.length > 0 && !looked.some(({ ok, content }) => ok && content.trim() !== '');
  const given = { text, directive: askedIn(turn), forms, made, cameBackEmpty };
  const tool = unmadeCard(given, cards, lexicon);
  return tool === null || toolOf(tool) === undefined ? null : { check: 'presentation', tools: [tool] };
};

const isUnfinished: Rule = ({ turn, canObserve, canChange, unmetConditions, lexicon }, text, past) => {
  const given = { text, reading: turn.reading, calls: past, canObserve, canChange, unmetConditions };
  const reasons = stopReasons(given, lexicon);
  return reasons.length === 0 ? null : { check: 'stop-gate', reasons: [...reasons, ...unmetConditions] };
};
