/**
 * What a careful model keeps out of its answers, whatever the texts it quotes may hold: calls and blocks that are not
 * its own, promises it does not keep; and what it does not leave out: that a call failed, what a look-up brought.
 */
import { byteLength } from '../../ledger/json.ts';
import { foundNothing, NOT_FOUND, saidBefore, sentencesOf } from './evidence.ts';
import { urlsIn } from './facts.ts';
import type { Outcome } from './outcome.ts';
import { lookedUp, type Situation, silentNames } from './situation.ts';

const FENCE_LINE = /^ {0,3}(?:`{3,}|~{3,})[^\n]*$/gm;
const ADMITS_FAILURE =
  /\b(?:fail(?:ed|ure|s)?|errors?|could not|couldn['’]t|cannot|unable|not found|no such|does not exist|denied|refused|invalid|missing|do not have)\b/i;
/** The first person says what comes next. */
const ANNOUNCES =
  /(?:^|[\s"“(—])(?:I(?:['’]ll| will| shall| am going to|['’]m going to| need to)|let me|let['’]s)\b(?:[^.!?\n]|[.!?](?=\S))*[.!?:…"”)]*\s*$/i;
const ENDING_CHARS = 300;
const FIGURE = /\d{2,}/;
const MAX_QUOTE_CHARS = 200;
const MAX_DETAIL_CHARS = 160;
/** Shorter answers are repeated by everybody. */
const MIN_REPEATED_WORDS = 5;
const REPEATS = /\brepeats\b[^.]{0,40}\banswer\b/i;

export function mannered(text: string, situation: Situation): string {
  const plain = withoutCalls(text.replace(FENCE_LINE, ''), situation).trim();
  const told = naming(plain === '' ? `${NOT_FOUND}.` : plain, situation);
  const grounded = withMarker(told, situation);
  const ended = ANNOUNCES.test(grounded.slice(-ENDING_CHARS))
    ? `${grounded} That is what it says.`
    : grounded;
  return varied(ended, situation);
}

/** Figures of at least two digits and hosts: what shows that a text rests on another. */
export function hasMarker(text: string): boolean {
  return FIGURE.test(text) || urlsIn(text).length > 0;
}

/** Results of the last step that called anything but what shows or leads elsewhere. */
export function lastResults({ conversation, tools }: Situation): readonly Outcome[] {
  const silent = silentNames(tools);
  const called = conversation.outcomes.filter((one) => one.current && !silent.has(one.name));
  return called.filter((one) => one.at === called.at(-1)?.at);
}

/** A quoted `name({…})` keeps its name and loses its arguments. */
function withoutCalls(text: string, { tools }: Situation): string {
  let left = text;
  for (const { tool } of tools) {
    for (let at = left.indexOf(tool.name); at !== -1; at = left.indexOf(tool.name, at + tool.name.length)) {
      const from = at + tool.name.length;
      const opens = /^[`"]?[(:]?\s{0,4}\{/.exec(left.slice(from, from + 8));
      if (opens === null) continue;
      left = `${left.slice(0, from)}(…)${left.slice(endOfObject(left, from + opens[0].length))}`;
    }
  }
  return left;
}

/** Behind the brace that closes the one before `from`, and a round bracket right behind it; the end of the line else. */
function endOfObject(text: string, from: number): number {
  const feed = text.indexOf('\n', from);
  const end = feed === -1 ? text.length : feed;
  let depth = 1;
  for (let at = from; at < end; at += 1) {
    const sign = text.charAt(at);
    if (sign === '{') depth += 1;
    else if (sign === '}') depth -= 1;
    if (depth === 0) return text.charAt(at + 1) === ')' ? at + 2 : at + 1;
  }
  return end;
}

/** When all calls of the last step failed, the answer says so. */
function naming(text: string, situation: Situation): string {
  const last = lastResults(situation);
  const [first] = last;
  if (first === undefined || last.some((one) => !one.failed) || ADMITS_FAILURE.test(text)) return text;
  const detail = first.content.trim().split('\n', 1)[0]?.slice(0, MAX_DETAIL_CHARS) ?? '';
  return `${text} The call of ${first.name} failed${/\w/.test(detail) ? `: ${detail}` : ''}.`;
}

/** An answer after a look-up names one of the figures or places it brought. */
function withMarker(text: string, situation: Situation): string {
  const results = lookedUp(situation).filter((one) => one.last);
  if (results.length === 0 || foundNothing(text) || hasMarker(text)) return text;
  for (const { content } of results) {
    const [url] = urlsIn(content);
    const marked = content
      .split('\n')
      .find((line) => FIGURE.test(line))
      ?.trim();
    const sentence =
      marked === undefined ? undefined : sentencesOf(marked.slice(0, MAX_QUOTE_CHARS)).find(hasMarker);
    if (sentence !== undefined) return `${text} It also says: ${sentence}`;
    if (url !== undefined) return `${text} Source: ${url}`;
  }
  return text;
}

/** The same words for another question are marked as said before, and so is what came back as a repetition. */
function varied(text: string, { conversation }: Situation): string {
  if (foundNothing(text)) return text;
  const asked = normalised(conversation.directive);
  const taken = new Set<string>();
  let question = '';
  for (const { role, text: earlier } of conversation.said) {
    if (role === 'user') question = normalised(earlier);
    else if (question !== asked) taken.add(earlier.trim());
  }
  const told = conversation.corrections.filter((one) => REPEATS.test(one.text)).length;
  if (told === 0 && wordsIn(text) < MIN_REPEATED_WORDS) return text;
  let said = told === 0 ? text : saidBefore(text, told);
  for (let times = told + 1; taken.has(said); times += 1) said = saidBefore(text, times);
  return said;
}

function wordsIn(text: string): number {
  return text.trim().split(/\s+/).length;
}

function normalised(text: string): string {
  return byteLength(text) > 10_000
    ? text
    : text
        .toLowerCase()
        .replace(/[^\p{L}\p{N}]+/gu, ' ')
        .trim();
}
