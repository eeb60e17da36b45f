/** Questions about a folder nobody has seen before, made from headings, names and words that stand in it. */
import type { Folder, TextFile } from './folder.ts';

export interface Questions {
  /** Asked in this order. */
  readonly first: readonly string[];
  /** Asked one after another until older turns no longer fit the model's window; together more than it holds. */
  readonly more: readonly string[];
  /** Asked last, about something from the beginning that has left the request by then. */
  readonly last: string;
}

/** Read whole, a larger file would leave a small model's window no room. */
const MAX_READ_CHARS = 3_500;
const MIN_READ_CHARS = 200;
/** A word in more places than this tells little and costs much. */
const MAX_PLACES = 4;
const MAX_READS = 10;
/** About 360 tokens each. */
const PASTED_WORDS = 240;
const PASTES = 24;
const MIN_NAME_CHARS = 7;
/** As code and prose name things, without characters that an expression or a shell would read otherwise. */
const NAME = /\b[A-Za-z][A-Za-z0-9_]{6,30}\b/g;
const HEADING = /^(?:#{1,6}\s+|\[)?([\p{L}\p{N}][^\n"'`*<>|[\]]{3,48}?)\]?\s*:?$/u;
const FILE_NAME = /^[\w.-]+\.[A-Za-z]\w{0,7}$/;

/** `readsBack` is the tool that is asked last. null when the folder holds too little to ask about. */
export function chooseQuestions(folder: Folder, readsBack: string): Questions | null {
  const topics = topicsOf(folder.files);
  const [topic, second] = topics;
  if (topic === undefined) return null;
  const name = rareName(folder.files, topic);
  const about = `What does ${topic.path} say about "${topic.phrase}"?`;
  const first = [
    listing(folder.files),
    about,
    ...(name === null || folder.isLarge ? [] : [`Find every line with "${name}".`]),
    `What did ${topic.path} say about "${topic.phrase}", once more?`,
    // Begins with no word that tells what is wanted, so that the reading needs a classifier.
    `And could you locate "${(second ?? topic).phrase}" too?`,
    `Use the save_note tool for "${(second ?? topic).phrase}".`,
  ];
  return {
    first,
    more: bulk(folder, topics.slice(1)),
    last: `Use the ${readsBack} tool: what did we find about "${topic.phrase}"?`,
  };
}

interface Topic {
  readonly path: string;
  readonly phrase: string;
  /** Of the whole file. */
  readonly chars: number;
}

/** One phrase of each readable file: a heading where it has one, else a name that stands in it. */
function topicsOf(files: readonly TextFile[]): readonly Topic[] {
  const readable = files.filter(
    ({ path, text }) =>
      text.length >= MIN_READ_CHARS && text.length <= MAX_READ_CHARS && FILE_NAME.test(baseName(path)),
  );
  // Prose first, and near the top of the folder: what a person would open first.
  const ranked = readable.toSorted((a, b) => rank(a) - rank(b) || b.text.length - a.text.length);
  return ranked.flatMap((file) => {
    const phrase = headingOf(file) ?? namesOf(file.text)[0];
    return phrase === undefined ? [] : [{ path: file.path, phrase, chars: file.text.length }];
  });
}

function rank({ path }: TextFile): number {
  const depth = path.split('/').length - 1;
  return 2 * depth + (isProse(path) ? 0 : 1);
}

function headingOf({ path, text }: TextFile): string | undefined {
  if (!isProse(path)) return undefined;
  const headings = text
    .split('\n')
    .filter((line) => line.startsWith('#'))
    .flatMap((line) => HEADING.exec(line.trim())?.[1]?.trim() ?? []);
  // The first is the title, which says what every line of the file is about.
  return headings[1] ?? headings[0];
}

/** A name that stands in few places, so that finding it tells something. */
function rareName(files: readonly TextFile[], topic: Topic): string | null {
  const counts = new Map<string, number>();
  for (const { text } of files) {
    for (const name of namesOf(text)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const rare = [...counts].filter(([name, count]) => count <= MAX_PLACES && !topic.phrase.includes(name));
  const coded = rare.filter(([name]) => /[a-z][A-Z]|_/.test(name));
  return (coded[0] ?? rare[0])?.[0] ?? null;
}

/** Whole files to read, the largest first; then, for a folder with little in it, words of it to keep in mind. */
function bulk({ files }: Folder, topics: readonly Topic[]): readonly string[] {
  const largestFirst = topics.toSorted((a, b) => b.chars - a.chars);
  const reads = largestFirst.map(({ path, phrase }) => `What does ${path} say about "${phrase}"?`);
  return [...reads.slice(0, MAX_READS), ...pastes(files)];
}

/** Plain words only: whatever looks like a question, a file or an order would be taken for one. */
function pastes(files: readonly TextFile[]): readonly string[] {
  const words = files.flatMap(({ text }) => text.match(/[\p{L}\p{N}]+/gu) ?? []);
  return Array.from({ length: PASTES }, (_, at) => {
    const pasted = Array.from(
      { length: PASTED_WORDS },
      (_unused, index) => words[(at * PASTED_WORDS + index) % words.length],
    );
    return `For later, some words of these files: ${pasted.join(' ')}.`;
  });
}

function namesOf(text: string): readonly string[] {
  return [...new Set(text.match(NAME) ?? [])].filter((name) => name.length >= MIN_NAME_CHARS);
}

/** The kind of file that there is most of. */
function listing(files: readonly TextFile[]): string {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const extension = /\.[A-Za-z]\w{0,7}$/.exec(path)?.[0];
    if (extension !== undefined && !path.includes('/'))
      counts.set(extension, (counts.get(extension) ?? 0) + 1);
  }
  const [most] = [...counts].toSorted((a, b) => b[1] - a[1]);
  return `List the files that fit *${most?.[0] ?? '.*'}`;
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function isProse(path: string): boolean {
  return /\.(?:md|markdown|txt|rst|adoc)$/i.test(path);
}
