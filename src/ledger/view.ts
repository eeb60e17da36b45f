/**
 * The fold from records to a turn as a request or a person needs it. Records of one turn go in, in sequence
 * order; everything else of the session is another turn's and is folded apart.
 */
import type { AssistantBlock, InputBlock, ToolCallBlock } from './blocks.ts';
import { TurnwrightError } from './errors.ts';
import { type BodyOf, isKnownKind, type RecordKind } from './kinds.ts';
import type { Presentation } from './presentation.ts';
import type {
  EvictionView,
  MeasureView,
  OverLength,
  PressureView,
  RecordView,
  StepView,
  TurnView,
} from './turn-view.ts';

export type * from './turn-view.ts';

/** What a closed turn renders from; its other records change nothing in a request. */
export const RENDERED_KINDS: readonly RecordKind[] = [
  'turn-accepted',
  'steering',
  'turn-steered',
  'assistant-message',
  'tool-result',
  'nudge',
  'presentation',
  'statement',
  'turn-closed',
];

/** The same where a closed turn goes on being sent as its steps were. */
export const RESENT_KINDS: readonly RecordKind[] = [
  ...RENDERED_KINDS,
  'turn-context',
  'reading',
  'pressure-told',
];

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type StepDraft = Mutable<Omit<StepView, 'results'>> & { results: Map<number, BodyOf<'tool-result'>> };
type TurnDraft = Mutable<
  Omit<
    TurnView,
    | 'steps'
    | 'rejections'
    | 'steering'
    | 'steered'
    | 'presentations'
    | 'evictions'
    | 'measures'
    | 'pressures'
    | 'findings'
    | 'growths'
  >
> & {
  pressures: PressureView[];
  evictions: EvictionView[];
  measures: MeasureView[];
  presentations: Presentation[];
  findings: BodyOf<'finding'>[];
  growths: BodyOf<'surface-grown'>[];
  steps: StepDraft[];
  rejections: OverLength[];
  steering: (readonly InputBlock[])[];
  steered: BodyOf<'turn-steered'>[];
};

/**
 * @throws TurnwrightError `ledger_corrupt` for an unknown protocol kind, or a turn whose records do not begin
 * with its one acceptance.
 */
export function foldTurn(records: readonly RecordView[]): TurnView {
  let turn: TurnDraft | null = null;
  for (const record of records) {
    if (!isKnownKind(record.kind)) {
      if (record.class !== 'protocol') continue;
      throw corrupt(record, `is of the unknown protocol kind "${record.kind}"; run a version that knows it`);
    }
    if (record.kind === 'turn-accepted') {
      if (turn !== null) throw corrupt(record, 'accepts the turn a second time');
      turn = openTurn(record);
    } else if (turn === null) throw corrupt(record, 'comes before the turn it belongs to was accepted');
    else applyRecord(turn, record, record.kind);
    turn.lastSeq = record.seq;
  }
  if (turn === null)
    throw new TurnwrightError('ledger_corrupt', 'A turn has no records; run `turnwright session verify`.');
  return turn;
}

function openTurn(record: RecordView): TurnDraft {
  const body = record.body as BodyOf<'turn-accepted'>;
  const { number, input, metadata, budget = null, imported = false } = body;
  const turnId = record.turnId ?? '';
  return { ...blank(number), turnId, input, imported, metadata, budget, lastSeq: record.seq };
}

/** A turn nobody asked yet. */
export function unasked(number: number): TurnView {
  return blank(number);
}

function blank(number: number): TurnDraft {
  return {
    turnId: '',
    number,
    item: null,
    imported: false,
    input: [],
    context: null,
    reading: null,
    plan: null,
    rejections: [],
    rejectedSeq: 0,
    steps: [],
    steering: [],
    steered: [],
    findings: [],
    statement: null,
    growths: [],
    presentations: [],
    evictions: [],
    measures: [],
    pressures: [],
    reset: null,
    metadata: undefined,
    budget: null,
    spent: { microUsd: 0, tokens: 0 },
    closed: null,
    lastSeq: 0,
  };
}

