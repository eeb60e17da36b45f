/** What a turn that outgrew its model hands on to itself: its steps as lines, and the text made of them without a model. */
import { byteLength, canonicalJson } from '../../ledger/json.ts';
import { type TurnView, toolCalls, visibleText } from '../../ledger/view.ts';
import { digestOf } from '../assemble/full-record.ts';
import { escapeMarkers } from '../assemble/markers.ts';
import { oneLine } from '../one-line.ts';
import { fitLines } from './fit-lines.ts';
import { HANDOFF } from './wording.ts';

/** Characters a text made without a model shows at least, where the budget allows. */
const LEAST_CHARS = 600;

/** Each step's words and calls, every result as its digest, oldest first. Foreign text in them is escaped. */
export function transcriptLines(turn: TurnView): readonly string[] {
  return turn.steps.flatMap((step) => {
    if (step.nudge !== null) return [];
    const text = visibleText(step.content).trim();
    const calls = toolCalls(step.content).map((call, index) => {
      const result = step.results.get(index);
      const called = escapeMarkers(`${call.name} ${canonicalJson(call.args)}`);
      if (result === undefined) return `${called} → no result`;
      const shown =
        result.evidence === null
          ? escapeMarkers(result.content)
          : (result.digest ?? digestOf(result.evidence, result).text);
      return `${called} → ${shown}`;
    });
    return [...(text === '' ? [] : [escapeMarkers(text)]), ...calls];
  });
}

/** One line a call with the id of its result, the newest that fit. */
export function deterministicHandoff(turn: TurnView, maxBytes: number): string {
  const lines = turn.steps.flatMap((step) =>
    toolCalls(step.content).map((call, index) => {
      const result = step.results.get(index);
      const id = result?.evidence ?? null;
      const shape = result === undefined || id === null ? 'no result' : digestOf(id, result).shape;
      const ended = id === null ? shape : `${id} (${shape})`;
      return escapeMarkers(oneLine(`${call.name} ${canonicalJson(call.args)} → ${ended}`));
    }),
  );
  const most = Math.max(0, maxBytes - byteLength(HANDOFF.withoutModel));
  const room = { wantedBytes: most, leastChars: Math.min(LEAST_CHARS, most), mostBytes: most };
  const { kept, leftOut } = fitLines(lines, room, HANDOFF.tooLong);
  return [HANDOFF.withoutModel, ...(leftOut > 0 ? [HANDOFF.leftOut(leftOut)] : []), ...kept].join('\n');
}
