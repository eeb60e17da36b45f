/** Calls that are answered in the commit which settles their batch, without a job: what they need is in the ledger. */

import { withRepairHint } from '../checks/tool-repair.ts';
import { type Fence, readFences } from '../context/cards/fences.ts';
import { type Presented, presentCall, presentFence } from '../context/cards/present.ts';
import type { Cards } from '../context/cards/registry.ts';
import { withheldText } from '../context/wording/wording.ts';
import type { RawRecord } from '../db/contract.ts';
import type { ToolCallBlock } from '../ledger/blocks.ts';
import { presentationId } from '../ledger/ids.ts';
import { canonicalJson } from '../ledger/json.ts';
import type { BodyOf, ToolStatus } from '../ledger/kinds.ts';
import type { Presentation } from '../ledger/presentation.ts';
import { finalAnswer, foldTurn, type TurnView, toolCalls } from '../ledger/view.ts';
import type { AnswerParams } from '../machines/turn-context.ts';
import { CONTEXT, type ToolSurface } from '../tools/surface.ts';
import type { CommitBuilder } from './commit-builder.ts';
import { answerContextCall } from './context-calls.ts';
import type { HeadItems } from './head-items.ts';
import type { SessionConfig } from './sessions.ts';
import { answerSurfaceCall } from './surface-calls.ts';

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

/** What answers are made from, beside the turn's records. */
export interface AnswerContext {
  readonly cards: Cards;
  readonly surface: ToolSurface;
  readonly config: SessionConfig;
  readonly items: HeadItems | null;
}

/** One call's result, and how it changes the prefix of the requests to come. */
interface Answered {
  readonly status: ToolStatus;
  readonly content: string;
  readonly growth: BodyOf<'surface-grown'> | null;
}

/** In the order of the calls: a card is derived from the results that came before it. */
export function answerInHop(
  builder: CommitBuilder,
  context: AnswerContext,
  stored: readonly RawRecord[],
  place: Place,
  { step, calls, withheld, again }: AnswerParams,
): void {
  const view = viewOf(stored, builder, place.turn);
  const asked = toolCalls(view.steps.find((one) => one.step === step)?.content ?? []);
  const earlier = [...view.presentations];
  for (const index of calls) {
    const call = asked[index];
    if (call === undefined) throw new Error(`step ${step} has no call ${index}`);
    const kept = withheld.find((one) => one.index === index);
    const { status, content, growth } =
      kept !== undefined
        ? { status: 'withheld' as const, content: withheldText(kept.check, kept), growth: null }
        : context.cards.byTool(call.name) === undefined
          ? call.name === CONTEXT
            ? answerContext(builder, context, place, { view, call })
            : answerSurfaceCall(call, { ...context, view, step })
          : answerCard(builder, context, place, { view, earlier, call, step, index, again });
    builder.append(place.head, {
      kind: 'tool-result',
      turnId: place.turn,
      body: {
        step,
        index,
        callId: call.id,
        name: call.name,
        status,
        evidence: null,
        content,
        windowed: false,
      },
    });
    if (growth !== null)
      builder.append(place.head, { kind: 'surface-grown', turnId: place.turn, body: growth });
  }
}

/** An edit lands at once: the next request goes without what left. */
function answerContext(
  builder: CommitBuilder,
  { items, config }: AnswerContext,
  { head, turn }: Place,
  { view, call }: { readonly view: TurnView; readonly call: ToolCallBlock },
): Answered {
  if (items === null) throw new Error('a call of context needs the items of its head');
  const made = builder.lists.evictions.map(({ seq, from, to, note, author }) => ({
    seq,
    from,
    to,
    note,
    author,
  }));
  const { content, status, evicted } = answerContextCall(call.args, { items, view, made, leg: config.leg });
  if (evicted !== null) {
    const seq = builder.append(head, { kind: 'evicted', turnId: turn, body: evicted });
    builder.lists.evictions.push({ head, seq, ...evicted });
  }
  return { status, content, growth: null };
}

interface CardAsked {
  readonly view: TurnView;
  /** Cards of the turn so far; a new one joins them. */
  readonly earlier: Presentation[];
  readonly call: ToolCallBlock;
  readonly step: number;
  readonly index: number;
  readonly again: boolean;
}

function answerCard(
  builder: CommitBuilder,
  { cards, surface }: AnswerContext,
  place: Place,
  { view, earlier, call, step, index, again }: CardAsked,
): Answered {
  const presented = presentCall(
    cards,
    { name: call.name, args: call.args, id: call.id, step, index },
    { id: nextId(builder), earlier, evidence: evidenceBefore(view, step, index) },
  );
  const made = keep(builder, place, presented);
  if (made !== null) earlier.push(made);
  if (presented.kind !== 'refused') return { status: 'ok', content: presented.ack, growth: null };
  const hinted = withRepairHint({
    content: presented.message,
    status: 'invalid_args',
    tool: surface.get(call.name) ?? null,
    again,
  });
  return { status: 'invalid_args', content: hinted, growth: null };
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

function evidenceBefore(view: TurnView, step: number, index: number): readonly string[] {
  return view.steps.flatMap((one) => {
    if (one.step > step) return [];
    const results = [...one.results.values()].toSorted((a, b) => a.index - b.index);
    return results.flatMap(({ evidence, index: at }) =>
      evidence === null || (one.step === step && at >= index) ? [] : [evidence],
    );
  });
}
