/** A call that was written into the answer instead of made. Nothing that stands in a text is ever executed. */
import type { Json, JsonObject } from '../ledger/json.ts';
import { type CallPlace, isWrittenCall } from './call-place.ts';
import { partsOf } from './code-blocks.ts';
import { type CheckLexicon, checkLexiconFor } from './lexicon/index.ts';
import { holdsPhrase, phrasesOf, sentencesOf } from './sentences.ts';
import { asksAboutTool } from './tool-names.ts';
import { isObject, objectAt, openingBrace, parsedObject } from './written-json.ts';

/** A text that names tools beside more braces than that is about calls. */
const MAX_CANDIDATES = 32;
const MAX_NAME_CHARS = 128;
const MAX_DEPTH = 3;
/** Between a name and its arguments: `name(`, "name: ", a fence's line. */
const MAX_GAP_CHARS = 12;
/** Blocks in another language are samples of code. */
const CALL_INFOS: ReadonlySet<string> = new Set([
  '',
  'json',
  'text',
  'xml',
  'tool',
  'tool_call',
  'tool_calls',
  'tool_code',
  'tool_use',
  'function',
  'function_call',
]);
const NAMED = /"(?:name|tool|tool_name|function|action)"\s{0,20}:\s{0,20}"([^"\\\n]{1,128})"/gu;
const NAME_MEMBERS = ['name', 'tool', 'tool_name', 'function', 'action'] as const;
const ARGUMENT_MEMBERS = [
  'arguments',
  'args',
  'parameters',
  'params',
  'input',
  'tool_input',
  'action_input',
] as const;
const GAP = /[\s(:`]/u;
const NAME_SIGN = /[\w.-]/u;
/**
 * The name among `tools` of a call that the text writes out with its arguments as JSON. A call that is told of in a
 * sentence, a sample in a programming language, and a tool that the directive asks about are none.
 */
export function callInProse(
  given: { readonly text: string; readonly directive: string; readonly tools: readonly string[] },
  lexicon: CheckLexicon = checkLexiconFor(null),
): string | null {
  const { text, directive, tools } = given;
  if (!text.includes('{')) return null;
  const known = new Set(tools);
  const readable = readableText(text);
  const calls = [...namedObjects(readable, known), ...namesBeforeArguments(readable, known)];
  const call = calls.find((candidate) => isWrittenCall(readable, candidate, lexicon));
  if (call === undefined || asksAboutTool(directive, call.name, lexicon)) return null;
  const topics = phrasesOf(lexicon.callTopics);
  return sentencesOf(directive).some(({ tokens }) => holdsPhrase(tokens, topics)) ? null : call.name;
}

function readableText(text: string): string {
  return partsOf(text)
    .map((part) => (part.kind === 'prose' ? part.text : CALL_INFOS.has(part.info) ? part.content : ''))
    .join('\n');
}

/** `{"name": "grep", "arguments": {…}}`. */
function namedObjects(text: string, known: ReadonlySet<string>): readonly CallPlace[] {
  const candidates: CallPlace[] = [];
  let tried = 0;
  for (const match of text.matchAll(NAMED)) {
    const name = match[1] ?? '';
    if (!known.has(name)) continue;
    tried += 1;
    if (tried > MAX_CANDIDATES) return [];
    const start = openingBrace(text, match.index);
    const written = start === null ? null : objectAt(text, start);
    if (start !== null && written !== null && isCall(written.value, name))
      candidates.push({ name, ...outermost(text, start, written.end), gap: '' });
  }
  return candidates;
}

/** A call may stand in an object about it. */
function outermost(
  text: string,
  start: number,
  end: number,
): { readonly from: number; readonly end: number } {
  let place = { from: start, end };
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const outer = openingBrace(text, place.from);
    const written = outer === null ? null : objectAt(text, outer);
    if (outer === null || written === null || written.end <= place.end) break;
    place = { from: outer, end: written.end };
  }
  return place;
}

function isCall(value: JsonObject, name: string): boolean {
  return (
    NAME_MEMBERS.some((member) => value[member] === name) &&
    ARGUMENT_MEMBERS.some((member) => isArguments(value[member]))
  );
}

/** Some wires carry arguments as JSON text. */
function isArguments(value: Json | undefined): boolean {
  return isObject(value) || (typeof value === 'string' && parsedObject(value) !== null);
}

/** `grep({"pattern": "x"})`. */
function namesBeforeArguments(text: string, known: ReadonlySet<string>): readonly CallPlace[] {
  const candidates: CallPlace[] = [];
  let tried = 0;
  for (let start = text.indexOf('{'); start !== -1; start = text.indexOf('{', start + 1)) {
    const named = nameBefore(text, start, known);
    if (named === null) continue;
    tried += 1;
    if (tried > MAX_CANDIDATES) return [];
    const written = objectAt(text, start);
    if (written !== null) candidates.push({ ...named, end: written.end });
  }
  return candidates;
}

function nameBefore(text: string, brace: number, known: ReadonlySet<string>): Omit<CallPlace, 'end'> | null {
  let end = brace;
  while (end > 0 && brace - end < MAX_GAP_CHARS && GAP.test(text.charAt(end - 1))) end -= 1;
  let from = end;
  while (from > 0 && end - from <= MAX_NAME_CHARS && NAME_SIGN.test(text.charAt(from - 1))) from -= 1;
  const name = text.slice(from, end);
  return known.has(name) ? { name, from, gap: text.slice(end, brace) } : null;
}
