/**
 * The fold from records to a turn as a request or a person needs it. Records of one turn go in, in sequence
 * order; everything else of the session is another turn's and is folded apart.
 */
import type { AssistantBlock, InputBlock, ToolCallBlock } from './blocks.ts';
import { TurnwrightError } from './errors.ts';
import { type BodyOf, isKnownKind, type RecordKind } from './kinds.ts';
import type { Presentation } from './presentation.ts';

/** What the fold needs of a stored record; `body` is its parsed content. */
export interface RecordView {
  readonly seq: number;
  readonly kind: string;
  readonly class: string;
  readonly turnId: string | null;
  readonly body: unknown;
}

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

/** A prompt that a leg refused as too long. */
export type OverLength = Extract<BodyOf<'capacity-feedback'>, { reason: 'over-length' }>;

export interface StepView {
  readonly step: number;
  readonly seq: number;
  readonly content: readonly AssistantBlock[];
  readonly finish: BodyOf<'assistant-message'>['finish'];
  /** The reply at a provider that keeps it. */
  readonly kept: BodyOf<'assistant-message'>['kept'] | null;
  /** By call index; a call not answered yet has no entry. */
  readonly results: ReadonlyMap<number, BodyOf<'tool-result'>>;
  /** Set when the reply was sent back: it is discarded, the nudge stands in its place. */
  readonly nudge: BodyOf<'nudge'> | null;
}

export interface TurnView {
  readonly turnId: string;
  readonly number: number;
  readonly input: readonly InputBlock[];
  readonly context: BodyOf<'turn-context'> | null;
  readonly reading: BodyOf<'reading'> | null;
  /** The newest plan: frozen for the turn unless an over-length reply replaced it. */
  readonly plan: BodyOf<'context-plan'> | null;
  readonly rejections: readonly OverLength[];
  readonly steps: readonly StepView[];
  /** Messages for the running turn, in the order they came. */
  readonly steering: readonly (readonly InputBlock[])[];
  /** Which step took up the messages up to which. */
  readonly steered: readonly BodyOf<'turn-steered'>[];
  /** What its checks found, in order. */
  readonly findings: readonly BodyOf<'finding'>[];
  /** The system's answer, where a check closed the turn: the reply of its step does not stand. */
  readonly statement: BodyOf<'statement'> | null;
  /** How the prefix grew, in order. */
  readonly growths: readonly BodyOf<'surface-grown'>[];
  /** Cards in the order they were made. */
  readonly presentations: readonly Presentation[];
  /** The newest reset of this turn, with the record it stands in. */
  readonly reset: (BodyOf<'reset'> & { readonly seq: number }) | null;
  readonly metadata: BodyOf<'turn-accepted'>['metadata'];
  /** What the turn may cost at most; null where nobody said. */
  readonly budget: BodyOf<'turn-accepted'>['budget'] | null;
  /** What its calls were billed so far, as far as they could be priced. */
  readonly spent: { readonly microUsd: number; readonly tokens: number };
  readonly closed: BodyOf<'turn-closed'> | null;
  readonly lastSeq: number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type StepDraft = Mutable<Omit<StepView, 'results'>> & { results: Map<number, BodyOf<'tool-result'>> };
type TurnDraft = Mutable<
  Omit<TurnView, 'steps' | 'rejections' | 'steering' | 'steered' | 'presentations' | 'findings' | 'growths'>
> & {
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
  const { number, input, metadata, budget = null } = body;
  return { ...blank(number), turnId: record.turnId ?? '', input, metadata, budget, lastSeq: record.seq };
}

/** A turn nobody asked yet. */
export function unasked(number: number): TurnView {
  return blank(number);
}

function blank(number: number): TurnDraft {
  return {
    turnId: '',
    number,
    input: [],
    context: null,
    reading: null,
    plan: null,
    rejections: [],
    steps: [],
    steering: [],
    steered: [],
    findings: [],
    statement: null,
    growths: [],
    presentations: [],
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
      turn.context = record.body as BodyOf<'turn-context'>;
      return;
    case 'reading':
      turn.reading = record.body as BodyOf<'reading'>;
      return;
    case 'context-plan':
      turn.plan = record.body as BodyOf<'context-plan'>;
      return;
    case 'capacity-feedback':
      learn(turn, record.body as BodyOf<'capacity-feedback'>);
      return;
    case 'work-receipt':
      spend(turn, record.body as BodyOf<'work-receipt'>);
      return;
    case 'assistant-message': {
      const { step, content, finish, kept = null } = record.body as BodyOf<'assistant-message'>;
      turn.steps.push({ step, seq: record.seq, content, finish, kept, results: new Map(), nudge: null });
      return;
    }
    case 'tool-result': {
      const result = record.body as BodyOf<'tool-result'>;
      stepOf(turn, record, result.step).results.set(result.index, result);
      return;
    }
    case 'nudge': {
      const nudge = record.body as BodyOf<'nudge'>;
      stepOf(turn, record, nudge.step).nudge = nudge;
      return;
    }
    case 'finding':
      turn.findings.push(record.body as BodyOf<'finding'>);
      return;
    case 'statement':
      turn.statement = record.body as BodyOf<'statement'>;
      return;
    case 'surface-grown':
      turn.growths.push(record.body as BodyOf<'surface-grown'>);
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

function learn(turn: TurnDraft, feedback: BodyOf<'capacity-feedback'>): void {
  if (feedback.reason === 'over-length') turn.rejections.push(feedback);
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
