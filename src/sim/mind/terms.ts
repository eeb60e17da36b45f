/** Words of a text that carry its subject, and the shapes in it that hint at files, patterns and code. */

/** Function words and the vocabulary of asking: nothing here names a subject. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  `a an the this that these those there here it its it's i i'm me my mine we us our you your yours he she they them
  their his her one ones some any all both each every either neither no not none nor and or but if then than so as
  of in on at by to from into onto out up down over under with without within for about between among across per via
  is are was were be been being am do does did done doing have has had having can could will would shall should may
  might must let lets please kindly thanks thank hello hi hey okay ok yes just only also too again still now once
  more most much many few less least very really quite exactly briefly short quick quickly same other another such
  what which who whom whose where when why how whether
  tell give show find look see check get fetch read open print say says said saying mention mentions mentioned
  list lists listed search answer reply respond explain describe summarise summarize summary quote report return
  file files document documents folder folders directory directories path paths line lines word words sentence
  sentences text contain contains containing contents content according using use uses used call tool tools inside
  question following above below previous previously earlier before after first last next thing things something
  anything nothing everything want need like know think make makes made take takes compare compared comparing count extract identify determine
  cite locate define defines defined talk talks refer refers described work works
  verify confirm`.split(/\s+/),
);

const WORD = /[\p{L}\p{N}_]+(?:[-'.’][\p{L}\p{N}_]+)*/gu;
const URL_OR_EMAIL = /\b[a-z][a-z0-9+.-]*:\/\/\S+|\S+@\S+\.\S+/gi;
/** A path or name with an extension of 1 to 8 characters that holds a letter. */
const FILE = /(?<![\w*.])(?:[\w@.~-]+\/)*\.?[\w@~-][\w@.~-]*\.(?=\w*[A-Za-z])\w{1,8}(?![\w/*])/g;
const GLOB = /(?<![\w*])[\w./{},-]*\*[\w./{},*-]*/g;
const QUOTED =
  /"([^"\n]{2,120})"|`([^`\n]{2,120})`|“([^”\n]{2,120})”|(?<![\p{L}\p{N}])'([^'\n]{2,120})'(?![\p{L}\p{N}])/gu;
/** Words only code and codes have: inner capitals, underscores, or letters mixed with digits. */
const CODE_LIKE =
  /\b(?:[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|\w*[A-Za-z0-9]_\w+|[A-Za-z]+-?\d[\w-]*|\d+[A-Za-z][\w-]*)\b/g;
/** Longer words match by this many leading letters, so that inflected forms meet. */
const STEM_LETTERS = 7;
const SUFFIXES: ReadonlySet<string> = new Set(['', 's', 'es', 'd', 'ed', 'ing', "'s", '’s']);
/** Encoded data: no name is this long, and patterns that meet it would search it from every letter. */
const LONG_RUN = /\S{160,}/g;
/** Names and codes weigh more than plain words. */
const NAME_BOOST = 1.5;

export interface Term {
  /** As written. */
  readonly word: string;
  readonly stem: string;
  readonly boost: number;
}

export interface Shapes {
  readonly files: readonly string[];
  readonly globs: readonly string[];
  readonly quoted: readonly string[];
  readonly codeLike: readonly string[];
}

/** Each subject word once, in order; file names and globs are not terms. */
export function termsOf(text: string): readonly Term[] {
  const plain = plainOf(text).replace(FILE, ' ').replace(GLOB, ' ');
  const terms = new Map<string, Term>();
  for (const match of plain.matchAll(WORD)) {
    const word = match[0].replace(/['’]s$/, '');
    const lower = word.toLowerCase();
    if (STOP_WORDS.has(lower) || (lower.length < 2 && !/\d/.test(lower))) continue;
    const stem = stemOf(lower);
    const named = /[\d_]/.test(word) || (/^\p{Lu}/u.test(word) && match.index > 0);
    if (!terms.has(stem)) terms.set(stem, { word, stem, boost: named ? NAME_BOOST : 1 });
  }
  return [...terms.values()];
}

export function shapesOf(text: string): Shapes {
  const plain = plainOf(text);
  const globs = unique(plain.match(GLOB) ?? []).filter((glob) => glob.length > 1);
  const files = filesIn(plain);
  const quoted = unique([...plain.matchAll(QUOTED)].map((match) => match.slice(1).find(Boolean) ?? ''));
  const outside = plain.replace(FILE, ' ');
  return {
    files,
    globs,
    quoted: quoted.filter((one) => !files.includes(one) && !globs.includes(one)),
    codeLike: unique(outside.match(CODE_LIKE) ?? []),
  };
}

/** File-like names in order of appearance. */
export function filesIn(text: string): readonly string[] {
  return unique(text.replace(LONG_RUN, ' ').match(FILE) ?? []).filter(
    (name) => !/^v?\d+(\.\d+)*$/.test(name),
  );
}

/** Whether a lower-case text holds the term as a word or an inflection of it. */
export function holds(lowerText: string, term: Term): boolean {
  const { stem } = term;
  for (let at = lowerText.indexOf(stem); at !== -1; at = lowerText.indexOf(stem, at + 1)) {
    if (at > 0 && isWordCharacter(lowerText, at - 1)) continue;
    let end = at + stem.length;
    const from = end;
    while (end < lowerText.length && isWordCharacter(lowerText, end)) end += 1;
    if (stem.length >= STEM_LETTERS && /\p{L}$/u.test(stem)) return true;
    if (SUFFIXES.has(lowerText.slice(from, end))) return true;
  }
  return false;
}

/** Whether two paths name the same file: equal, or one ends in the other at a slash. */
export function samePath(left: string, right: string): boolean {
  const a = left.replace(/^\.?\//, '').toLowerCase();
  const b = right.replace(/^\.?\//, '').toLowerCase();
  return a === b || a.endsWith(`/${b}`) || b.endsWith(`/${a}`);
}

function plainOf(text: string): string {
  return text.replace(LONG_RUN, ' ').replace(URL_OR_EMAIL, ' ');
}

function stemOf(lower: string): string {
  if (/[^\p{L}]/u.test(lower)) return lower;
  if (lower.length > STEM_LETTERS) return lower.slice(0, STEM_LETTERS);
  return lower.length > 3 && lower.endsWith('s') && !lower.endsWith('ss') ? lower.slice(0, -1) : lower;
}

function isWordCharacter(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code < 128) return (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || code === 95;
  return /[\p{L}\p{N}]/u.test(text.charAt(at));
}

function unique(words: readonly string[]): readonly string[] {
  return [...new Set(words)];
}