function applyRecord(turn: TurnDraft, record: RecordView, kind: RecordKind): void {
  switch (kind) {
    case 'turn-context':
      beginTurn(turn, record.body as BodyOf<'turn-context'>);
      return;
    case 'reading':
      turn.reading = record.body as BodyOf<'reading'>;
      return;
    case 'context-plan':
      turn.plan = record.body as BodyOf<'context-plan'>;
      return;
    case 'capacity-feedback':
      learn(turn, record.body as BodyOf<'capacity-feedback'>, record.seq);
      return;
    case 'work-receipt':
      account(turn, record.body as BodyOf<'work-receipt'>, record.seq);
      return;
    case 'assistant-message':
      openStep(turn, record.body as BodyOf<'assistant-message'>, record.seq);
      return;
    case 'tool-result':
      answerCall(turn, record);
      return;
    case 'nudge':
      sendBack(turn, record);
      return;
    case 'finding':
      turn.findings.push(record.body as BodyOf<'finding'>);
      return;
    case 'statement':
      turn.statement = record.body as BodyOf<'statement'>;
      return;
    case 'surface-grown':
      turn.growths.push(record.body as BodyOf<'surface-grown'>);
      return;
    case 'evicted':
      turn.evictions.push({ ...(record.body as BodyOf<'evicted'>), seq: record.seq });
      return;
    case 'pressure-told':
      turn.pressures.push({ ...(record.body as BodyOf<'pressure-told'>), seq: record.seq });
      return;
    case 'steering':
      turn.steering.push((record.body as BodyOf<'steering'>).input);
      return;
    case 'turn-steered':
      turn.steered.push(record.body as BodyOf<'turn-steered'>);
      return;
    case 'presentation':
      turn.presentations.push(record.body as Presentation);
      return;
    case 'reset':
      turn.reset = { ...(record.body as BodyOf<'reset'>), seq: record.seq };
      return;
    case 'turn-closed':
      turn.closed = record.body as BodyOf<'turn-closed'>;
      return;
    default:
      return;
  }
}

function beginTurn(turn: TurnDraft, { item, ...context }: BodyOf<'turn-context'>): void {
  turn.item = item;
  turn.context = context;
}

function openStep(turn: TurnDraft, message: BodyOf<'assistant-message'>, seq: number): void {
  const { item, step, content, finish, kept = null } = message;
  turn.steps.push({ item, step, seq, content, finish, kept, results: new Map(), nudge: null });
}

function answerCall(turn: TurnDraft, record: RecordView): void {
  const result = record.body as BodyOf<'tool-result'>;
  stepOf(turn, record, result.step).results.set(result.index, result);
}

function sendBack(turn: TurnDraft, record: RecordView): void {
  const nudge = record.body as BodyOf<'nudge'>;
  stepOf(turn, record, nudge.step).nudge = nudge;
}

function learn(turn: TurnDraft, feedback: BodyOf<'capacity-feedback'>, seq: number): void {
  if (feedback.reason !== 'over-length') return;
  turn.rejections.push(feedback);
  turn.rejectedSeq = seq;
}

function account(turn: TurnDraft, receipt: BodyOf<'work-receipt'>, seq: number): void {
  spend(turn, receipt);
  measure(turn, receipt, seq);
}

function spend(turn: TurnDraft, receipt: BodyOf<'work-receipt'>): void {
  const { usage, microUsd, cache } = receipt;
  const billed = cache?.request === 'hit' ? null : usage;
  const tokens =
    billed === null
      ? 0
      : billed.inputTokens + billed.cacheReadTokens + billed.cacheWriteTokens + billed.outputTokens;
  turn.spent = { microUsd: turn.spent.microUsd + (microUsd ?? 0), tokens: turn.spent.tokens + tokens };
}

/** Only what a provider said of a whole request it answered. */
function measure(turn: TurnDraft, receipt: BodyOf<'work-receipt'>, seq: number): void {
  const { usage, purpose, settlement, cache, leg } = receipt;
  if (usage === null || purpose !== 'step' || settlement !== 'answered' || cache?.request === 'hit') return;
  const tokens = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  turn.measures.push({ leg, tokens: Math.round(tokens), seq });
}

function stepOf(turn: TurnDraft, record: RecordView, step: number): StepDraft {
  const found = turn.steps.find((candidate) => candidate.step === step);
  if (found === undefined) throw corrupt(record, `names step ${step}, which the turn does not have`);
  return found;
}

function corrupt(record: RecordView, problem: string): TurnwrightError {
  return new TurnwrightError('ledger_corrupt', `Record ${record.seq} ${problem}.`, {
    details: { seq: record.seq },
  });
}

export function toolCalls(content: readonly AssistantBlock[]): readonly ToolCallBlock[] {
  return content.filter((block) => block.type === 'tool_call');
}

export function visibleText(content: readonly (AssistantBlock | InputBlock)[]): string {
  return content
    .filter((block) => block.type === 'text')
    .map((block) => block.text)
    .join('');
}

/** Whether the reply of a step counts for nothing: it was sent back, or the system answered in its place before its calls were made. */
export function isDiscarded({ statement }: TurnView, { step, nudge }: StepView): boolean {
  if (nudge !== null) return true;
  return statement !== null && statement.step === step && statement.check !== 'tool-repair';
}

/** The turn's answer: the system's, else the text of its last step, unless that was empty, called tools or was sent back. */
export function finalAnswer(turn: TurnView): string | null {
  if (turn.statement !== null) return turn.statement.text;
  const last = turn.steps.at(-1);
  if (last === undefined || last.nudge !== null || toolCalls(last.content).length > 0) return null;
  const text = visibleText(last.content);
  return text.trim() === '' ? null : text;
}
