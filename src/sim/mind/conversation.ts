/** The request read as a conversation: what is asked now, what was done for it, what is known from before. */
import type { ChatMessage } from '../../context/request.ts';
import type { ImageBlock, ToolCallBlock, ToolResultBlock } from '../../ledger/blocks.ts';
import { canonicalJson, type Json } from '../../ledger/json.ts';
import type { SimPrompt } from '../prompt.ts';
import { type Correction, correctionIn, correctionOf } from './corrections.ts';
import { noticeIn, type Reminder, type Residue } from './notices.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { type Shapes, shapesOf, type Term, termsOf } from './terms.ts';

export interface Conversation {
  /** What the last person asked, without the sections and notes around it. */
  readonly directive: string;
  /** The last user text of any kind: a control note may stand behind the directive. */
  readonly lastNote: string;
  readonly terms: readonly Term[];
  readonly shapes: Shapes;
  readonly outcomes: readonly Outcome[];
  /** Texts but the directive, corrections and notices, oldest first; of what left the request, its notes. */
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
  /** What left the request, oldest first. */
  readonly residues: readonly Residue[];
  /** The newest since the directive, and the message it stands in; null when there is none. */
  readonly reminder: (Reminder & { readonly at: number }) | null;
  readonly system: string;
}

const DIRECTIVE_END_CHARS = 600;
const ITEM_MENTION = /\bitems?\s#\d{1,15}\b/gi;
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
  const spoken = prompt.messages[at]?.content ?? [];
  const directive = directiveOf(spoken) ?? bareText(spoken);
  const lastReply = prompt.messages.findLastIndex((one) => one.role === 'assistant');
  const reading = new Reading(directive);
  for (const [index, message] of prompt.messages.entries())
    reading.take(message, { index, isDirective: index === at, current: index > at, last: index > lastReply });
  const { lastNote, outcomes, said, images, steps, made, corrections, standing, residues, reminder } =
    reading;
  return {
    directive,
    lastNote,
    terms: termsOf(aboutIn(directive, prompt)),
    shapes: shapesOf(endsOf(directive)),
    outcomes,
    said,
    images,
    steps,
    made,
    corrections,
    standing,
    residues,
    reminder,
    system: prompt.system.join('\n'),
  };
}

/** Without the tool that is to be used and the items that are named: they say where to look, not what for. */
function aboutIn(directive: string, { tools }: SimPrompt): string {
  const about = endsOf(directive).replace(ITEM_MENTION, ' ');
  return tools.reduce((text, { name }) => text.replaceAll(`${name} tool`, ' '), about);
}

/** Where a message stands: before or behind the directive, and whether anything was called or answered since. */
interface Place {
  readonly index: number;
  readonly isDirective: boolean;
  readonly current: boolean;
  readonly last: boolean;
}

/** What was read so far, message by message. */
class Reading {
  readonly said: { role: 'user' | 'assistant'; text: string }[] = [];
  readonly images: ImageBlock[] = [];
  readonly outcomes: Outcome[] = [];
  readonly made = new Set<string>();
  readonly corrections: Correction[] = [];
  readonly residues: Residue[] = [];
  reminder: Conversation['reminder'] = null;
  steps = 0;
  lastNote = '';
  standing: Correction | null = null;
  readonly #calls = new Map<string, ToolCallBlock>();
  readonly #directive: string;

  constructor(directive: string) {
    this.#directive = directive;
  }

  take({ role, content }: ChatMessage, place: Place): void {
    for (const block of content) {
      if (block.type === 'text') this.#text(role, block.text, place);
      else if (block.type === 'image') this.images.push(block);
      else if (block.type === 'tool_call') {
        this.#calls.set(block.id, block);
        if (place.current) this.made.add(callKey(block.name, block.args));
      } else if (block.type === 'tool_result') this.#result(block, place);
    }
    if (place.current && content.some((block) => block.type === 'tool_call')) this.steps += 1;
  }

  #text(role: 'user' | 'assistant', text: string, place: Place): void {
    if (role === 'user' && this.#notice(text, place)) return;
    if (role === 'user') this.lastNote = text;
    const correction = role === 'user' ? correctionIn(text) : null;
    if (correction !== null) this.#correct(correction, place);
    else if (!place.isDirective || stripSections(text) !== this.#directive) this.said.push({ role, text });
  }

  /** true when the text is one. */
  #notice(text: string, { index, current }: Place): boolean {
    const notice = noticeIn(text);
    if (notice?.kind === 'residue') {
      this.residues.push(notice);
      if (notice.note !== null) this.said.push({ role: 'user', text: notice.note });
    } else if (notice !== null && current) this.reminder = { ...notice, at: index };
    return notice !== null;
  }

  #result(block: ToolResultBlock, place: Place): void {
    const correction = correctionOf(block);
    if (correction !== null) this.#correct(correction, place);
    const { current, last, index: at } = place;
    const call = this.#calls.get(block.callId);
    this.outcomes.push({ ...outcomeOf(block, call, current, this.outcomes, this.said), at, last });
  }

  #correct(correction: Correction, { current, last }: Place): void {
    if (!current) return;
    this.corrections.push(correction);
    if (last) this.standing = correction;
  }
}

/** A long directive holds pasted text; what is asked stands at one of its ends. */
export function endsOf(directive: string): string {
  if (directive.length <= 2 * DIRECTIVE_END_CHARS) return directive;
  return `${directive.slice(0, DIRECTIVE_END_CHARS)} ${directive.slice(-DIRECTIVE_END_CHARS)}`;
}

export function callKey(name: string, args: Json): string {
  return `${name} ${canonicalJson(args)}`;
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
