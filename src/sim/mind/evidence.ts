/** Everything the request holds that may answer, cut into lines and sentences and scored against what is asked. */
import { asksSomething, type Conversation } from './conversation.ts';
import { withoutLists } from './listed.ts';
import type { Outcome } from './outcome.ts';
import { partsOf, turnLineOf } from './pointers.ts';
import { holds, type Term } from './terms.ts';
import { readText } from './transcript-text.ts';

/** Longer lines are taken sentence by sentence. */
const MAX_LINE_CHARS = 240;
/** What heading, section and file name say counts nearly as much as the line itself. */
const CONTEXT_SHARE = 0.8;
const HIT_LINE = /^((?:[\w@.~-]+\/)*[\w@.~-]+\.\w{1,8}):(\d+)[:-]\s?(.*)$/;
const LINE_NUMBER = /^\s*\d+[\t|→]\s?/;
/** Also one cut short before its mark. */
const QUESTION = /\?\s*$|(?:^|[:,]\s)(?:what|which|who|whose|where|when|why|how)\b/i;
/** Who speaks, where a text tells what was said in turn. */
const ROLE_LINE = /^\W*(user|assistant|tool|result|system)\b(?:\s+[\w-]+)?\s*(?::\s*|\W*$)/i;
const EVIDENCE_TAG = /\[evidence:[^\]]*\]/g;
const NOTHING: readonly number[] = [];
/** They open every answer that found nothing, so that such an answer is never taken for a source. */
export const NOT_FOUND = 'I could not find that in what I was given';
export const NO_PRESENT_VALUE = 'I do not have a current value';
/** How an answer that was given before begins; see `saidBefore`. */
const SAID_BEFORE = /^As said (?:\d+ times )?before: /;
/** What a window says of the lines it left out: no line of the text. */
const OMISSION = /^\s*\[[^\]]{0,200}\w\(\{/;

export type Origin = 'result' | 'earlier-result' | 'assistant' | 'user' | 'system';

/** A text with one origin. `path` is the file it came from, where that is known. */
export interface Passage {
  readonly origin: Origin;
  readonly path: string | null;
  readonly text: string;
  /** It tells of earlier turns: what was asked then stands beside what was answered. */
  readonly past: boolean;
}

export interface Unit {
  readonly passage: Passage;
  readonly path: string | null;
  /** Position among all units: neighbours in one passage are neighbours here. */
  readonly index: number;
  readonly text: string;
  /** Weight of the terms met, as a share of all, 0 to 1. */
  readonly coverage: number;
  /** For each term, the weight met by the unit's own words. */
  readonly own: readonly number[];
}

/** `silent` names tools whose results are no evidence. */
export function passagesOf(
  conversation: Conversation,
  silent: ReadonlySet<string> = new Set(),
): readonly Passage[] {
  const passages: Passage[] = [];
  const system = withoutLists(conversation.system);
  if (system !== '') passages.push({ origin: 'system', path: null, text: system, past: false });
  for (const { role, text } of conversation.said) {
    if (role === 'assistant' && foundNothing(text)) continue;
    const own = role === 'assistant' ? text.replace(SAID_BEFORE, '') : text;
    passages.push({ origin: role, path: null, text: own, past: role === 'user' });
  }
  for (const outcome of conversation.outcomes) {
    if (outcome.failed || silent.has(outcome.name) || onlyPoints(outcome)) continue;
    passages.push({
      origin: outcome.current ? 'result' : 'earlier-result',
      path: outcome.path,
      text: readable(outcome),
      past: outcome.past,
    });
  }
  return passages;
}

/** Where something stands; what it says is still to be read. */
function onlyPoints({ lookup }: Outcome): boolean {
  return lookup !== null && lookup.op !== 'read';
}

/** The same answer as it is given for the nth time. */
export function saidBefore(text: string, times: number): string {
  return `As said ${times === 1 ? '' : `${times} times `}before: ${text}`;
}

export function foundNothing(answer: string): boolean {
  return answer.includes(NOT_FOUND) || answer.includes(NO_PRESENT_VALUE);
}

/** All units in order, scored. A term that stands nowhere weighs most: then no unit covers much. */
export function unitsOf(passages: readonly Passage[], terms: readonly Term[]): readonly Unit[] {
  const drafts = passages.flatMap(draftsOf);
  const frequencies = terms.map(() => 0);
  const met = drafts.map((draft) => {
    let bits: readonly number[] | null = null;
    for (const [at, term] of terms.entries()) {
      if (!holds(draft.lower, term)) continue;
      frequencies[at] = (frequencies[at] ?? 0) + 1;
      bits = [...(bits ?? []), at];
    }
    return bits;
  });
  const weights = terms.map(
    (term, at) => term.boost * Math.log(1 + drafts.length / ((frequencies[at] ?? 0) + 0.5)),
  );
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return drafts.map((draft, index) => {
    const { passage, path, text } = draft;
    const bits = met[index] ?? null;
    // Most units meet nothing: they cost no list of their own.
    if (bits === null) return { passage, path, index, text, coverage: 0, own: NOTHING };
    const own = weights.map((weight, at) => (bits.includes(at) ? weight : 0));
    const covered = own.reduce((sum, weight, at) => {
      const term = terms[at];
      if (weight > 0 || term === undefined || !holds(draft.context, term)) return sum + weight;
      return sum + (weights[at] ?? 0) * CONTEXT_SHARE;
    }, 0);
    return { passage, path, index, text, coverage: covered / total, own };
  });
}

interface Draft {
  readonly passage: Passage;
  readonly path: string | null;
  readonly text: string;
  readonly lower: string;
  readonly context: string;
}

function draftsOf(passage: Passage): readonly Draft[] {
  const drafts: Draft[] = [];
  let heading = '';
  let role = '';
  for (const line of passage.text.split('\n')) {
    const hit = HIT_LINE.exec(line);
    const path = hit?.[1] ?? passage.path;
    const text = (hit?.[3] ?? line).replace(LINE_NUMBER, '').replace(EVIDENCE_TAG, '').trim();
    if (text === '' || OMISSION.test(text)) continue;
    if (isHeading(text)) heading = text;
    role = ROLE_LINE.exec(text)?.[1]?.toLowerCase() ?? role;
    for (const part of passage.past ? toldIn(text, role) : sentencesOf(text)) {
      const context = `${path ?? ''} ${part === heading ? '' : heading}`.toLowerCase();
      drafts.push({ passage, path, text: part, lower: part.toLowerCase(), context });
    }
  }
  return drafts;
}

/** A person's question holds its own words and answers nothing, nor does an order that stands for a turn. */
function toldIn(text: string, role: string): readonly string[] {
  const line = turnLineOf(text);
  if (line === null) {
    const words = text.replace(ROLE_LINE, '');
    const sentences = sentencesOf(words).filter(
      (part) => part !== '' && !QUESTION.test(part) && !foundNothing(part),
    );
    return role === 'user' ? sentences.filter((part) => !asksSomething(part)) : sentences;
  }
  const { asked, told } = partsOf(line);
  const stated = sentencesOf(asked).filter((part) => part !== '' && !asksSomething(part));
  return [...stated, ...told.flatMap(sentencesOf)].filter((part) => !QUESTION.test(part));
}

export function isHeading(text: string): boolean {
  return /^#{1,6}\s/.test(text) || (text.endsWith(':') && text.length < 80);
}

/** A line without the marks of headings, lists, quotes and comments at its start. */
export function withoutGutter(line: string): string {
  return line.replace(/^\s*(?:\/\*+|\*+(?!\w)|\/\/+|#+|>+|-)(?:\s+|$)/, '').replace(/\s*\*\/$/, '');
}

export function sentencesOf(line: string): readonly string[] {
  if (line.length <= MAX_LINE_CHARS && !/[.!?]\s/.test(line)) return [line];
  const sentences = line.match(/[^.!?]+(?:[.!?]+(?!\s|$)[^.!?]*)*(?:[.!?]+|$)/g) ?? [line];
  return sentences.map((sentence) => sentence.trim()).filter((sentence) => sentence !== '');
}

/** JSON results are read as `key: value` lines; everything else as it stands. */
function readable(outcome: Outcome): string {
  const text = outcome.content;
  if (outcome.lookup !== null) return readText(text);
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    const lines: string[] = [];
    flatten(JSON.parse(text), '', lines);
    return lines.join('\n');
  } catch {
    return text;
  }
}

/** A member's line names the members around it: what a setting means depends on where it stands. */
function flatten(value: unknown, key: string, lines: string[]): void {
  if (typeof value !== 'object' || value === null) {
    lines.push(key === '' ? String(value) : `${key}: ${String(value)}`);
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    const path = Array.isArray(value) ? key : key === '' ? name : `${key}.${name}`;
    flatten(member, path, lines);
  }
}
