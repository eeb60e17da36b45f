/** The request read as a conversation: what is asked now, what was done for it, what is known from before. */
import type { ImageBlock, ToolCallBlock, ToolResultBlock } from '../../ledger/blocks.ts';
import { canonicalJson, type Json } from '../../ledger/json.ts';
import type { SimPrompt } from '../prompt.ts';
import { type Correction, correctionIn, correctionOf } from './corrections.ts';
import { filesIn, type Shapes, shapesOf, type Term, termsOf } from './terms.ts';

/** A call with its result. */
export interface Outcome {
  readonly name: string;
  readonly args: Json;
  readonly content: string;
  readonly failed: boolean;
  /** Made for the directive that stands now. */
  readonly current: boolean;
  /** File the arguments name; null when they name none. */
  readonly path: string | null;
  /** Text of earlier turns: a turn by its number, or a list of turns each with the call that opens it. */
  readonly past: boolean;
  /** Index of the message that holds the result: calls of one step share it. */
  readonly at: number;
  /** Nothing was called or answered since. */
  readonly last: boolean;
}

export interface Conversation {
  /** What the last person asked, without the sections and notes around it. */
  readonly directive: string;
  /** The last user text of any kind: a control note may stand behind the directive. */
  readonly lastNote: string;
  readonly terms: readonly Term[];
  readonly shapes: Shapes;
  readonly outcomes: readonly Outcome[];
  /** Texts but the directive and corrections, oldest first. */
  readonly said: readonly { readonly role: 'user' | 'assistant'; readonly text: string }[];
  readonly images: readonly ImageBlock[];
  /** Assistant messages with calls since the directive. */
  readonly steps: number;
  /** `name arguments` of the calls since the directive. */
  readonly made: ReadonlySet<string>;
  /** What the runtime would not take since the directive, oldest first. */
  readonly corrections: readonly Correction[];
  /** The newest that nothing was called or answered after; null when there is none. */
  readonly standing: Correction | null;
  readonly system: string;
}

const DIRECTIVE_END_CHARS = 600;
/** Two of the three wires carry no error flag: a failed result is known by how it begins. */
const FAILURE = /^\s*\W?(?:errors?|failed|failure|no such|not found|cannot|could not|unknown|invalid)\b/i;
/** One that says in a last line how to go on has failed, too; a schema may follow it. */
const REPAIR_HINT = /\nTo repair: [^\n]*(?:\n[^\n]*)?$/;

/** A question or an order; anything else is told, not asked. */
const ASKS =
  /\?|^\s*(?:please\s+)?(?:what|which|who|where|when|why|how|is|are|was|were|do|does|did|can|could|will|list|show|present|display|tell|find|read|give|explain|describe|analy[sz]e|summari[sz]e|compare|count|check|look|open|search|name|quote|print|report|call|use|get|fetch|locate|go|continue|and|now|then|say|write|extract|identify|determine|state|cite|verify|confirm|double-?check|make sure)\b/i;

export function asksSomething(text: string): boolean {
  return ASKS.test(text);
}

/** A whole section at the start of a text, as systems add them around a person's words. */
const LEADING_SECTION = /^\s*<([a-z][\w-]*)(?:\s[^>]*)?>[\s\S]*?<\/\1>\s*/i;

export function readConversation(prompt: SimPrompt): Conversation {
  const at = directiveIndex(prompt);
  const directive =
    directiveOf(prompt.messages[at]?.content ?? []) ?? bareText(prompt.messages[at]?.content ?? []);
  const said: { role: 'user' | 'assistant'; text: string }[] = [];
  const images: ImageBlock[] = [];
  const outcomes: Outcome[] = [];
  const calls = new Map<string, ToolCallBlock>();
  const made = new Set<string>();
  const corrections: Correction[] = [];
  let steps = 0;
  let lastNote = '';
  let standing: Correction | null = null;
  const lastReply = prompt.messages.findLastIndex((one) => one.role === 'assistant');
  for (const [index, message] of prompt.messages.entries()) {
    const current = index > at;
    const last = index > lastReply;
    let called = false;
    for (const block of message.content) {
      const correction = message.role === 'user' && current ? correctionBy(block) : null;
      if (correction !== null) {
        corrections.push(correction);
        if (last) standing = correction;
      }
      if (block.type === 'text') {
        if (message.role === 'user') lastNote = block.text;
        if (message.role === 'user' && correctionIn(block.text) !== null) continue;
        if (index !== at || stripSections(block.text) !== directive)
          said.push({ role: message.role, text: block.text });
      } else if (block.type === 'image') images.push(block);
      else if (block.type === 'tool_call') {
        calls.set(block.id, block);
        called = true;
        if (current) made.add(callKey(block.name, block.args));
      } else if (block.type === 'tool_result')
        outcomes.push({
          ...outcomeOf(block, calls.get(block.callId), current, outcomes, said),
          at: index,
          last,
        });
    }
    if (called && current) steps += 1;
  }
  return {
    directive,
    lastNote,
    terms: termsOf(endsOf(directive)),
    shapes: shapesOf(endsOf(directive)),
    outcomes,
    said,
    images,
    steps,
    made,
    corrections,
    standing,
    system: prompt.system.join('\n'),
  };
}

