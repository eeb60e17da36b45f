/** Follows what the visible text says of text that is not visible: calls it spells out, evidence it names. */
import type { Json } from '../../ledger/json.ts';
import { asObject } from '../untyped.ts';
import { fillArguments, type Subject } from './arguments.ts';
import { callKey } from './conversation.ts';
import { asksForTurn, type Outcome, TURN_NAME } from './outcome.ts';
import { turnLineOf } from './pointers.ts';
import { type PlannedCall, type Situation, targetsOf } from './situation.ts';
import { holds, samePath } from './terms.ts';
import { affinity, type KnownTool, type ToolRole, toolFor } from './toolbox.ts';

/** `name({…})` with one level of nesting. */
const SPELLED_CALL = /\b([A-Za-z_]\w*)\((\{(?:[^{}\n]|\{[^{}\n]*\})*\})\)/g;
const EVIDENCE_TAG = /\[evidence:\s*([\w-]+)/g;
/** A line of a list of ids: `- e7: …`. */
const ID_LINE = /^\s*[-*]\s*([a-z]{1,3}\d{1,6})\b/;
const LABEL = /\b[A-Z]\d+\b/g;
/** A text from this share of the terms on may hold the answer in its unseen part. */
const MIN_TERM_SHARE = 0.5;
const MIN_TURN_SHARE = 0.6;
const MAX_RECALLS = 1;
/** Calls that look into the past, in one turn, before what they name is no longer followed blindly. */
const MAX_OPENS = 3;
/** The first evidence id on a turn's line: `read → e5`. */
const EVIDENCE_ID = /→\s*([a-z]{1,3}\d{1,6})\b/;
const HIDES = /\b(?:not shown|summari[sz]ed|left out|hidden)\b/i;

interface Lead {
  readonly call: PlannedCall;
  /** Share of the directive's terms around it, 1 more when it is about the file asked for, and a little for what was opened. */
  readonly worth: number;
}

/** At most one call: the lead whose surroundings say most of what is asked. */
export function recallCalls(situation: Situation): readonly PlannedCall[] {
  const { conversation } = situation;
  const names = targetsOf(conversation).length > 0;
  const leads = texts(situation)
    .flatMap((text) => {
      const found = leadsIn(text, situation);
      // Of a file that is named, what earlier turns say of something else tells little.
      return names && !text.whole ? found.filter((lead) => lead.worth >= 1 + MIN_TERM_SHARE) : found;
    })
    .filter((lead) => !conversation.made.has(callKey(lead.call.name, lead.call.args)));
  const best = leads.toSorted((left, right) => right.worth - left.worth).slice(0, MAX_RECALLS);
  const worthwhile = best.filter((lead) => lead.worth >= MIN_TERM_SHARE).map((lead) => lead.call);
  return worthwhile.length > 0 ? worthwhile : queryCalls(situation);
}

interface Text {
  readonly content: string;
  readonly path: string | null;
  /** A result of this turn stands whole unless it spells out a call for the rest. */
  readonly whole: boolean;
  /** It tells of earlier turns, which lines of it stand for. */
  readonly past: boolean;
  /** Asked for in this turn: what it names is looked at whatever words stand around it. */
  readonly opened: boolean;
}

function texts({ conversation, tools }: Situation): readonly Text[] {
  const { outcomes } = conversation;
  const retrieving = new Set(tools.filter((one) => one.role === 'retrieve').map((one) => one.tool.name));
  const opens = outcomes.filter((one) => one.current && retrieving.has(one.name)).length;
  const results = outcomes.map((one) => ({
    content: one.content,
    path: one.path,
    whole: one.current && !one.past,
    past: one.past,
    opened: one.current && one.past && !one.failed && opens < MAX_OPENS && namesTurns(one),
  }));
  const said = conversation.said.map((one) => ({
    content: one.text,
    path: null,
    whole: false,
    past: one.role === 'user',
    opened: false,
  }));
  return [...said, ...results];
}

/** One turn, or a list of turns; not the news that none was found. */
function namesTurns({ args, content }: Outcome): boolean {
  if (asksForTurn(args)) return true;
  return content.split('\n').some((line) => turnLineOf(line) !== null);
}

function leadsIn(text: Text, situation: Situation): readonly Lead[] {
  const spelled = spelledLeads(text, situation);
  const retrieve = toolFor('retrieve', situation.tools, situation.conversation.terms);
  if (retrieve?.key == null || text.whole) return spelled;
  if (spelled.length > 0 && !text.past) return spelled;
  const leads = [...spelled];
  for (const match of text.content.matchAll(EVIDENCE_TAG)) {
    const preset = { [retrieve.key.name]: match[1] ?? '' };
    const call = { name: retrieve.tool.name, args: fillArguments(retrieve, preset, situation.subject) };
    leads.push({ call, worth: worthOf(text, match.index, situation) });
  }
  if (leads.length === 0) leads.push(...listedLeads(text, retrieve, situation));
  return text.past ? [...leads, ...turnLeads(text, retrieve, situation)] : leads;
}

/** Calls written out in full; one with a blank for an argument is a pattern, not a call. */
function spelledLeads(text: Text, situation: Situation): readonly Lead[] {
  const leads: Lead[] = [];
  for (const match of text.content.matchAll(SPELLED_CALL)) {
    const known = situation.tools.find((one) => one.tool.name === match[1]);
    const args = known === undefined ? null : parseLoose(match[2] ?? '');
    if (known === undefined || args === null || hasBlank(args)) continue;
    const around = text.past ? lineAt(text, match.index) : text;
    const at = text.past ? 0 : match.index;
    leads.push({ call: { name: known.tool.name, args }, worth: worthOf(around, at, situation) });
  }
  return leads;
}

/** A line that stands for a turn leads to that turn, or to its evidence where turns cannot be asked for. */
function turnLeads(text: Text, retrieve: KnownTool, situation: Situation): readonly Lead[] {
  const { key, tool } = retrieve;
  const byTurn = retrieve.properties.find((one) => TURN_NAME.test(one.name));
  const leads: Lead[] = [];
  for (const line of text.content.split('\n')) {
    const turn = turnLineOf(line);
    if (turn === null || key === null) continue;
    const id = EVIDENCE_ID.exec(line)?.[1];
    const args: Json | null =
      byTurn !== undefined
        ? { [byTurn.name]: turn.turn }
        : id === undefined
          ? null
          : fillArguments(retrieve, { [key.name]: id }, situation.subject);
    const worth = worthOf({ ...text, content: line, path: null }, 0, situation);
    // Half of the words are met by many lines that are about something else.
    if (args !== null && (text.opened || worth >= MIN_TURN_SHARE))
      leads.push({ call: { name: tool.name, args }, worth });
  }
  return leads;
}

function lineAt(text: Text, at: number): Text {
  const start = text.content.lastIndexOf('\n', at) + 1;
  const end = text.content.indexOf('\n', at);
  return { ...text, content: text.content.slice(start, end === -1 ? undefined : end), path: null };
}

function hasBlank(args: Json): boolean {
  return Object.values(asObject(args) ?? {}).some(
    (value) => typeof value === 'string' && /^(?:…|\.{3}|<[^>]*>|)$/.test(value.trim()),
  );
}

/** A summary may list ids under the name of the tool that returns them, each with the label of what it belongs to. */
function listedLeads(text: Text, retrieve: KnownTool, situation: Situation): readonly Lead[] {
  if (retrieve.key === null || !text.content.includes(`${retrieve.tool.name}(`)) return [];
  const { key } = retrieve;
  const lines = text.content.split('\n');
  return lines.flatMap((line) => {
    const id = ID_LINE.exec(line)?.[1];
    if (id === undefined) return [];
    const labels = line.match(LABEL) ?? [];
    const related = lines.filter((other) =>
      labels.some((label) => new RegExp(`^\\W*${label}\\b`).test(other)),
    );
    const around = { ...text, content: [line, ...related].join('\n'), path: null };
    const call = {
      name: retrieve.tool.name,
      args: fillArguments(retrieve, { [key.name]: id }, situation.subject),
    };
    return [{ call, worth: worthOf(around, 0, situation) }];
  });
}

/** Judged by the paragraph a lead stands in, since one text may name many. */
function worthOf(text: Text, at: number, { conversation }: Situation): number {
  const start = text.content.lastIndexOf('\n\n', at) + 1;
  const end = text.content.indexOf('\n\n', at);
  const around = text.content.slice(start, end === -1 ? undefined : end);
  const whole = text.path === null ? around : text.content;
  const lower = `${text.path ?? ''} ${whole}`.toLowerCase();
  const { terms } = conversation;
  const share = terms.length === 0 ? 0 : terms.filter((term) => holds(lower, term)).length / terms.length;
  const targets = targetsOf(conversation);
  const about = targets.some((file) =>
    text.path === null ? lower.includes(file.toLowerCase()) : samePath(text.path, file),
  );
  return share + (about ? 1 : 0) + (text.opened ? MIN_TERM_SHARE : 0);
}

/** Where earlier text says that it hides turns and names the tool, asks that tool by the directive's words. */
function queryCalls(situation: Situation): readonly PlannedCall[] {
  const { conversation, tools, subject } = situation;
  const known = tools.find((one) => one.role === 'retrieve' && queryOf(one) !== undefined);
  const query = known === undefined ? undefined : queryOf(known);
  if (known === undefined || query === undefined || conversation.terms.length === 0) return [];
  const told = conversation.said.some(
    ({ role, text }) => role === 'user' && text.includes(known.tool.name) && HIDES.test(text),
  );
  if (!told || otherToolsFirst(situation)) return [];
  return [callByWords(known, query, subject)];
}

/** Asks a tool that searches the past by the words of what is asked; null for one that takes no query. */
export function searchCall(known: KnownTool, subject: Subject): PlannedCall | null {
  const query = known.role === 'retrieve' ? queryOf(known) : undefined;
  return query === undefined || subject.terms.length === 0 ? null : callByWords(known, query, subject);
}

function callByWords(
  known: KnownTool,
  query: KnownTool['properties'][number],
  subject: Subject,
): PlannedCall {
  const words = subject.terms.map((term) => term.word).join(' ');
  const args = fillArguments({ ...known, properties: [query] }, { [query.name]: words }, subject);
  return { name: known.tool.name, args };
}

/** The directive names files or speaks of them by shape, and there are tools for that; or another tool is meant. */
export function otherToolsFirst({ conversation, tools }: Situation): boolean {
  const { globs, quoted } = conversation.shapes;
  const has = (role: ToolRole): boolean => tools.some((one) => one.role === role);
  if (targetsOf(conversation).length > 0 && has('fetch')) return true;
  if ((globs.length > 0 && has('list')) || (quoted.length > 0 && has('search'))) return true;
  const best = tools.filter((one) => one.role === 'other').map((one) => affinity(one, conversation.terms));
  return Math.max(0, ...best) >= 3;
}

function queryOf(known: KnownTool) {
  return known.properties.find((one) => /^(?:query|text|search)$/i.test(one.name));
}

/** JSON, or the same with bare keys and single quotes, as a sentence may spell it. */
function parseLoose(text: string): Json | null {
  for (const candidate of [
    text,
    text.replace(/'/g, '"').replace(/([{,]\s*)([A-Za-z_]\w*)\s*:/g, '$1"$2":'),
  ]) {
    try {
      return asObject(JSON.parse(candidate)) as Json;
    } catch {
      // The next form is tried.
    }
  }
  return null;
}
