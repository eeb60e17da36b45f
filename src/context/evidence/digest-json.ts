/** JSON: lists of links with every title and URL, other lists by length and first element, objects by their keys. */
import { byteLength } from '../../ledger/json.ts';
import { counted, type Form, IN_FULL_CHARS } from './digest-form.ts';
import { linkLine } from './digest-links.ts';
import { textForm } from './digest-text.ts';
import {
  compact,
  countOf,
  decoded,
  elementsOf,
  kindOf,
  membersOf,
  rootSpan,
  type Span,
} from './json-spans.ts';
import { countChars } from './window.ts';

/** Parsing holds several times its text in memory; a longer text is read as any other text is. */
const MAX_JSON_BYTES = 4 * 1_024 * 1_024;
/** How deep arrays are looked for below the top, as in `{"web": {"results": […]}}`. */
const MAX_DEPTH = 4;
/** An element too long to show is described key by key up to so many. */
const MAX_OUTLINED_KEYS = 100;
const KEY_CHARS = 200;
const PLAIN_KEY = /^[\w$.@-]+$/;
const SHORT_NUMBER_CHARS = 24;
const SCALAR = /^(?:-?\d[\d.eE+-]*|true|false|null)$/;

/** Null for text that is no JSON. */
export function jsonForm(text: string): Form | null {
  if (byteLength(text) > MAX_JSON_BYTES) return null;
  const json = text.trim();
  if (!isJson(json)) return null;
  const root = rootSpan(json);
  const kind = kindOf(json, root);
  switch (kind) {
    case 'array':
      return arrayForm(json, root);
    case 'object':
      return objectForm(json, root);
    case 'text':
      return stringForm(json, root);
    default:
      return { body: inFull(json, root), shape: kind };
  }
}

function isJson(trimmed: string): boolean {
  if (!/^[[{"]/.test(trimmed) && !SCALAR.test(trimmed)) return false;
  try {
    JSON.parse(trimmed);
    return true;
  } catch {
    return false;
  }
}

function arrayForm(text: string, root: Span): Form {
  const { body, shape } = describeArray(text, root);
  return { body: `JSON ${body}`, shape };
}

/** Nested arrays stand below the keys, each under the path that leads to it. */
function objectForm(text: string, root: Span): Form {
  const names = Array.from(membersOf(text, root), ({ name }) => keyName(text, name));
  const head = `JSON object of ${counted(names.length, 'key')}${names.length === 0 ? '' : `: ${names.join(', ')}`}`;
  const arrays = [...arraysBelow(text, root, '', MAX_DEPTH)];
  const links = arrays.reduce((sum, array) => sum + array.links, 0);
  const shape = links > 0 ? listOf(links) : `object of ${counted(names.length, 'key')}`;
  return { body: [head, ...arrays.map(({ body }) => body)].join('\n'), shape };
}

/** A long text inside quotes is a text all the same. */
function stringForm(text: string, root: Span): Form {
  const value = decoded(text, root);
  if (countChars(value) > IN_FULL_CHARS) return textForm(value);
  return { body: text.slice(root.start, root.end), shape: 'text' };
}

interface ArrayForm extends Form {
  /** How many of its items are links; 0 unless it is a list of them. */
  readonly links: number;
}

function* arraysBelow(text: string, object: Span, path: string, depth: number): Generator<ArrayForm> {
  for (const { name, value } of membersOf(text, object)) {
    const kind = kindOf(text, value);
    if (kind !== 'array' && kind !== 'object') continue;
    const place = `${path}${keyName(text, name)}`;
    if (kind === 'array') {
      const described = describeArray(text, value);
      yield { ...described, body: `${place}: ${described.body}` };
    } else if (depth > 1) yield* arraysBelow(text, value, `${place}.`, depth - 1);
  }
}

/** Search results may have a stray item without a link: the list is one of links when most of it is. */
function describeArray(text: string, array: Span): ArrayForm {
  const links: string[] = [];
  let first: Span | null = null;
  let count = 0;
  for (const element of elementsOf(text, array)) {
    count += 1;
    first ??= element;
    const link = linkLine(text, element);
    if (link !== null) links.push(link);
  }
  const shape = `array of ${count}`;
  if (first === null) return { body: shape, shape, links: 0 };
  if (links.length * 2 <= count) {
    return { body: `${shape}, the first: ${inFull(text, first)}`, shape, links: 0 };
  }
  const others = count - links.length;
  const head = `${listOf(links.length)}${others === 0 ? '' : ` and ${counted(others, 'other item')}`}:`;
  return { body: [head, ...links].join('\n'), shape: listOf(links.length), links: links.length };
}

function listOf(links: number): string {
  return `list of ${counted(links, 'link')}`;
}

/** The value itself, or what it is made of when it is too long to be shown. */
function inFull(text: string, span: Span): string {
  const value = compact(text, span);
  if (value.length <= IN_FULL_CHARS) return value;
  const chars = countChars(value);
  if (chars <= IN_FULL_CHARS) return value;
  const size = sizeOf(text, span);
  if (kindOf(text, span) === 'array') return `${size} in ${chars} characters`;
  if (kindOf(text, span) !== 'object') return size;
  const members = [...membersOf(text, span)];
  if (members.length > MAX_OUTLINED_KEYS) return `${size} in ${chars} characters`;
  const outlined = members.map((member) => `${keyName(text, member.name)}: ${sizeOf(text, member.value)}`);
  return `${size} in ${chars} characters; ${outlined.join(', ')}`;
}

function sizeOf(text: string, span: Span): string {
  switch (kindOf(text, span)) {
    case 'object':
      return `object of ${counted(countOf(membersOf(text, span)), 'key')}`;
    case 'array':
      return `array of ${countOf(elementsOf(text, span))}`;
    case 'text':
      return `text of ${counted(countChars(decoded(text, span)), 'character')}`;
    case 'number':
      return span.end - span.start <= SHORT_NUMBER_CHARS
        ? text.slice(span.start, span.end)
        : `number of ${span.end - span.start} digits`;
    default:
      return text.slice(span.start, span.end);
  }
}

/** Bare when nothing in it could be taken for what stands around it. */
function keyName(text: string, name: Span): string {
  const key = decoded(text, name);
  if (key.length > KEY_CHARS) return `(a key of ${countChars(key)} characters)`;
  return PLAIN_KEY.test(key) ? key : JSON.stringify(key);
}
