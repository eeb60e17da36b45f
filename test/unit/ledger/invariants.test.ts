import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assemble } from '../../../src/context/assemble/assemble.ts';
import { renderFull } from '../../../src/context/assemble/full-record.ts';
import { buildPrefix } from '../../../src/context/assemble/prefix.ts';
import { rendered } from '../../../src/context/assemble/weigh.ts';
import { type ChainedRecord, chainRecords, GENESIS_DIGEST } from '../../../src/ledger/chain.ts';
import {
  brokenLaw,
  callsAnswered,
  LEDGER_INVARIANTS,
  nudgesFit,
  onlyGrows,
  type RequestOf,
  stepsAnswered,
} from '../../../src/ledger/invariants.ts';
import type { RecordDraft } from '../../../src/ledger/kinds.ts';
import type { StoredRecord } from '../../../src/ledger/verify.ts';
import { foldTurn } from '../../../src/ledger/view.ts';
import { opening, placed, SESSION, sessionOf, turnChoice, turnDrafts, viewsOf } from './sample.ts';

const choice = { text: 'hi', steps: [{ calls: 2, text: 'x', empty: false }], outcome: 'completed' } as const;

function chainedOf(drafts: readonly RecordDraft[]): readonly ChainedRecord[] {
  return chainRecords({ session: SESSION, nextSeq: 1, lastDigest: GENESIS_DIGEST }, placed(drafts));
}

function law(number: number, records: readonly StoredRecord[]): string | null {
  return LEDGER_INVARIANTS.get(number)?.({ session: SESSION, records }) ?? null;
}

describe('the numbered laws', () => {
  it('hold of every ledger, turn and request written as the runtime writes them', () => {
    const prefix = buildPrefix('', []);
    fc.assert(
      fc.property(fc.array(turnChoice, { maxLength: 4 }), (turns) => {
        const records = sessionOf(turns);
        expect(brokenLaw({ session: SESSION, records })).toBeNull();
        const views = turns.map((_, index) => {
          const accepted = records.filter((record) => record.kind === 'turn-accepted')[index];
          return foldTurn(viewsOf(records.filter((record) => record.turnId === accepted?.turnId)));
        });
        for (const view of views) expect([stepsAnswered(view), nudgesFit(view)]).toEqual([null, null]);
        const pieces = views.map((view) => rendered(renderFull(view)));
        const open = pieces.at(-1);
        if (open === undefined) return;
        const input = {
          prefix,
          history: pieces.slice(0, -1),
          open,
          maxTokens: 9,
          cacheKey: 'k',
        };
        expect(callsAnswered(assemble(input).request)).toBeNull();
      }),
    );
  });

  it('1 to 4 name the record that was deleted, unhooked, altered or misfiled', () => {
    const records: readonly StoredRecord[] = sessionOf([choice]);
    const edit = (change: Partial<StoredRecord>) =>
      records.map((record) => (record.seq === 4 ? { ...record, ...change } : record));
    expect(
      law(
        1,
        records.filter((record) => record.seq !== 4),
      ),
    ).toContain('record 5');
    expect(law(2, edit({ prevDigest: GENESIS_DIGEST }))).toContain('record 4');
    expect(law(3, edit({ body: '{}' }))).toContain('record 4');
    expect(law(3, edit({ body: null }))).toContain('record 4');
    expect(law(4, edit({ class: 'display' }))).toContain('record 4');
    expect(law(4, edit({ body: '{"step": 1}' }))).toContain('record 4');
  });

  it('5 wants the session opened first and once', () => {
    const drafts = opening();
    expect(law(5, chainedOf(drafts))).toBeNull();
    expect(law(5, chainedOf([...drafts].reverse()))).not.toBeNull();
    expect(law(5, chainedOf([...drafts, ...drafts.slice(0, 1)]))).not.toBeNull();
  });

  it('6 wants nothing of a turn before its acceptance, no second one, and no fact after its close', () => {
    const turn = turnDrafts(1, choice);
    expect(law(6, chainedOf([...turn.slice(1), ...turn.slice(0, 1)]))).toContain('record 1');
    expect(law(6, chainedOf([...turn, ...turn.slice(0, 1)]))).toContain('again');
    expect(law(6, chainedOf([...turn, ...turn.slice(1, 2)]))).toContain('closed');
    const late: RecordDraft = {
      kind: 'late-result',
      turnId: turn[0]?.turnId ?? null,
      body: { child: 'step-1', fence: 1, token: 1, reason: 'cancelled', digest: 'd', bytes: 1 },
    };
    expect(law(6, chainedOf([...turn, late]))).toBeNull();
  });

  it('7 wants the running turn closed before the next of its head starts', () => {
    const first = turnDrafts(1, { ...choice, outcome: null });
    const second = turnDrafts(2, choice, 5);
    expect(law(7, chainedOf([...first, ...second.slice(0, 2)]))).toBeNull();
    expect(law(7, chainedOf([...first, ...second]))).toContain('turn-context');
  });

  it('8 wants no turn number and no evidence id given twice', () => {
    const drafts = [...turnDrafts(1, choice), ...turnDrafts(2, choice, 1)];
    expect(law(8, chainedOf(drafts))).toContain('e1');
    const renumbered = drafts.map((draft) =>
      draft.kind === 'turn-accepted' ? { ...draft, body: { ...draft.body, number: 1 } } : draft,
    );
    expect(law(8, chainedOf(renumbered))).toContain('T1 again');
  });

  it('9 and 10 want results that answer calls, and nudges that answer nothing', () => {
    const turn = foldTurn(viewsOf(chainedOf(turnDrafts(1, choice))));
    const [step] = turn.steps;
    if (step === undefined) throw new Error('the sample has a step');
    const result = step.results.get(0);
    if (result === undefined) throw new Error('the sample has a result');
    const withStep = (change: Partial<typeof step>) => ({ ...turn, steps: [{ ...step, ...change }] });
    expect(stepsAnswered(withStep({ results: new Map([[7, result]]) }))).toContain('call 7');
    expect(stepsAnswered(withStep({ results: new Map([[1, result]]) }))).toContain('another call');
    expect(stepsAnswered({ ...turn, steps: [step, step] })).toContain('step 1');
    expect(nudgesFit(withStep({ nudge: { step: 1, check: 'empty-step' } }))).toContain('step 1');
  });

  it('11 and 12 want every call answered right after it, and nothing sent before changed', () => {
    const call = { type: 'tool_call', id: 'c1', name: 'grep', args: {} } as const;
    const result = { type: 'tool_result', callId: 'c1', name: 'grep', content: 'x', isError: false } as const;
    const request = (...messages: RequestOf['messages']): RequestOf => ({ system: '', tools: [], messages });
    const asks = { role: 'assistant', content: [call] } as const;
    const answers = { role: 'user', content: [result] } as const;
    expect(callsAnswered(request(asks, answers))).toBeNull();
    expect(callsAnswered(request(asks))).toContain('c1');
    expect(callsAnswered(request(answers))).toContain('c1');
    expect(callsAnswered(request(asks, { role: 'user', content: [] }, answers))).toContain('c1');
    expect(onlyGrows(request(asks), request(asks, answers))).toBeNull();
    expect(onlyGrows(request(asks, answers), request(asks))).toContain('message 1');
    expect(onlyGrows(request(), { ...request(), system: 'x' })).toContain('system');
    expect(onlyGrows(request(), { ...request(), tools: [{ name: 'grep' }] })).toContain('tools');
  });
});
