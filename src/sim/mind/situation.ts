/** A conversation with its tools and evidence, and the few questions every plan asks of it. */
import type { Json } from '../../ledger/json.ts';
import type { Subject } from './arguments.ts';
import type { Conversation, Outcome } from './conversation.ts';
import type { Unit } from './evidence.ts';
import { filesIn } from './terms.ts';
import type { KnownTool, ToolRole } from './toolbox.ts';

export interface PlannedCall {
  readonly name: string;
  readonly args: Json;
}

export interface Situation {
  readonly conversation: Conversation;
  readonly tools: readonly KnownTool[];
  readonly subject: Subject;
  readonly units: readonly Unit[];
}

const MAX_NAMED_FILES = 8;
/** A directive with more subject words than this stands on its own. */
const MAX_POINTING_TERMS = 2;
const ASKS_FOR_LIST =
  /\b(?:which|what|list|show|how many|count|name|find)\b[^.?!]{0,40}\b(?:files?|documents?|notes?|folders?|entries)\b/i;
const ASKS_FOR_CONTENT =
  /\b(?:mention|contain|defin|describ|talk|refer|sa(?:y|id)|explain|hold|includ|about|hav(?:e|ing)|has|with the (?:word|text))\w*/i;
const POINTS_BACK = /\b(?:it|its|same|previous)\b/i;

/** Names are asked for by what stands in the files. */
export function asksWhichFiles({ directive, shapes }: Conversation): boolean {
  return shapes.files.length === 0 && ASKS_FOR_LIST.test(directive) && ASKS_FOR_CONTENT.test(directive);
}

/** Only names of files are asked for, not what stands in them. */
export function asksForNames({ directive, shapes }: Conversation): boolean {
  if (shapes.quoted.length > 0 || shapes.files.length > 0) return false;
  return (shapes.globs.length > 0 || ASKS_FOR_LIST.test(directive)) && !ASKS_FOR_CONTENT.test(directive);
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
