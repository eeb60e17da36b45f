/**
 * Where a command's words go. The result goes to standard output, everything on the way there to standard
 * error. With `--json` the result is one object on one line, and nothing else reaches standard output.
 */
import type { CliContext, Writer } from './context.ts';

/** What a terminal would take as an order: texts of models, tools and files are shown without it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

export class Output {
  readonly json: boolean;
  readonly #stdout: Writer;
  readonly #stderr: Writer;
  #printed = false;

  constructor({ stdout, stderr }: Pick<CliContext, 'stdout' | 'stderr'>, json: boolean) {
    this.json = json;
    this.#stdout = stdout;
    this.#stderr = stderr;
  }

  /** The one result: `value` for programs, `text` for people. */
  result(value: object, text: () => string): void {
    if (!this.json) {
      const words = text();
      if (words !== '') this.say(words);
      return;
    }
    if (this.#printed) throw new Error('a command has one result');
    this.#printed = true;
    this.#stdout.write(`${JSON.stringify(value)}\n`);
  }

  /** A part of the result, for people only. */
  say(text: string): void {
    if (!this.json) this.#stdout.write(`${text}\n`);
  }

  /** As it comes, without a line's end; for people only. */
  stream(text: string): void {
    if (!this.json) this.#stdout.write(text);
  }

  progress(line: string): void {
    this.#stderr.write(`${line}\n`);
  }

  get printed(): boolean {
    return this.#printed;
  }
}

/** Foreign text in one line of at most `limit` characters. */
export function oneLine(text: string, limit: number): string {
  const line = shown(text).replace(/\s+/g, ' ').trim();
  const chars = Array.from(line);
  return chars.length > limit ? `${chars.slice(0, limit - 1).join('')}…` : line;
}

/** Foreign text that changes nothing of the terminal. */
export function shown(text: string): string {
  return text.replace(CONTROL, '');
}
