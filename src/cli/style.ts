/** Weight and colour for terminals; plain text everywhere else. https://no-color.org */
import type { Environment } from '../app/config.ts';
import type { Writer } from './context.ts';

export interface Style {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly good: Paint;
  readonly bad: Paint;
  readonly note: Paint;
}

type Paint = (text: string) => string;

const CODES = { bold: 1, dim: 2, good: 32, bad: 31, note: 36 } as const;

export function styleFor(writer: Writer, env: Environment): Style {
  const wanted = writer.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
  const paint =
    (code: number): Paint =>
    (text) =>
      wanted ? `\u001b[${code}m${text}\u001b[0m` : text;
  return {
    bold: paint(CODES.bold),
    dim: paint(CODES.dim),
    good: paint(CODES.good),
    bad: paint(CODES.bad),
    note: paint(CODES.note),
  };
}
