/** Turns written as the ledger writes them: real records with real digests, one after the other. */
import type { AssistantBlock, InputBlock } from '../../../../src/ledger/blocks.ts';
import { chainRecords, GENESIS_DIGEST } from '../../../../src/ledger/chain.ts';
import type { BodyOf, MintedDraft } from '../../../../src/ledger/kinds.ts';
import type { TranscriptRow, TurnText } from '../../../../src/runtime/transcript/contract.ts';

export const SESSION = '0190a000-0000-7000-8000-000000000001';
const HEAD = '0190a000-0000-7000-8000-0000000000aa';
const ASKED = { digest: 'd' } as const;

export interface SampleStep {
  readonly content: readonly AssistantBlock[];
  readonly results?: readonly (Partial<BodyOf<'tool-result'>> & { readonly whole?: string })[];
  readonly nudge?: Partial<BodyOf<'nudge'>> & { readonly check: BodyOf<'nudge'>['check'] };
  /** Said before the step, and taken up by it. */
  readonly steering?: readonly (readonly InputBlock[])[];
}

export interface SampleTurn {
  readonly input: readonly InputBlock[];
  readonly steps?: readonly SampleStep[];
  readonly statement?: BodyOf<'statement'>;
  /** Said, and taken up by no step. */
  readonly unread?: readonly (readonly InputBlock[])[];
  readonly closed?: boolean;
}

export function turnIdOf(number: number): string {
  return `0190a000-0000-7000-8000-${String(number).padStart(12, '0')}`;
}

export function text(value: string) {
  return { type: 'text', text: value } as const;
}

export function call(name: string, args: object, id = `c-${name}`) {
  return { type: 'tool_call', id, name, args } as AssistantBlock;
}

/** Writes turns on one chain, one after the other. */
export class Transcript {
  readonly session: string;
  #turns = 0;
  #items = 0;
  #nextSeq = 1;
  #lastDigest = GENESIS_DIGEST;

  constructor(session = SESSION) {
    this.session = session;
  }

  get newest(): number {
    return this.#items;
  }

  write(turn: SampleTurn): TurnText {
    this.#turns += 1;
    const from = this.#items + 1;
    const turnId = turnIdOf(this.#turns);
    const drafts = draftsOf(turn, { turnId, number: this.#turns, mint: () => ++this.#items });
    const records = this.#chain(drafts);
    return {
      session: this.session,
      turn: turnId,
      number: this.#turns,
      items: { from, to: this.#items },
      records,
    };
  }

  #chain(drafts: readonly MintedDraft[]): readonly TranscriptRow[] {
    const head = { session: this.session, nextSeq: this.#nextSeq, lastDigest: this.#lastDigest };
    const records = chainRecords(
      head,
      drafts.map((draft) => ({ headId: HEAD, draft })),
    );
    this.#nextSeq += records.length;
    this.#lastDigest = records.at(-1)?.digest ?? this.#lastDigest;
    return records;
  }
}

/** The transcript of turns that say these texts and answer nothing. */
export function turnsSaying(...texts: readonly string[]): readonly TurnText[] {
  const transcript = new Transcript();
  return texts.map((said) => transcript.write({ input: [text(said)] }));
}

export async function* streamed(turns: Iterable<TurnText>): AsyncGenerator<TurnText> {
  for (const turn of turns) yield await Promise.resolve(turn);
}

/** The row with another body, and nothing else changed. */
export function tampered(turn: TurnText, kind: string, change: (body: string) => string | null): TurnText {
  return {
    ...turn,
    records: turn.records.map((row) =>
      row.kind === kind && row.body !== null ? { ...row, body: change(row.body) } : row,
    ),
  };
}

interface Numbers {
  readonly turnId: string;
  readonly number: number;
  readonly mint: () => number;
}

function draftsOf(turn: SampleTurn, { turnId, number, mint }: Numbers): readonly MintedDraft[] {
  const drafts: MintedDraft[] = [];
  const minted: number[] = [];
  const nextItem = (): number => {
    const item = mint();
    minted.push(item);
    return item;
  };
  const add = (draft: Omit<MintedDraft, 'turnId'>) => drafts.push({ ...draft, turnId } as MintedDraft);
  const accepted = { number, input: [...turn.input], mode: 'enqueue' as const, priority: 0, asked: ASKED };
  add({ kind: 'turn-accepted', body: accepted });
  add({
    kind: 'turn-context',
    body: { item: nextItem(), utc: '2026-01-05T10:00:00.000Z', timezone: 'UTC' },
  });
  let said = 0;
  for (const [index, step] of (turn.steps ?? []).entries()) {
    for (const input of step.steering ?? []) {
      add({ kind: 'steering', body: { input: [...input], asked: ASKED } });
      said += 1;
    }
    if (step.steering !== undefined) add({ kind: 'turn-steered', body: { step: index + 1, upTo: said } });
    addStep(step, { number: index + 1, item: nextItem(), add });
  }
  for (const input of turn.unread ?? []) add({ kind: 'steering', body: { input: [...input], asked: ASKED } });
  if (turn.statement !== undefined) add({ kind: 'statement', body: turn.statement });
  const steps = turn.steps?.length ?? 0;
  const items = minted.map((item) => ({ item, label: '', bytes: 0 }));
  if (turn.closed !== false)
    add({ kind: 'turn-closed', body: { outcome: 'completed', reason: 'answered', steps, items } });
  return drafts;
}

function addStep(
  step: SampleStep,
  at: {
    readonly number: number;
    readonly item: number;
    readonly add: (draft: Omit<MintedDraft, 'turnId'>) => void;
  },
): void {
  const content = [...step.content];
  at.add({ kind: 'assistant-message', body: { item: at.item, step: at.number, content, finish: 'stop' } });
  for (const [index, { whole, ...result }] of (step.results ?? []).entries()) {
    const body = {
      step: at.number,
      index,
      callId: `c-${index}`,
      name: 'look',
      status: 'ok' as const,
      evidence: null,
      content: '',
      windowed: whole !== undefined,
      ...result,
    };
    at.add({ kind: 'tool-result', body });
    if (whole !== undefined)
      at.add({ kind: 'evidence-body', body: { evidence: body.evidence ?? '', content: whole } });
  }
  if (step.nudge !== undefined) at.add({ kind: 'nudge', body: { step: at.number, ...step.nudge } });
}
