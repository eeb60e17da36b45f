/** What the system text lists by name: tools that are not offered yet, skills, servers. */
import { holds, type Term } from './terms.ts';
import { wordsOf } from './toolbox.ts';

type ListedKind = 'tool' | 'skill' | 'server';

export interface Listed {
  readonly kind: ListedKind;
  readonly name: string;
  /** What is said of it. */
  readonly line: string;
}

/** `name — what it does` or `- name: what it does`. */
const ITEM = /^\s*(?:[-*]\s+)?[`*]{0,2}([A-Za-z][\w.-]{0,63})[`*]{0,2}(?:\s+[—–-]{1,2}\s+|:\s+)(\S.*)$/;
/** A server that was not listed yet stands by its name alone. */
const BARE = /^\s*(?:[-*]\s+)?([A-Za-z][\w.-]{0,63})\s*$/;
const OPENS = /^\s*<([a-z_][\w-]*)(?:\s[^<>]*)?>\s*$/i;
const CLOSES = /^\s*<\/([a-z_][\w-]*)>\s*$/i;
const LIST_TAGS = ['more_tools', 'skills', 'servers'] as const;
const MAX_LINE_CHARS = 400;

/** A heading, a tag or a sentence says of what kind the lines below it are; a skill's own text lists nothing. */
export function listedIn(system: string): readonly Listed[] {
  const found: Listed[] = [];
  let kind: ListedKind | null = null;
  let inside: string | null = null;
  for (const whole of system.split('\n')) {
    const line = whole.slice(0, MAX_LINE_CHARS);
    const closed = CLOSES.exec(line)?.[1];
    if (closed !== undefined) {
      if (closed === inside) inside = null;
      kind = null;
      continue;
    }
    if (inside !== null) continue;
    const opened = OPENS.exec(line)?.[1];
    if (opened?.toLowerCase() === 'skill') inside = opened;
    const item =
      opened !== undefined ? null : (ITEM.exec(line) ?? (kind === 'server' ? BARE.exec(line) : null));
    if (item === null) kind = kindOf(opened ?? line) ?? (line.startsWith('#') ? null : kind);
    else if (kind !== null) found.push({ kind, name: item[1] ?? '', line: item[2] ?? '' });
  }
  return found;
}

/** The text without the sections that only list: what they say of a tool answers nobody. */
export function withoutLists(system: string): string {
  let left = system;
  for (const tag of LIST_TAGS) {
    const from = left.indexOf(`<${tag}>`);
    const to = from === -1 ? -1 : left.indexOf(`</${tag}>`, from);
    if (to !== -1) left = `${left.slice(0, from)}${left.slice(to + tag.length + 3)}`;
  }
  return left;
}

/** Terms met by what is listed, those of the name counting twice. */
export function listedAffinity({ name, line }: Listed, terms: readonly Term[]): number {
  const own = wordsOf(name);
  const about = line.toLowerCase();
  return terms.reduce((sum, term) => sum + (holds(own, term) ? 2 : holds(about, term) ? 1 : 0), 0);
}

function kindOf(text: string): ListedKind | null {
  const words = wordsOf(text);
  if (/\bskills?\b/.test(words)) return 'skill';
  if (/\bservers?\b/.test(words)) return 'server';
  return /\btools?\b/.test(words) ? 'tool' : null;
}
