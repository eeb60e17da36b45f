/** Fills the arguments of a tool that shows something, member by member, from the facts that are to be shown. */
import type { Json, JsonObject } from '../../ledger/json.ts';
import { asArray, asNumber, asObject, asString, type Untyped } from '../untyped.ts';
import { valueFor } from './arguments.ts';
import type { Conversation } from './conversation.ts';
import { sentencesOf } from './evidence.ts';
import { cut, type Fact, NO_FACT, urlsIn } from './facts.ts';
import type { Situation } from './situation.ts';
import { type Property, wordsOf } from './toolbox.ts';

const MAX_TEXT_CHARS = 200;
const MAX_LABEL_CHARS = 60;
const DATE = /\b\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?\b/;
/** Two columns: what a fact is about and what it says. */
const COLUMNS = ['Item', 'Finding'] as const;

/** Fills a schema from facts: one element of a list for each, the first of them where one is asked for. */
export class Filler {
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
    return cut(this.#words(name, text, fact), most);
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

  /** What this turn found comes before what earlier ones did. */
  #url(): string | null {
    const { outcomes } = this.#situation.conversation;
    for (const current of [true, false]) {
      for (const one of outcomes.filter((outcome) => outcome.current === current)) {
        const [found] = urlsIn(one.content);
        if (found !== undefined) return found;
      }
    }
    return null;
  }
}

/** The subject words in their order; the first sentence of the directive when it has none. */
function titleOf({ directive, terms }: Conversation): string {
  const words = terms.map((term) => term.word).join(' ');
  const title = words === '' ? (sentencesOf(directive)[0] ?? '') : words;
  return cut(title.charAt(0).toUpperCase() + title.slice(1), MAX_LABEL_CHARS);
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
