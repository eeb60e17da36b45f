/**
 * The sections of the system text that name what a request does not carry: tools that wait, skills, servers; and the
 * text of the skills that were activated. They follow from what a session admits, never from what its turns are about.
 */

import { escapeMarkers, tagged } from '../context/assemble/markers.ts';
import type { ServerListing } from '../context/assemble/prefix.ts';
import { firstSentence } from '../context/first-sentence.ts';
import { oneLine } from '../context/one-line.ts';
import type { Tool } from './contract.ts';

/** Words of a tool's first sentence, and of a skill's description, that a line shows. */
const TOOL_WORDS = 40;
const SKILL_WORDS = 60;
const SENTENCE_END = /[.!?](?=["'”’)\]]*(?:\s|$))/u;
/** A server says by itself what its tools are called: what is no plain name has no place in a system text. */
const PLAIN_NAME = /^[\w.:/-]{1,64}$/;
/** Tools of one server that its line names. */
const LISTED_TOOLS = 40;

const MORE_TOOLS = 'More tools. Their schemas are not loaded; each may be called by its name all the same.';
const FINDABLE =
  'find_tools({"query":"what it should do"}) shows those that fit with their schemas, and loads them.';
const SKILLS =
  'Instructions for kinds of work. activate_skill({"name":"…"}) brings those of one into this text.';
const SERVERS =
  'Servers behind the tool mcp, with the tools they were last seen to have: mcp({"action":"list","server":"…"}) shows them.';

const [SERVERS_BEGIN = '', SERVERS_END = ''] = tagged('servers', '|').split('|');

/** Empty without tools. `findable`: the session may call `find_tools`. */
export function moreTools(tools: readonly Tool[], findable: boolean): string {
  const lines = tools.map(({ name, description }) =>
    lineOf(name, firstSentence(opening(description), TOOL_WORDS)),
  );
  return section('more_tools', findable ? `${MORE_TOOLS} ${FINDABLE}` : MORE_TOOLS, lines);
}

/** Empty without skills. */
export function skillList(
  skills: readonly { readonly name: string; readonly description: string }[],
): string {
  const sorted = skills.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return section(
    'skills',
    SKILLS,
    sorted.map(({ name, description }) => lineOf(name, firstSentence(oneLine(description), SKILL_WORDS))),
  );
}

/** Empty without servers. One that was not listed yet stands by its name alone. */
export function serverList(names: readonly string[], listings: readonly ServerListing[]): string {
  const lines = names.map((name) =>
    serverLine(
      name,
      listings.find((listing) => listing.name === name),
    ),
  );
  return section('servers', SERVERS, lines);
}

/** The system text with a server's line as it was listed now; its line is the last of its kind in the text. */
export function withListing(system: string, listing: ServerListing): string {
  const line = serverLine(listing.name, listing);
  const from = system.lastIndexOf(SERVERS_BEGIN);
  const to = from === -1 ? -1 : system.indexOf(SERVERS_END, from);
  if (to === -1) return `${system}\n\n${section('servers', SERVERS, [line])}`;
  const lines = system.slice(from + SERVERS_BEGIN.length, to).split('\n');
  const at = lines.findIndex((one) => one === listing.name || one.startsWith(`${listing.name}: `));
  const now = at === -1 ? [...lines, line] : lines.with(at, line);
  return `${system.slice(0, from + SERVERS_BEGIN.length)}${now.join('\n')}${system.slice(to)}`;
}

/** A skill's instructions as the system text ends with them. */
export function skillText(name: string, body: string): string {
  return tagged('skill', escapeMarkers(body.trim()), ` name="${name}"`);
}

function section(
  tag: 'more_tools' | 'skills' | 'servers',
  heading: string,
  lines: readonly string[],
): string {
  return lines.length === 0 ? '' : tagged(tag, [heading, ...lines].join('\n'));
}

function lineOf(name: string, text: string): string {
  return escapeMarkers(`${name} — ${text}`);
}

/** The first sentence, however short the whole is. */
function opening(description: string): string {
  const line = oneLine(description);
  const end = SENTENCE_END.exec(line);
  return end === null ? line : line.slice(0, end.index + 1);
}

function serverLine(name: string, listing: ServerListing | undefined): string {
  if (listing === undefined) return name;
  const plain = listing.tools.filter((tool) => PLAIN_NAME.test(tool));
  const shown = plain.slice(0, LISTED_TOOLS);
  const more = listing.tools.length - shown.length;
  return `${name}: ${[...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ') || 'no tools'}`;
}
