/** What changes every turn, placed in the directive's message before its own text, captured once per turn. */
import type { TurnView } from '../../ledger/view.ts';
import { oneLine } from '../one-line.ts';
import { stanceText } from '../wording/wording.ts';
import { escapeMarkers, tagged } from './markers.ts';
import type { ThreadLine } from './thread.ts';

export interface TailInput {
  /** What a session is bound to do, as its owner worded it; null for none. */
  readonly workContract: string | null;
  readonly thread: readonly ThreadLine[];
}

export const NO_TAIL: TailInput = { workContract: null, thread: [] };

/** A section with nothing to say leaves nothing. */
export function renderTail(turn: TurnView, { workContract, thread }: TailInput): string | null {
  const sections: string[] = [];
  if (turn.context !== null) {
    const { utc, timezone } = turn.context;
    sections.push(tagged('turn_context', `UTC: ${utc}\nLocal: ${localTime(utc, timezone)} (${timezone})`));
  }
  if (turn.reading !== null) {
    const { act, domains } = turn.reading;
    const about = domains.length > 0 ? `; about ${domains.join(', ')}` : '';
    sections.push(tagged('intent', `The user asks to ${act}${about}.${partsOf(turn.reading)}`));
    const stance = stanceText(turn.reading);
    if (stance !== null) sections.push(tagged('stance', stance));
  }
  if (workContract !== null) sections.push(tagged('work_contract', escapeMarkers(workContract)));
  if (thread.length > 0) sections.push(tagged('thread', thread.map(threadLine).join('\n')));
  return sections.length > 0 ? `${sections.join('\n')}\n\n` : null;
}

/** How the parts of a directive hang together; never their words, which the directive says itself. */
function partsOf({ strands = [] }: NonNullable<TurnView['reading']>): string {
  if (strands.length < 2) return '';
  const said = strands.flatMap(({ relation, lineage }, at) => {
    const words = [
      ...(at > 0 && relation !== 'independent' ? [RELATIONS[relation]] : []),
      ...(lineage === 'new' ? [] : [LINEAGE_WORDS[lineage]]),
    ];
    return words.length === 0 ? [] : [`${at + 1} ${words.join(' and ')}`];
  });
  return ` In ${strands.length} parts${said.length === 0 ? '' : `: ${said.join(', ')}`}.`;
}

const RELATIONS = {
  sequential: 'comes after the one before it',
  dependent: 'rests on the one before it',
} as const;
const LINEAGE_WORDS = {
  continues: 'goes on with what was asked before',
  corrects: 'corrects what was asked before',
  replaces: 'replaces what was asked before',
} as const;

function threadLine({ number, asked, paused }: ThreadLine): string {
  return escapeMarkers(`T${number}${paused ? ' (earlier, paused)' : ''}: ${oneLine(asked)}`);
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Making a format costs far more than using one. */
function localTime(utc: string, timeZone: string): string {
  const known = formats.get(timeZone);
  const format =
    known ?? new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone });
  if (known === undefined) formats.set(timeZone, format);
  return format.format(new Date(utc));
}
