/** Ledgers for tests: sessions as the runtime writes them, from a few small choices. */
import fc from 'fast-check';
import {
  type ChainedRecord,
  chainRecords,
  GENESIS_DIGEST,
  type PlacedDraft,
} from '../../../src/ledger/chain.ts';
import type { MintedDraft, RecordDraft } from '../../../src/ledger/kinds.ts';
import type { RecordView } from '../../../src/ledger/view.ts';

export const SESSION = '01890000-0000-7000-8000-000000000001';
export const HEAD = '01890000-0000-7000-8000-0000000000aa';

export const turnIdOf = (number: number): string =>
  `01890000-0000-7000-8000-${String(number).padStart(12, '0')}`;

export interface StepChoice {
  readonly calls: number;
  readonly text: string;
  readonly empty: boolean;
}
export interface TurnChoice {
  readonly text: string;
  readonly steps: readonly StepChoice[];
  readonly outcome: 'completed' | 'degraded' | 'failed' | 'cancelled' | null;
}

const stepChoice: fc.Arbitrary<StepChoice> = fc.record({
  calls: fc.nat({ max: 3 }),
  text: fc.string({ maxLength: 30 }),
  empty: fc.boolean(),
});
export const turnChoice: fc.Arbitrary<TurnChoice> = fc.record({
  text: fc.string({ minLength: 1, maxLength: 40 }),
  steps: fc.array(stepChoice, { maxLength: 4 }),
  outcome: fc.constantFrom('completed', 'degraded', 'failed', 'cancelled'),
});

export function opening(): readonly RecordDraft[] {
  return [
    {
      kind: 'session-created',
      turnId: null,
      body: {
        leg: 'sim',
        policy: { name: 'plan', options: {} },
        tools: null,
        system: '',
        metadata: {},
      },
    },
    { kind: 'head-created', turnId: null, body: { head: HEAD, from: null, atSeq: 0 } },
  ];
}

/** Drafts of one turn; `evidence` is the first free ordinal. A call in every odd place is left unanswered. */
export function turnDrafts(
  number: number,
  choice: TurnChoice,
  evidence = 1,
  answerAll = true,
): readonly RecordDraft[] {
  const turnId = turnIdOf(number);
  const drafts: RecordDraft[] = [
    {
      kind: 'turn-accepted',
      turnId,
      body: {
        number,
        input: [{ type: 'text', text: choice.text }],
        mode: 'enqueue',
        priority: 0,
        asked: { digest: 'd' },
      },
    },
    {
      kind: 'reading',
      turnId,
      body: { source: 'lexical', version: 1, act: 'answer', domains: [], confidence: 0.4 },
    },
    { kind: 'turn-context', turnId, body: { utc: '2026-01-02T03:04:05.000Z', timezone: 'UTC' } },
  ];
  let ordinal = evidence;
  for (const [at, { calls, text, empty }] of choice.steps.entries()) {
    const step = at + 1;
    const callIds = empty ? [] : Array.from({ length: calls }, (_, index) => `call_${step}_${index}`);
    drafts.push({
      kind: 'assistant-message',
      turnId,
      body: {
        step,
        finish: callIds.length > 0 ? 'tool_calls' : 'stop',
        content: [
          { type: 'thinking', text: 'hm' },
          ...(empty ? [] : [{ type: 'text' as const, text: `said ${text}` }]),
          ...callIds.map((id) => ({ type: 'tool_call' as const, id, name: 'grep', args: { pattern: text } })),
        ],
      },
    });
    if (empty) drafts.push({ kind: 'nudge', turnId, body: { step, check: 'empty-step' } });
    for (const [index, callId] of callIds.entries()) {
      if (!answerAll && index % 2 === 1) continue;
      drafts.push({
        kind: 'tool-result',
        turnId,
        body: {
          step,
          index,
          callId,
          name: 'grep',
          status: 'ok',
          evidence: `e${ordinal}`,
          content: `found ${text}`,
          windowed: false,
        },
      });
      ordinal += 1;
    }
  }
  if (choice.outcome !== null)
    drafts.push({
      kind: 'turn-closed',
      turnId,
      body: { outcome: choice.outcome, reason: 'answered', steps: choice.steps.length },
    });
  return drafts;
}

/** `item` is the newest that was numbered before. */
export function placed(drafts: readonly RecordDraft[], item = 0): readonly PlacedDraft[] {
  return drafts.map((draft) => {
    const { kind } = draft;
    if (kind !== 'turn-context' && kind !== 'assistant-message')
      return { headId: HEAD, draft: draft as MintedDraft };
    item += 1;
    return { headId: HEAD, draft: { ...draft, body: { ...draft.body, item } } as MintedDraft };
  });
}

/** A session of whole turns, chained. */
export function sessionOf(turns: readonly TurnChoice[]): readonly ChainedRecord[] {
  let evidence = 1;
  const drafts = turns.flatMap((choice, index) => {
    const made = turnDrafts(index + 1, choice, evidence);
    evidence += made.filter((draft) => draft.kind === 'tool-result').length;
    return made;
  });
  return chainRecords(
    { session: SESSION, nextSeq: 1, lastDigest: GENESIS_DIGEST },
    placed([...opening(), ...drafts]),
  );
}

export function viewsOf(records: readonly ChainedRecord[]): readonly RecordView[] {
  return records.map((record) => ({ ...record, body: JSON.parse(record.body) as unknown }));
}

/** Prints how often each class was generated, and fails when one is rarer than 1 %. */
export class Tally {
  readonly #counts = new Map<string, number>();
  #runs = 0;

  count(classes: Readonly<Record<string, boolean>>): void {
    this.#runs += 1;
    for (const [name, seen] of Object.entries(classes))
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + (seen ? 1 : 0));
  }

  report(law: string): void {
    const shares = [...this.#counts].map(([name, count]) => `${name} ${count}`);
    process.stderr.write(`${law}: ${this.#runs} runs; ${shares.join(', ')}\n`);
    const rare = [...this.#counts].filter(([, count]) => count * 100 < this.#runs);
    if (rare.length > 0) throw new Error(`${law}: rarer than 1 %: ${rare.map(([name]) => name).join(', ')}`);
  }
}
