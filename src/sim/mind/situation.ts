/** A conversation with its tools and evidence, and the few questions every plan asks of it. */
import type { Json } from '../../ledger/json.ts';
import type { Subject } from './arguments.ts';
import { asksSomething, type Conversation } from './conversation.ts';
import type { Unit } from './evidence.ts';
import type { Outcome } from './outcome.ts';
import { filesIn } from './terms.ts';
import { type KnownTool, looksBack, type ToolRole } from './toolbox.ts';

export interface PlannedCall {
  readonly name: string;
  readonly args: Json;
}

export interface Situation {
  readonly conversation: Conversation;
  readonly tools: readonly KnownTool[];
  readonly subject: Subject;
  /** What may answer, scored. */
  readonly units: readonly Unit[];
  /** A value is asked for as it stands now: only what this turn brought may answer. */
  readonly asOfNow: boolean;
}

/** Tools whose results say nothing of what is asked. */
const SILENT: ReadonlySet<ToolRole> = new Set(['present', 'finder', 'skill', 'context']);

const MAX_NAMED_FILES = 8;
/** A directive with more subject words than this stands on its own. */
const MAX_POINTING_TERMS = 2;
const ASKS_FOR_LIST =
  /\b(?:which|what|list|show|how many|count|name|find)\b[^.?!]{0,40}\b(?:files?|documents?|notes?|folders?|entries)\b/i;
const ASKS_FOR_CONTENT =
  /\b(?:mention|contain|defin|describ|talk|refer|sa(?:y|id)|explain|hold|includ|about|hav(?:e|ing)|has|with the (?:word|text))\w*/i;
/** What is to be checked is looked at, however much was said of it. */
const ASKS_TO_VERIFY = /\b(?:verify|verifies|confirm|double-?check|make sure|check (?:that|whether|if))\b/i;
const POINTS_BACK = /\b(?:it|its|same|previous)\b/i;

export function asksToVerify({ directive }: Conversation): boolean {
  return ASKS_TO_VERIFY.test(directive);
}

/** Names are asked for by what stands in the files. */
export function asksWhichFiles({ directive, shapes }: Conversation): boolean {
  return shapes.files.length === 0 && ASKS_FOR_LIST.test(directive) && ASKS_FOR_CONTENT.test(directive);
}

/** Only names of files are asked for, not what stands in them. */
export function asksForNames({ directive, shapes }: Conversation): boolean {
  if (shapes.quoted.length > 0 || shapes.files.length > 0) return false;
  return (shapes.globs.length > 0 || ASKS_FOR_LIST.test(directive)) && !ASKS_FOR_CONTENT.test(directive);
}

/** There is something to find out; what is only told is acknowledged. */
export function asks({ conversation, asOfNow }: Pick<Situation, 'conversation' | 'asOfNow'>): boolean {
  const { directive, shapes } = conversation;
  return asOfNow || asksSomething(directive) || shapes.globs.length > 0 || shapes.files.length > 0;
}

/** Names of the offered tools whose results are no evidence. */
export function silentNames(tools: readonly KnownTool[]): ReadonlySet<string> {
  return new Set(tools.filter((known) => SILENT.has(known.role)).map((known) => known.tool.name));
}

/** Results of this turn that show how things stand: not the past, nor how anything is shown. */
export function observations({
  conversation,
  tools,
}: Pick<Situation, 'conversation' | 'tools'>): readonly Outcome[] {
  const blind = new Set([...silentNames(tools), ...tools.filter(looksBack).map((known) => known.tool.name)]);
  return conversation.outcomes.filter((one) => one.current && !one.failed && !blind.has(one.name));
}

/** Observations by tools that are about no file. */
export function lookedUp(situation: Pick<Situation, 'conversation' | 'tools'>): readonly Outcome[] {
  const others = new Set(
    situation.tools
      .filter((known) => known.role === 'other' || known.role === 'broker')
      .map((known) => known.tool.name),
  );
  return observations(situation).filter((one) => others.has(one.name));
}

/** Results of this turn's calls to tools of a role. */
export function resultsOf(role: ToolRole, { conversation, tools }: Situation): readonly Outcome[] {
  const names = new Set(tools.filter((known) => known.role === role).map((known) => known.tool.name));
  return conversation.outcomes.filter((one) => one.current && !one.failed && names.has(one.name));
}

/** Files named in a result, one a line; a search hit counts as often as it stands. */
export function pathsIn(content: string): readonly string[] {
  return content.split('\n').flatMap((line) => {
    const [file] = filesIn(line);
    if (file !== undefined) return [file];
    const bare = line.trim();
    return /^[\w@./~-]+$/.test(bare) && /[A-Za-z]/.test(bare) ? [bare] : [];
  });
}

/** The files the directive is about: those it names, else the one it points back to. */
export function targetsOf({ directive, terms, shapes, outcomes }: Conversation): readonly string[] {
  if (shapes.files.length > 0) return shapes.files.slice(0, MAX_NAMED_FILES);
  if (!POINTS_BACK.test(directive) || terms.length > MAX_POINTING_TERMS) return [];
  if (shapes.globs.length > 0 || shapes.quoted.length > 0) return [];
  const last = outcomes.findLast((one) => !one.current && one.path !== null && !one.failed);
  return last?.path ? [last.path] : [];
}
