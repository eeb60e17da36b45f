/** Follows what the visible text says of text that is not visible: calls it spells out, evidence it names. */
import type { Json } from '../../ledger/json.ts';
import { asObject } from '../untyped.ts';
import { fillArguments } from './arguments.ts';
import { callKey } from './conversation.ts';
import { type PlannedCall, type Situation, targetsOf } from './situation.ts';
import { holds, samePath } from './terms.ts';
import { affinity, type KnownTool, toolFor } from './toolbox.ts';

/** `name({…})` with one level of nesting. */
const SPELLED_CALL = /\b([A-Za-z_]\w*)\((\{(?:[^{}\n]|\{[^{}\n]*\})*\})\)/g;
const EVIDENCE_TAG = /\[evidence:\s*([\w-]+)/g;
/** A line of a list of ids: `- e7: …`. */
const ID_LINE = /^\s*[-*]\s*([a-z]{1,3}\d{1,6})\b/;
const LABEL = /\b[A-Z]\d+\b/g;
/** A text from this share of the terms on may hold the answer in its unseen part. */
const MIN_TERM_SHARE = 0.5;
const MAX_RECALLS = 1;

interface Lead {
  readonly call: PlannedCall;
  /** 0 to 2: share of the directive's terms around it, and 1 more when it is about the file asked for. */
  readonly worth: number;
}

/** At most one call: the lead whose surroundings say most of what is asked. */
export function recallCalls(situation: Situation): readonly PlannedCall[] {
  const { conversation } = situation;
  const leads = texts(situation)
    .flatMap((text) => leadsIn(text, situation))
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
}

function texts({ conversation }: Situation): readonly Text[] {
  const results = conversation.outcomes.map((one) => ({
    content: one.content,
    path: one.path,
    whole: one.current,
  }));
  return [...conversation.said.map((one) => ({ content: one.text, path: null, whole: false })), ...results];
}

function leadsIn(text: Text, situation: Situation): readonly Lead[] {
  const leads: Lead[] = [];
  for (const match of text.content.matchAll(SPELLED_CALL)) {
    const known = situation.tools.find((one) => one.tool.name === match[1]);
    const args = known === undefined ? null : parseLoose(match[2] ?? '');
    if (known !== undefined && args !== null) {
      leads.push({ call: { name: known.tool.name, args }, worth: worthOf(text, match.index, situation) });
    }
  }
  const retrieve = toolFor('retrieve', situation.tools, situation.conversation.terms);
  if (retrieve?.key == null || text.whole || leads.length > 0) return leads;
  for (const match of text.content.matchAll(EVIDENCE_TAG)) {
    const preset = { [retrieve.key.name]: match[1] ?? '' };
    const call = { name: retrieve.tool.name, args: fillArguments(retrieve, preset, situation.subject) };
    leads.push({ call, worth: worthOf(text, match.index, situation) });
  }
  return leads.length > 0 ? leads : listedLeads(text, retrieve, situation);
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
    const around = { content: [line, ...related].join('\n'), path: null, whole: false };
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
  return share + (about ? 1 : 0);
}

/** Where earlier text says a summary hides turns and names the tool, asks that tool by the directive's words. */
function queryCalls(situation: Situation): readonly PlannedCall[] {
  const { conversation, tools, subject } = situation;
  const known = tools.find((one) => one.role === 'retrieve' && queryOf(one) !== undefined);
  const query = known === undefined ? undefined : queryOf(known);
  if (known === undefined || query === undefined || conversation.terms.length === 0) return [];
  const named = conversation.said.some((one) => one.role === 'user' && one.text.includes(known.tool.name));
  if (!named || targetsOf(conversation).length > 0 || affinityElsewhere(situation)) return [];
  const words = conversation.terms.map((term) => term.word).join(' ');
  return [
    {
      name: known.tool.name,
      args: fillArguments({ ...known, properties: [query] }, { [query.name]: words }, subject),
    },
  ];
}

/** The directive speaks of files by shape: the file tools come first. */
function affinityElsewhere({ conversation, tools }: Situation): boolean {
  const { globs, quoted } = conversation.shapes;
  const best = tools.filter((one) => one.role === 'other').map((one) => affinity(one, conversation.terms));
  return globs.length > 0 || quoted.length > 0 || Math.max(0, ...best) >= 3;
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
