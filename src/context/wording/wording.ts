/** The words of the runtime, filled with what they are about. Records name the check, never its text. */
import { blake3Hex } from '../../ledger/chain.ts';
import { canonicalJson } from '../../ledger/json.ts';
import type { BodyOf } from '../../ledger/kinds.ts';
import { escapeMarkers } from '../assemble/markers.ts';
import { oneLine } from '../one-line.ts';
import { WORDING_EN } from './en.ts';

/** Counts up with every change of the words; a request is made again by the words it was made of, or not at all. */
export const WORDING_VERSION = 1;

export function wordingDigest(): string {
  return blake3Hex(canonicalJson(WORDING_EN));
}

/** The message that sends a reply back. */
export function nudgeText({ check, tools, turn, reasons }: BodyOf<'nudge'>): string {
  const template = (WORDING_EN.nudges as Partial<Record<string, string>>)[check] ?? `[${check}]`;
  return fill(template, {
    look: lookText(tools),
    tools: listed(tools),
    turn: String(turn ?? ''),
    reasons: reasonsText(reasons),
  });
}

/** The result of a card call that a check kept from being made. */
export function withheldText(
  check: string,
  { tools, reasons }: { readonly tools?: readonly string[]; readonly reasons?: readonly string[] },
): string {
  const template = (WORDING_EN.withheld as Partial<Record<string, string>>)[check] ?? `[${check}] Not shown.`;
  return fill(template, { look: lookText(tools), reasons: reasonsText(reasons) });
}

export interface Stated {
  readonly figure?: { readonly text: string; readonly utc: string } | undefined;
  /** What was found in the turn, as it stands in its results. */
  readonly evidence?: string;
  readonly tools?: readonly string[];
  readonly error?: string;
  readonly times?: number;
}

/** What the system says in the place of an answer. */
export function statementText(check: string, stated: Stated): string {
  const template = (WORDING_EN.statements as Partial<Record<string, string>>)[check];
  if (template === undefined) return 'No answer was produced.';
  const { figure, evidence = '', tools, error = '', times = 0 } = stated;
  return fill(template, {
    figure:
      figure === undefined ? '' : fill(WORDING_EN.figure, { utc: figure.utc, text: sentence(figure.text) }),
    evidence: evidence === '' ? ' nothing that can be quoted.' : `\n${evidence}`,
    tools: listed(tools),
    error,
    times: String(times),
  });
}

/** How an answer has to stand; null where nothing is asked beyond an answer. */
export function stanceText({
  evidence,
  stakes,
}: Pick<BodyOf<'reading'>, 'evidence' | 'stakes'>): string | null {
  const words = [
    ...(evidence === undefined || evidence === 'plain' ? [] : [WORDING_EN.stance[evidence]]),
    ...(stakes === undefined || stakes === 'low' ? [] : [WORDING_EN.stakes[stakes]]),
  ];
  return words.length === 0 ? null : words.join(' ');
}

function lookText(tools: readonly string[] = []): string {
  return tools.length === 0 ? WORDING_EN.look.none : fill(WORDING_EN.look.some, { tools: listed(tools) });
}

function listed(names: readonly string[] = []): string {
  return names.map((name) => escapeMarkers(oneLine(name))).join(' or ');
}

/** Codes in their words; what is no code stands as it is. */
function reasonsText(reasons: readonly string[] = []): string {
  const words = WORDING_EN.reasons as Partial<Record<string, string>>;
  return reasons.map((reason) => words[reason] ?? escapeMarkers(oneLine(reason))).join('; ');
}

function sentence(text: string): string {
  return /[.!?]$/u.test(text) ? text : `${text}.`;
}

function fill(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/gu, (_, name: string) => values[name] ?? '');
}
