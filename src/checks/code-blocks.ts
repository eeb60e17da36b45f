/** Fenced code blocks of a text, in one pass over its lines. */

const FENCE = /^ {0,3}(`{3,}|~{3,})([^\n]*)$/u;

export interface CodeBlock {
  /** The first word after the opening run, in lower case: the language, if any. */
  readonly info: string;
  readonly content: string;
}

/** A text in its order, as the prose between blocks and the blocks; one never closed reaches to the end. */
export type TextPart =
  | { readonly kind: 'prose'; readonly text: string }
  | ({ readonly kind: 'block' } & CodeBlock);

export function partsOf(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let lines: string[] = [];
  let open: Opening | null = null;
  for (const line of text.split('\n')) {
    const run = FENCE.exec(line);
    if (run === null || !(open === null ? opens(run) : closes(run, open))) lines.push(line);
    else {
      parts.push(partOf(lines, open));
      lines = [];
      open = open === null ? { run: run[1] ?? '', info: infoOf(run[2] ?? '') } : null;
    }
  }
  return [...parts, partOf(lines, open)].filter((part) => part.kind === 'block' || part.text !== '');
}

interface Opening {
  readonly run: string;
  readonly info: string;
}

function partOf(lines: readonly string[], open: Opening | null): TextPart {
  const content = lines.join('\n');
  return open === null ? { kind: 'prose', text: content } : { kind: 'block', info: open.info, content };
}

/** Backticks behind the run make it inline code. */
function opens([, run = '', rest = '']: RegExpExecArray): boolean {
  return !(run.startsWith('`') && rest.includes('`'));
}

function closes([, run = '', rest = '']: RegExpExecArray, open: Opening): boolean {
  return run.startsWith(open.run) && rest.trim() === '';
}

function infoOf(rest: string): string {
  return rest.trim().split(/\s/u, 1)[0]?.toLowerCase() ?? '';
}
