/** The message for a name that means nothing: which it was, which was probably meant, and which there are. */

/** A longer list teaches a small model nothing. */
const LISTED_NAMES = 60;
const SHOWN_NAME_CHARS = 80;

/** `kind` in the singular, such as "skill". */
export function unknownName(kind: string, name: string, known: readonly string[]): string {
  const shown = name.length > SHOWN_NAME_CHARS ? `${name.slice(0, SHOWN_NAME_CHARS)}…` : name;
  const spelled = shown.trim().toLowerCase();
  const meant = known.find((one) => one.toLowerCase() === spelled);
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
  const more = known.length > LISTED_NAMES ? ` and ${known.length - LISTED_NAMES} more` : '';
  const listed = known.slice(0, LISTED_NAMES).join(', ');
  const there = known.length === 0 ? 'There are none; go on without.' : `There are: ${listed}${more}.`;
  return `There is no ${kind} ${JSON.stringify(shown)}.${hint} ${there}`;
}
