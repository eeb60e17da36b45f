/** The survey that a model reads of its own context: how full it is, and what every piece of it is and weighs. */
import { byteLength } from '../../ledger/json.ts';
import { oneLine } from '../one-line.ts';
import type { ItemRow, ItemTable, Measure, Piece } from './contract.ts';
import { LABEL_CHARS } from './label.ts';
import { historyBytes, piecesOf, reachOf } from './pieces.ts';
import { SURVEY_WORDS } from './wording.ts';

/** A longer one would weigh on the context it is about. */
export const SURVEY_BYTES = 16_384;
/** For the head and the lines that sum up what is in the middle. */
const SUMMARY_BYTES = 2_048;
/** Lines that the middle is summed up in. */
const MIDDLE_RUNS = 16;

/** At most 16 KiB: beyond that the middle stands as runs, in which every number is still named by its ends. */
export function surveyText(table: Pick<ItemTable, 'items' | 'evictions'>, measure: Measure): string {
  const pieces = piecesOf(table);
  const head = SURVEY_WORDS.head(measure, pieces.length, historyBytes(pieces));
  const lines = pieces.map(pieceLine);
  const whole = [head, ...lines].join('\n');
  if (byteLength(whole) <= SURVEY_BYTES) return whole;
  const room = (SURVEY_BYTES - SUMMARY_BYTES) / 2;
  const first = fitting(lines, room);
  const last = lines.length - fitting(lines.toReversed(), room);
  const middle = runLines(pieces.slice(first, last));
  return [head, ...lines.slice(0, first), ...middle, ...lines.slice(last)].join('\n');
}

function pieceLine(piece: Piece): string {
  return piece.kind === 'item'
    ? SURVEY_WORDS.item(shortened(piece.row), piece.bytes)
    : SURVEY_WORDS.residue(piece.eviction);
}

/** Labels are short where they are made; those of a foreign log may not be. */
function shortened(row: ItemRow): ItemRow {
  return { ...row, label: [...oneLine(row.label.slice(0, 2 * LABEL_CHARS))].slice(0, LABEL_CHARS).join('') };
}

/** How many of the first lines have room. */
function fitting(lines: readonly string[], roomBytes: number): number {
  let bytes = 0;
  for (const [place, line] of lines.entries()) {
    bytes += byteLength(line) + 1;
    if (bytes > roomBytes) return place;
  }
  return lines.length;
}

function runLines(pieces: readonly Piece[]): readonly string[] {
  const runPieces = Math.ceil(pieces.length / MIDDLE_RUNS);
  return Array.from({ length: Math.ceil(pieces.length / runPieces) }, (_, run) =>
    runLine(pieces.slice(run * runPieces, (run + 1) * runPieces)),
  );
}

function runLine(pieces: readonly Piece[]): string {
  const [first, last] = [pieces[0], pieces.at(-1)];
  if (first === undefined || last === undefined) return '';
  const items = pieces.filter(({ kind }) => kind === 'item').length;
  const span = { from: reachOf(first).from, to: reachOf(last).to };
  return SURVEY_WORDS.run(span, items, pieces.length - items, historyBytes(pieces));
}
