/** Calls that are answered in the commit which settles their batch, without a job: what they need is in the ledger. */

import { type Fence, readFences } from '../context/cards/fences.ts';
import { type Presented, presentCall, presentFence } from '../context/cards/present.ts';
import type { Cards } from '../context/cards/registry.ts';
import type { RawRecord } from '../db/contract.ts';
import { presentationId } from '../ledger/ids.ts';
import { canonicalJson } from '../ledger/json.ts';
import type { ToolStatus } from '../ledger/kinds.ts';
import type { Presentation } from '../ledger/presentation.ts';
import { finalAnswer, foldTurn, type TurnView, toolCalls } from '../ledger/view.ts';
import type { AnswerParams } from '../machines/turn-context.ts';
import type { CommitBuilder } from './commit-builder.ts';

interface Place {
  readonly head: string;
  readonly turn: string;
}

/** The turn as it stands with what this commit has added so far, read as every later reading will read it. */
export function viewOf(stored: readonly RawRecord[], builder: CommitBuilder, turnId: string): TurnView {
  const before = stored.map((record) => ({ ...record, body: JSON.parse(record.body) as unknown }));
  const added = builder.draftsOf(turnId).map(({ seq, draft }) => {
    const body: unknown = JSON.parse(canonicalJson(draft.body));
    return { seq, kind: draft.kind, class: 'protocol', turnId, body };
  });
  return foldTurn([...before, ...added]);
}

/** In the order of the calls: a card is derived from the results that came before it. */
export function answerInHop(
  builder: CommitBuilder,
  cards: Cards,
  stored: readonly RawRecord[],
  place: Place,
  { step, calls }: AnswerParams,
): void {
  const view = viewOf(stored, builder, place.turn);
  const asked = toolCalls(view.steps.find((one) => one.step === step)?.content ?? []);
  const earlier = [...view.presentations];
  for (const index of calls) {
    const call = asked[index];
    if (call === undefined) throw new Error(`step ${step} has no call ${index}`);
    const presented = presentCall(
      cards,
      { name: call.name, args: call.args, id: call.id, step, index },
      { id: nextId(builder), earlier, evidence: evidenceBefore(view, step, index) },
    );
    const made = keep(builder, place, presented);
    if (made !== null) earlier.push(made);
    builder.append(place.head, {
      kind: 'tool-result',
      turnId: place.turn,
      body: {
        step,
        index,
        callId: call.id,
        name: call.name,
        status: statusOf(presented),
        evidence: null,
        content: presented.kind === 'refused' ? presented.message : presented.ack,
        windowed: false,
      },
    });
  }
}

/** Cards that the accepted answer holds as text. One the turn made before, or that does not fit, adds nothing. */
export function presentAnswer(builder: CommitBuilder, cards: Cards, view: TurnView, place: Place): TurnView {
  const answer = finalAnswer(view);
  const step = view.steps.at(-1)?.step ?? 0;
  const evidence = evidenceBefore(view, step, 0);
  const presentations = [...view.presentations];
  for (const fence of answer === null ? [] : readFences(answer).filter(isCard)) {
    const context = { id: nextId(builder), earlier: presentations, evidence };
    const made = keep(builder, place, presentFence(cards, fence, step, context));
    if (made !== null) presentations.push(made);
  }
  return { ...view, presentations };
}

const isCard = (fence: Fence): boolean => fence.kind === 'card';

function nextId(builder: CommitBuilder): string {
  return presentationId(builder.nextPresentation);
}

function keep(builder: CommitBuilder, { head, turn }: Place, presented: Presented): Presentation | null {
  if (presented.kind !== 'presented') return null;
  const { presentation } = presented;
  const ordinal = builder.takePresentation();
  const seq = builder.append(head, { kind: 'presentation', turnId: turn, body: presentation });
  builder.lists.presentations.push({ ordinal, seq, turn, type: presentation.type });
  return presentation;
}

function statusOf({ kind }: Presented): ToolStatus {
  return kind === 'refused' ? 'invalid_args' : 'ok';
}

function evidenceBefore(view: TurnView, step: number, index: number): readonly string[] {
  return view.steps.flatMap((one) => {
    if (one.step > step) return [];
    const results = [...one.results.values()].toSorted((a, b) => a.index - b.index);
    return results.flatMap(({ evidence, index: at }) =>
      evidence === null || (one.step === step && at >= index) ? [] : [evidence],
    );
  });
}
