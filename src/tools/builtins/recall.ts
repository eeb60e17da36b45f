/** `recall`: stored evidence of the session, whole, by lines or by characters. */
import { z } from 'zod';
import { countChars, recallCall, sliceChars, sliceLines } from '../../context/evidence/window.ts';
import type { EvidenceReader, ToolOutput } from '../contract.ts';
import { defineTool } from '../define.ts';
import { tolerateBlanks } from './blanks.ts';
import { boundsOf, type LineRange, lineRange, wrongOrder } from './line-range.ts';

/** A range of characters and its two lines of context fit a result's window, so the whole of it is shown. */
const MAX_RECALLED_CHARS = 29_000;
const LISTED_IDS = 20;

const charRange = z.strictObject({
  from: z.int().min(0).optional().describe('First character, counted from 0.'),
  to: z.int().min(0).optional().describe('Character to stop before.'),
});

export const recallTool = tolerateBlanks(
  defineTool({
    name: 'recall',
    description:
      'Returns a stored result by its evidence id, such as "e7", exactly as it was recorded. Give a range of lines or of characters to get a part of it.',
    input: z.strictObject({
      id: z.string().describe('Evidence id, such as "e7".'),
      range: lineRange.optional().describe('Lines, counted from 1, both ends included.'),
      chars: charRange.optional().describe('Characters, counted from 0, for a part of a very long line.'),
    }),
    serves: ['memory'],
    alwaysLoaded: true,
    effect: 'read',
    run: async ({ id, range, chars }, { evidence }) => {
      const wanted = id.trim();
      if (range !== undefined && chars !== undefined) {
        return failure(
          'recall takes range (lines) or chars (characters), not both. Call it again with one of them.',
        );
      }
      const text = wanted === '' ? null : await evidence.read(wanted);
      if (text === null) return failure(await unknownId(wanted, evidence));
      if (range !== undefined) return recallLines(wanted, text, range);
      if (chars !== undefined) return recallChars(wanted, text, chars);
      return { content: text, isError: false };
    },
  }),
  ['range', 'chars'],
);

function recallLines(id: string, text: string, range: LineRange): ToolOutput {
  const bounds = boundsOf(range);
  const backwards = wrongOrder(bounds);
  if (backwards !== null) return failure(backwards);
  const slice = sliceLines(text, bounds.from, bounds.to);
  if (slice.from > slice.to) {
    return failure(`${id} has ${slice.totalLines} lines; line ${slice.from} is beyond its end.`);
  }
  const head = `${id} lines ${slice.from}-${slice.to} of ${slice.totalLines}`;
  return { content: `${head}\n${slice.text}`, isError: false };
}

function recallChars(id: string, text: string, chars: z.infer<typeof charRange>): ToolOutput {
  const total = countChars(text);
  const from = chars.from ?? 0;
  const end = Math.min(chars.to || total, total);
  if (from >= total) return failure(`${id} has ${total} characters; character ${from} is beyond its end.`);
  if (from >= end) {
    return failure(`The range of characters from ${from} to ${end} is empty; to must be larger than from.`);
  }
  const to = Math.min(end, from + MAX_RECALLED_CHARS);
  const rest = to < end ? `\n[goes on: ${recallCall({ id, chars: { from: to, to: end } })}]` : '';
  const head = `${id} characters ${from}-${to} of ${total}`;
  return { content: `${head}\n${sliceChars(text, from, to)}${rest}`, isError: false };
}

async function unknownId(id: string, evidence: EvidenceReader): Promise<string> {
  const known = await evidence.list(LISTED_IDS);
  const problem =
    id === '' ? 'recall needs an evidence id.' : `There is no evidence ${JSON.stringify(id)} here.`;
  if (known.length === 0) return `${problem} Nothing has been stored in this session yet.`;
  return `${problem} The newest ids are: ${known.join(', ')}.`;
}

function failure(content: string): ToolOutput {
  return { content, isError: true };
}
