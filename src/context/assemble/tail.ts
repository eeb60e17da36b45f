/** What changes every turn, placed in the directive's message before its own text, captured once per turn. */
import type { TurnView } from '../../ledger/view.ts';
import { tagged } from './markers.ts';

export function renderTail(turn: TurnView): string | null {
  const sections: string[] = [];
  if (turn.context !== null) {
    const { utc, timezone } = turn.context;
    sections.push(tagged('turn_context', `UTC: ${utc}\nLocal: ${localTime(utc, timezone)} (${timezone})`));
  }
  if (turn.reading !== null) {
    const { act, domains } = turn.reading;
    const about = domains.length > 0 ? `; about ${domains.join(', ')}` : '';
    sections.push(tagged('intent', `The user asks to ${act}${about}.`));
  }
  return sections.length > 0 ? `${sections.join('\n')}\n\n` : null;
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
