/** A table of text for people: columns as wide as their longest cell, figures to the right. */

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

const GAP = '  ';

/** Cells hold no line breaks and no escape codes. `paintHead` is given the finished head line. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  paintHead: (line: string) => string = (line) => line,
): string {
  const widths = columns.map((column, at) =>
    Math.max(width(column.title), ...rows.map((row) => width(row[at] ?? ''))),
  );
  const line = (cells: readonly string[]): string =>
    columns
      .map((column, at) => pad(cells[at] ?? '', widths[at] ?? 0, column.align ?? 'left'))
      .join(GAP)
      .trimEnd();
  const head = line(columns.map((column) => column.title));
  return [paintHead(head), ...rows.map(line)].join('\n');
}

function pad(text: string, to: number, align: 'left' | 'right'): string {
  const space = ' '.repeat(Math.max(0, to - width(text)));
  return align === 'left' ? text + space : space + text;
}

function width(text: string): number {
  return Array.from(text).length;
}
