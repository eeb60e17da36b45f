/** Shows what was found in the form that is asked for: one call of the tool of that form, then a short text. */
import type { Json, JsonObject } from '../../ledger/json.ts';
import { asArray, asNumber, asObject, asString, type Untyped } from '../untyped.ts';
import { choose } from './answering.ts';
import { valueFor } from './arguments.ts';
import type { Conversation } from './conversation.ts';
import { sentencesOf, withoutGutter } from './evidence.ts';
import type { PlannedCall, Situation } from './situation.ts';
import { holds } from './terms.ts';
import { affinity, type KnownTool, ordered, type Property, wordsOf } from './toolbox.ts';

const ASKS_TO_SHOW =
  /\b(?:show|present|display|render|draw|plot|put|give|make|create|emit|build|turn|write|as)\b/i;
/** Words of a tool's name that say no form. */
const PLAIN_NAME_WORDS: ReadonlySet<string> = new Set(
  'emit show present display render draw make create card cards tool a an the'.split(' '),
);
const MAX_FACTS = 4;
const MAX_TEXT_CHARS = 200;
const MAX_LABEL_CHARS = 60;
const LABELLED = /^(.{2,60}?)(?:\s+(?:is|are|was|were|has|costs?|equals)\s|\s*[:=]\s)/i;
const FIGURE = /-?\d[\d,]*(?:\.\d+)?/;
const DATE = /\b\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?\b/;
const URL = /\bhttps?:\/\/[^\s"'<>)\]]+/;
/** Two columns: what a fact is about and what it says. */
const COLUMNS = ['Item', 'Finding'] as const;

interface Fact {
  readonly text: string;
  readonly label: string;
  readonly figure: number | null;
  readonly unit: string;
  readonly path: string | null;
}

/** The tool whose name the last text orders, else whose form the directive asks for. */
export function presenterFor(conversation: Conversation, tools: readonly KnownTool[]): KnownTool | undefined {
  const { directive, lastNote, terms } = conversation;
  const presenters = tools.filter((known) => known.role === 'present');
  const named = presenters.find((known) => ordered(known.tool.name, lastNote));
  if (named !== undefined) return named;
  if (!ASKS_TO_SHOW.test(directive)) return undefined;
  const formed = presenters.find((known) => formsOf(known).some((form) => asksForForm(directive, form)));
  if (formed !== undefined || !asksForForm(directive, 'card')) return formed;
  return presenters.toSorted((left, right) => affinity(right, terms) - affinity(left, terms))[0];
}

/** Neither the form nor the order to show is a part of what is looked for. */
export function aboutSubject(conversation: Conversation, presenter: KnownTool | undefined): Conversation {
  if (presenter === undefined) return conversation;
  const form = `${wordsOf(presenter.tool.name)} card cards`;
  const terms = conversation.terms.filter((term) => !holds(form, term) && !ASKS_TO_SHOW.test(term.word));
  return { ...conversation, terms };
}

/** The call, the text after it, or null when there is nothing to show. */
export function present(known: KnownTool, situation: Situation): PlannedCall | string | null {
  const { outcomes } = situation.conversation;
  const shown = outcomes.find((one) => one.current && one.name === known.tool.name);
  if (shown !== undefined) return shown.failed ? null : closing(known, shown.args);
  const facts = factsOf(situation);
  if (facts.length === 0) return null;
  const filler = new Filler(facts, situation);
  return { name: known.tool.name, args: filler.object(known.tool.inputSchema, facts) };
}

function formsOf(known: KnownTool): readonly string[] {
  return wordsOf(known.tool.name)
    .split(' ')
    .filter((word) => word !== '' && !PLAIN_NAME_WORDS.has(word));
}

/** `as a table`, `a short checklist`, `as cards`. */
function asksForForm(directive: string, form: string): boolean {
  const escaped = form.replace(/[^\w]/g, '\\$&');
  return new RegExp(`\\b(?:as|in|into|an?)\\s+(?:[\\w-]+\\s+){0,2}${escaped}s?\\b`, 'i').test(directive);
}

function closing(known: KnownTool, args: Json): string {
  const [form = 'card'] = formsOf(known);
  const title = asString(asObject(args)?.title);
  return title === null ? `The ${form} shows what was found.` : `The ${form} shows: ${title}.`;
}

/** What was found; else what the directive itself brings behind a colon or in lines. */
function factsOf(situation: Situation): readonly Fact[] {
  const found = choose(situation).map((unit) => factOf(unit.text, unit.path));
  if (found.length > 0) return found.slice(0, MAX_FACTS);
  const { directive } = situation.conversation;
  const colon = directive.indexOf(':');
  const own = colon === -1 ? '' : directive.slice(colon + 1);
  const items = own.includes('\n') ? own.split('\n') : own.split(/[;,]\s+/);
  return items
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map((item) => factOf(item, null));
}

function factOf(line: string, path: string | null): Fact {
  const text = withoutGutter(line).trim();
  const label = (LABELLED.exec(text)?.[1] ?? text.split(/\s+/).slice(0, 4).join(' ')).slice(
    0,
    MAX_LABEL_CHARS,
  );
  const rest = text.slice(label.length);
  const figure = FIGURE.exec(rest);
  const unit =
    figure === null
      ? ''
      : (/^\s?(%|[\p{L}°€$£]+)/u.exec(rest.slice(figure.index + figure[0].length))?.[1] ?? '');
  return { text, label, figure: figure === null ? null : Number(figure[0].replaceAll(',', '')), unit, path };
}

/** Fills a schema from facts: one element of a list for each, the first of them where one is asked for. */
class Filler {
  readonly #all: readonly Fact[];
  readonly #situation: Situation;

  constructor(all: readonly Fact[], situation: Situation) {
    this.#all = all;
    this.#situation = situation;
  }

  /** Required members and the unit of a figure; all of them where none is required. */
  object(schema: Untyped, facts: readonly Fact[]): JsonObject {
    const required = asArray(schema.required) ?? [];
    const members = Object.entries(asObject(schema.properties) ?? {});
    const unit = facts[0]?.unit ?? '';
    const wanted = members.filter(
      ([name]) => required.length === 0 || required.includes(name) || (name === 'unit' && unit !== ''),
    );
    if (members.length === 0)
      return { [COLUMNS[0]]: facts[0]?.label ?? '', [COLUMNS[1]]: facts[0]?.text ?? '' };
    return Object.fromEntries(
      wanted.map(([name, value]) => [name, this.value(name, asObject(value) ?? {}, facts)]),
    );
  }

  value(name: string, schema: Untyped, facts: readonly Fact[]): Json {
    const figure = facts[0]?.figure ?? null;
    const options = (asArray(schema.anyOf) ?? asArray(schema.oneOf) ?? [])
      .map(asObject)
      .filter((one) => one !== null);
    const fitting = options.find((one) => one.type !== 'null' && (figure !== null || !isNumeric(one)));
    const option = fitting ?? options.find((one) => one.type === 'null') ?? options[0];
    if (option !== undefined) return this.value(name, option, facts);
    const property: Property = { name, schema, required: true, text: describing(name, schema) };
    if (schema.const !== undefined || asArray(schema.enum) !== null)
      return valueFor(property, this.#situation.subject);
    const type = [schema.type].flat().find((one) => one !== 'null');
    if (type === 'array') return this.list(name, schema, facts);
    if (type === 'object') return this.object(schema, facts);
    if ((type === 'number' || type === 'integer') && figure !== null && within(figure, schema))
      return type === 'integer' ? Math.round(figure) : figure;
    if (type === 'string' || type === undefined) return this.text(property, facts[0]);
    return valueFor(property, this.#situation.subject);
  }

  list(name: string, schema: Untyped, facts: readonly Fact[]): Json {
    const items = asObject(schema.items) ?? {};
    if (asArray(items.enum) !== null)
      return valueFor(
        { name, schema, required: true, text: describing(name, schema) },
        this.#situation.subject,
      );
    if (/column|header/i.test(name))
      return COLUMNS.map((label) => this.value(name, items, [{ ...NO_FACT, text: label, label }]));
    const least = asNumber(schema.minItems) ?? 0;
    const groups: readonly (readonly Fact[])[] = holdsList(items) ? [facts] : facts.map((fact) => [fact]);
    const most = asNumber(schema.maxItems) ?? groups.length;
    const count = Math.max(least, Math.min(groups.length, most));
    return Array.from({ length: count }, (_, at): Json => {
      const group = groups[at % Math.max(1, groups.length)] ?? this.#all;
      if (items.type !== 'array') return this.value(name, items, group);
      const cell = asObject(items.items) ?? {};
      return [group[0]?.label ?? '', group[0]?.text ?? ''].map((text) =>
        this.value('cell', cell, [{ ...(group[0] ?? NO_FACT), text }]),
      );
    });
  }

  text({ name, schema, text }: Property, fact: Fact = NO_FACT): string {
    const most = asNumber(schema.maxLength) ?? MAX_TEXT_CHARS;
    return this.#words(name, text, fact).slice(0, most);
  }

  #words(name: string, about: string, fact: Fact): string {
    if (/title|heading|caption/i.test(name)) return titleOf(this.#situation.conversation);
    if (/^(?:url|uri|href|link)$/i.test(name)) return this.#url() ?? fact.path ?? fact.label;
    if (/source/i.test(name)) return fact.path ?? fact.label;
    if (/^(?:date|time|when|at|start|end|timestamp)$/i.test(name))
      return DATE.exec(fact.text)?.[0] ?? fact.label;
    if (/unit/i.test(name)) return fact.unit;
    if (/^(?:value|amount|figure|number)$/i.test(name))
      return fact.figure === null ? fact.text : String(fact.figure);
    if (
      /^(?:columns?|headers?|labels?|names?|keys?|terms?|x|series)$/i.test(name) ||
      /\bname of\b/.test(about)
    )
      return fact.label;
    return fact.text;
  }

  #url(): string | null {
    for (const { content } of this.#situation.conversation.outcomes) {
      const found = URL.exec(content);
      if (found !== null) return found[0];
    }
    return null;
  }
}

const NO_FACT: Fact = { text: '', label: '', figure: null, unit: '', path: null };

/** The subject words in their order; the first sentence of the directive when it has none. */
function titleOf({ directive, terms }: Conversation): string {
  const words = terms.map((term) => term.word).join(' ');
  const title = words === '' ? (sentencesOf(directive)[0] ?? '') : words;
  return title.charAt(0).toUpperCase() + title.slice(1, MAX_LABEL_CHARS);
}

function describing(name: string, schema: Untyped): string {
  return `${wordsOf(name)} ${(asString(schema.description) ?? '').toLowerCase()}`;
}

function within(figure: number, schema: Untyped): boolean {
  const low = asNumber(schema.minimum) ?? Number.NEGATIVE_INFINITY;
  const high = asNumber(schema.maximum) ?? Number.POSITIVE_INFINITY;
  return figure >= low && figure <= high;
}

function isNumeric({ type }: Untyped): boolean {
  return type === 'number' || type === 'integer';
}

/** An object with a list among its members holds all facts at once. */
function holdsList(items: Untyped): boolean {
  return Object.values(asObject(items.properties) ?? {}).some((member) => asObject(member)?.type === 'array');
}
