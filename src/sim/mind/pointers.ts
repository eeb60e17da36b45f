/** Lines that stand for a turn nobody sees: what they say of it, and what they only point at. */

/** `T17: …`, `- T17 (failed): …`; the label alone where nothing more is said. */
const TURN_LINE = /^\s*(?:[-*]\s*)?T(\d{1,7})(?:\s*\([^)\n]{0,40}\))?(?::\s*|$)/;
const PARTS = /\s+—\s+/;
/** A call and what it brought, or nothing: `read ×2 → e5, e6`. */
const CALLS = /^nothing called\b|→|\b\w+\(\{/;
/** `metric "Title" p2`: the name of something shown, not what it says. */
const SHOWN = /\b[\w.-]+ "[^"]*" [a-z]\d+\b,?\s*/g;
/** The words go on where they are not seen. */
const GOES_ON = /(?:…|\.\.\.)["'”’)\]]*$/;

export interface TurnLine {
  readonly turn: number;
  readonly text: string;
}

/** null for every other line. */
export function turnLineOf(line: string): TurnLine | null {
  const label = TURN_LINE.exec(line);
  if (label === null) return null;
  return { turn: Number(label[1]), text: line.slice(label[0].length) };
}

/** `asked` in the user's words; `told`: whole answers. Calls, titles and words that go on elsewhere tell nothing. */
export function partsOf({ text }: TurnLine): { readonly asked: string; readonly told: readonly string[] } {
  const [asked = '', ...rest] = text.split(PARTS).map((part) => part.replace(SHOWN, '').trim());
  const told = rest.filter((part) => part !== '' && !CALLS.test(part) && !GOES_ON.test(part));
  return {
    asked: GOES_ON.test(asked) ? '' : asked,
    told: told.map((part) => /^[“"](.*)[”"]$/.exec(part)?.[1] ?? part),
  };
}
