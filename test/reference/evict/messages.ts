/** What a request carries of a head, message by message, with the bytes of every text. */

import { utf8Bytes } from './bytes.ts';
import {
  evictionsOf,
  type Fact,
  type ItemFact,
  isResident,
  isSwallowed,
  itemsOf,
  type ReminderFact,
  type ResultsFact,
  saidIn,
} from './facts.ts';
import { MESSAGE_BYTES, NO_RESULT, residueOf, stampOf, textBytes } from './words.ts';

type Plain = string | number | boolean | { readonly [member: string]: Plain };

export interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: readonly { readonly [member: string]: Plain }[];
}

/** What is the runtime's own choice, fixed as an item is made. An item is named by who recorded it first, and its number. */
export interface Given {
  /** What a prompt was sent under; null for nothing. */
  readonly tail: (origin: number, item: number) => string | null;
  /** What the ids of a message's calls begin with. */
  readonly ids: (origin: number, item: number) => string;
}

/** The tool that the calls of a script are made of; its argument counts them. */
export const TOOL = 'report';

export function messagesOf(facts: readonly Fact[], given: Given): readonly Message[] {
  const items = itemsOf(facts)
    .filter(({ item }) => isResident(facts, item))
    .map((fact) => ({ at: fact.item, messages: itemMessages(facts, fact, given) }));
  const residues = evictionsOf(facts)
    .filter((eviction) => !isSwallowed(facts, eviction))
    .map((eviction) => ({ at: eviction.from, messages: [said(residueOf(eviction))] }));
  return [...items, ...residues]
    .toSorted((one, other) => one.at - other.at)
    .flatMap(({ messages }) => messages);
}

function itemMessages(facts: readonly Fact[], fact: ItemFact, given: Given): readonly Message[] {
  const own = fact.role === 'user' ? [prompt(fact, given)] : reply(facts, fact, given);
  const reminders = facts.filter(
    (one): one is ReminderFact => one.fact === 'reminder' && one.item === fact.item,
  );
  return [
    ...own,
    ...saidIn(facts, fact.item).map(({ text }) => said(text)),
    ...reminders.map(({ text }) => said(text)),
  ];
}

function prompt({ origin, item, text }: ItemFact, { tail }: Given): Message {
  const before = tail(origin, item);
  const content = [...(before === null ? [] : [before]), text].map((one) => ({ type: 'text', text: one }));
  return { role: 'user', content };
}

function reply(facts: readonly Fact[], fact: ItemFact, { ids }: Given): readonly Message[] {
  const { item, origin } = fact;
  const results = facts.find((one): one is ResultsFact => one.fact === 'results' && one.item === item);
  return replyMessages({ ...fact, ids: ids(origin, item), contents: results?.contents ?? null });
}

export interface Reply extends Pick<ItemFact, 'item' | 'text' | 'calls' | 'edits'> {
  readonly ids: string;
  /** null before its results came. */
  readonly contents: readonly string[] | null;
}

export function replyMessages({ item, text, calls, contents, ...rest }: Reply): readonly Message[] {
  const made = callsOf({ calls, ...rest });
  const message: Message = { role: 'assistant', content: [{ type: 'text', text }, ...made] };
  if (calls === 0) return [message];
  const results = made.map(({ id, name }, at) => ({
    type: 'tool_result',
    callId: id,
    name,
    content: `${contents?.[at] ?? NO_RESULT}${stampOf(item)}`,
    isError: contents === null || (at >= calls && !isSurvey(contents[at])),
  }));
  return [message, { role: 'user', content: results }];
}

/** An edit that is taken is answered with how things stand after it. */
function isSurvey(content: string | undefined): boolean {
  return content?.startsWith('Context: ') === true;
}

function callsOf({ calls, edits, ids }: Pick<Reply, 'calls' | 'edits' | 'ids'>) {
  const reports = Array.from({ length: calls }, (_, part) => ({ name: TOOL, args: { part } as Plain }));
  const asked = edits.map(({ from, to, note }) => ({
    name: 'context',
    args: { op: 'evict', from, to, ...(note === null ? {} : { note }) } as Plain,
  }));
  return [...reports, ...asked].map((call, at) => ({ type: 'tool_call', id: `${ids}${at}`, ...call }));
}

const said = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });

/** As a request weighs it: texts, names, arguments and results, and something for every message. */
export function weigh(messages: readonly Message[]): number {
  const texts = messages.flatMap(({ content }) =>
    content.map((block) => {
      if (block.type === 'tool_call') return `${String(block.name)}${JSON.stringify(sorted(block.args))}`;
      return String(block.type === 'tool_result' ? block.content : block.text);
    }),
  );
  return texts.reduce((sum, text) => sum + utf8Bytes(text), MESSAGE_BYTES * messages.length);
}

function sorted(args: Plain | undefined): Plain {
  if (typeof args !== 'object') return args ?? '';
  return Object.fromEntries(Object.entries(args).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

export const promptBytes = (text: string, tail: string | null): number =>
  textBytes(text) + utf8Bytes(tail ?? '');