/** A long directive holds pasted text; what is asked stands at one of its ends. */
export function endsOf(directive: string): string {
  if (directive.length <= 2 * DIRECTIVE_END_CHARS) return directive;
  return `${directive.slice(0, DIRECTIVE_END_CHARS)} ${directive.slice(-DIRECTIVE_END_CHARS)}`;
}

export function callKey(name: string, args: Json): string {
  return `${name} ${canonicalJson(args)}`;
}

function correctionBy(block: SimPrompt['messages'][number]['content'][number]): Correction | null {
  if (block.type === 'text') return correctionIn(block.text);
  return block.type === 'tool_result' ? correctionOf(block) : null;
}

/** The last assistant text before the directive; null when there is none. */
export function previousAnswer(conversation: Conversation): string | null {
  return conversation.said.findLast((one) => one.role === 'assistant')?.text ?? null;
}

function stripSections(text: string): string {
  let left = text;
  for (let next = left.replace(LEADING_SECTION, ''); next !== left; next = left.replace(LEADING_SECTION, ''))
    left = next;
  return left.trim();
}

/** Last user message with words of a person; else the last user message with any text. */
function directiveIndex(prompt: SimPrompt): number {
  const { messages } = prompt;
  const spoken = messages.findLastIndex((one) => one.role === 'user' && directiveOf(one.content) !== null);
  if (spoken !== -1) return spoken;
  return messages.findLastIndex(
    (one) => one.role === 'user' && one.content.some((block) => block.type === 'text'),
  );
}

/** The last text block that holds more than sections and bracketed notes. */
function directiveOf(content: SimPrompt['messages'][number]['content']): string | null {
  for (const block of content.toReversed()) {
    if (block.type !== 'text') continue;
    const text = stripSections(block.text);
    if (text !== '' && !text.startsWith('[')) return text;
  }
  return null;
}

/** All text of a message that holds sections and notes only, without their tags. */
function bareText(content: SimPrompt['messages'][number]['content']): string {
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  return texts
    .join('\n')
    .replace(/<\/?[a-z][\w-]*(?:\s[^>]*)?>/gi, ' ')
    .trim();
}

function outcomeOf(
  result: ToolResultBlock,
  call: ToolCallBlock | undefined,
  current: boolean,
  before: readonly Outcome[],
  said: Conversation['said'],
): Omit<Outcome, 'at' | 'last'> {
  const args = call?.args ?? null;
  const name = call?.name ?? result.name;
  return {
    name,
    args,
    content: result.content,
    failed: saysFailure(result) || correctionOf(result) !== null,
    current,
    path: pathIn(args) ?? pathOfEvidence(args, before) ?? pathOfListed(args, said),
    past: ofThePast(args, name, result.content),
  };
}

function saysFailure({ isError, content }: ToolResultBlock): boolean {
  return isError || FAILURE.test(content) || REPAIR_HINT.test(content);
}

/** The argument by which a tool takes a turn. */
export const TURN_NAME = /^turns?(?:_?(?:id|number|no))?$/i;

function ofThePast(args: Json, name: string, content: string): boolean {
  return asksForTurn(args) || (args !== null && content.includes(`${name}({`));
}

export function asksForTurn(args: Json): boolean {
  return typeof args === 'object' && args !== null && Object.keys(args).some((key) => TURN_NAME.test(key));
}

/** A line of a list of ids, `- e7: …`, may name the file whose text the id brings back. */
function pathOfListed(args: Json, said: Conversation['said']): string | null {
  if (typeof args !== 'object' || args === null) return null;
  const ids = Object.values(args).filter(
    (value) => typeof value === 'string' && /^[a-z]{1,3}\d{1,6}$/.test(value),
  );
  for (const id of ids) {
    const start = `\n- ${String(id)}: `;
    const text = said.find((one) => one.role === 'user' && one.text.includes(start))?.text;
    if (text === undefined) continue;
    const at = text.indexOf(start) + 1;
    const end = text.indexOf('\n', at);
    return filesIn(text.slice(at, end === -1 ? undefined : end))[0] ?? null;
  }
  return null;
}

/** What is brought back by an id is of the file whose result named that id. */
function pathOfEvidence(args: Json, before: readonly Outcome[]): string | null {
  if (typeof args !== 'object' || args === null) return null;
  const ids = Object.values(args).flatMap((value) =>
    typeof value === 'string' && /^[\w-]{2,}$/.test(value) ? [value] : [],
  );
  const naming = before.findLast(
    (one) =>
      one.path !== null && ids.some((id) => new RegExp(`(?:evidence:\\s*|["'])${id}\\b`).test(one.content)),
  );
  return naming?.path ?? null;
}

/** The first argument that looks like the name of one file. */
function pathIn(args: Json): string | null {
  if (typeof args !== 'object' || args === null) return null;
  for (const value of Object.values(args)) {
    const candidates = Array.isArray(value) ? value : [value];
    for (const candidate of candidates) {
      if (typeof candidate !== 'string' || /[\s*]/.test(candidate)) continue;
      const [file] = filesIn(candidate);
      if (file !== undefined) return candidate;
    }
  }
  return null;
}
