import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ERASED, foldChecked, recordFault } from '../../../../src/runtime/transcript/check-record.ts';
import type { TranscriptRow, TurnText } from '../../../../src/runtime/transcript/contract.ts';
import { readItems } from '../../../../src/runtime/transcript/search-turn.ts';
import { Tally } from '../../ledger/sample.ts';
import { call, SESSION, Transcript, tampered, text, turnIdOf } from './transcript-sample.ts';

const OTHER_BODY = 'its body is not the one that was recorded: the digests differ';
const OTHER_ENVELOPE = 'its envelope is not the one that was recorded: the digests differ';

const written = (): TurnText =>
  new Transcript().write({
    input: [text('What is the toll?')],
    steps: [
      { content: [call('look', {})], results: [{ evidence: 'e1', content: '…', whole: 'Twelve pence.' }] },
      { content: [text('Twelve pence.')] },
    ],
  });
const faultOf = (turn: TurnText) => {
  const checked = foldChecked(turn);
  return checked.ok ? null : { seq: checked.seq, problem: checked.problem };
};
const rowOf = (turn: TurnText, kind: string): TranscriptRow => {
  const row = turn.records.find((each) => each.kind === kind);
  if (row === undefined) throw new Error(`there is no ${kind}`);
  return row;
};
const without = (turn: TurnText, ...seqs: readonly number[]): TurnText => ({
  ...turn,
  records: turn.records.filter(({ seq }) => !seqs.includes(seq)),
});
const altered = (turn: TurnText, seq: number, change: Partial<TranscriptRow>): TurnText => ({
  ...turn,
  records: turn.records.map((row) => (row.seq === seq ? { ...row, ...change } : row)),
});

describe('a stored record', () => {
  it('DOR-01 is read where its digests are those of what is stored', () => {
    const turn = written();
    for (const row of turn.records) expect(recordFault(row, SESSION)).toBeNull();
    const checked = foldChecked(turn);
    expect(checked.ok && [...checked.bodies]).toEqual([['e1', 'Twelve pence.']]);
  });

  it('DOR-01 fault 14: a body exchanged for another record’s of equal length is named by its digest, though it is good JSON', () => {
    const one = new Transcript().write({ input: [text('the toll is 12')] });
    const other = new Transcript().write({ input: [text('the toll is 21')] });
    const body = rowOf(other, 'turn-accepted').body ?? '';
    expect(body).toHaveLength(rowOf(one, 'turn-accepted').body?.length ?? 0);
    const exchanged = tampered(one, 'turn-accepted', () => body);
    expect(faultOf(exchanged)).toEqual({ seq: 1, problem: OTHER_BODY });
  });

  it('DOR-01 fault 14: a body that is no JSON any more is named by its digest, and never parsed', () => {
    for (const kind of [
      'turn-accepted',
      'assistant-message',
      'tool-result',
      'evidence-body',
      'turn-closed',
    ]) {
      const turn = tampered(written(), kind, (body) => `${body.slice(0, -1)}#`);
      expect(faultOf(turn)?.problem).toBe(OTHER_BODY);
    }
  });

  it('DOR-01 fault 14: a body written again with a digest of its own is named by the envelope', () => {
    const turn = written();
    const other = rowOf(new Transcript().write({ input: [text('another')] }), 'turn-accepted');
    const { body, bodyDigest } = other;
    expect(faultOf(altered(turn, 1, { body, bodyDigest }))).toEqual({ seq: 1, problem: OTHER_ENVELOPE });
  });

  it('DOR-01 fault 14: a whole chain written again is named where a digest is known from elsewhere', () => {
    const turn = written();
    const forged = new Transcript().write({ input: [text('forged')] });
    const expected = new Map([[1, turn.records[0]?.digest ?? '']]);
    expect(faultOf({ ...forged, turn: turn.turn })).toBeNull();
    expect(faultOf({ ...forged, turn: turn.turn, expected })).toEqual({
      seq: 1,
      problem: 'it is not the record that was pointed at: the digests differ',
    });
    expect(faultOf({ ...turn, expected })).toBeNull();
  });

  it('DOR-01 fault 14: any one character of any body, and any field of any envelope, is told by its record', () => {
    const tally = new Tally();
    const turn = written();
    const fields = ['body', 'kind', 'turnId', 'headId', 'bodyDigest', 'prevDigest', 'digest', 'seq'] as const;
    fc.assert(
      fc.property(fc.nat(), fc.constantFrom(...fields), fc.nat(), (which, field, place) => {
        const row = turn.records[which % turn.records.length];
        if (row === undefined) throw new Error('there is no record');
        const value = `${row[field] ?? ''}`;
        const at = place % value.length;
        const changed = `${value.slice(0, at)}${value[at] === '0' ? '1' : '0'}${value.slice(at + 1)}`;
        const change = field === 'seq' ? { seq: row.seq + 1 + place } : { [field]: changed };
        const fault = faultOf(altered(turn, row.seq, change));
        expect(fault).toEqual({
          seq: field === 'seq' ? row.seq + 1 + place : row.seq,
          problem: field === 'body' ? OTHER_BODY : field === 'bodyDigest' ? OTHER_BODY : OTHER_ENVELOPE,
        });
        tally.count(Object.fromEntries(fields.map((name) => [name, name === field])));
      }),
      { numRuns: 1_500 },
    );
    tally.report('alterations');
  });

  it('DOR-01 of another session or another turn is none of this one’s', () => {
    const turn = written();
    expect(faultOf({ ...turn, session: SESSION.replace(/1$/u, '2') })).toEqual({
      seq: 1,
      problem: OTHER_ENVELOPE,
    });
    expect(faultOf({ ...turn, turn: turnIdOf(7) })).toEqual({
      seq: 1,
      problem: 'it belongs to another turn',
    });
  });

  it('DOR-01 that follows another than the one before it is named, as are records out of order', () => {
    const turn = written();
    const [first, second] = turn.records;
    if (first === undefined || second === undefined) throw new Error('there are no records');
    const fork = new Transcript();
    const stranger = fork.write({ input: [text('another first record')] }).records[0];
    if (stranger === undefined) throw new Error('there is no record');
    const swapped = { ...turn, records: [{ ...stranger, turnId: turn.turn }, ...turn.records.slice(1)] };
    expect(faultOf(swapped)).toEqual({ seq: 2, problem: 'it does not follow the record before it' });
    expect(faultOf({ ...turn, records: [second, first] })?.problem).toContain('does not follow');
    expect(faultOf({ ...turn, records: [first, first] })?.problem).toContain('does not follow');
  });

  it('DOR-01 of a class that its kind does not have is not read', () => {
    const turn = written();
    expect(faultOf(altered(turn, 1, { class: 'display' }))?.problem).toContain(
      'the kind "turn-accepted" and the class "display"',
    );
    const unknown = { ...rowOf(turn, 'turn-accepted'), kind: 'turn-imagined' };
    expect(recordFault({ ...unknown, class: 'protocol' }, SESSION)).toBe(OTHER_ENVELOPE);
  });

  it('DOR-01 whose content was erased is told as that, and its envelope still stands', () => {
    const { seq } = rowOf(written(), 'tool-result');
    expect(faultOf(altered(written(), seq, { body: null }))).toEqual({ seq, problem: ERASED });
    expect(faultOf(altered(written(), seq, { body: null, headId: SESSION }))?.problem).toBe(OTHER_ENVELOPE);
  });
});

describe('the records of a turn', () => {
  it('DOR-01 that are not all there are refused by what is missing', () => {
    const turn = written();
    const problemWithout = (...kinds: readonly string[]) => {
      const gone = turn.records.filter(({ kind }) => kinds.includes(kind)).map(({ seq }) => seq);
      const read = readItems(without(turn, ...gone));
      return read.ok ? null : read.problem;
    };
    expect(problemWithout()).toBeNull();
    expect(problemWithout('turn-accepted')).toContain('comes before the turn it belongs to was accepted');
    expect(problemWithout('turn-context')).toBe('the record that opens item #1 is not here');
    expect(problemWithout('evidence-body')).toBe('the record that holds the whole of e1 is not here');
    expect(problemWithout(...turn.records.map(({ kind }) => kind))).toBe('none of its records is here');
  });

  it('DOR-01 that lack a step in the middle are refused by its item, as those that lack the last are', () => {
    const turn = new Transcript().write({
      input: [text('q')],
      steps: [{ content: [text('one')] }, { content: [text('two')] }, { content: [text('three')] }],
    });
    const steps = turn.records.filter(({ kind }) => kind === 'assistant-message');
    for (const [place, { seq }] of steps.entries())
      expect(readItems(without(turn, seq))).toEqual({
        ok: false,
        seq: 0,
        problem: `the record that opens item #${place + 2} is not here`,
      });
    const [, , last] = steps;
    const closed = turn.records.at(-1);
    const cut = without(turn, last?.seq ?? 0, closed?.seq ?? 0);
    expect(readItems(cut)).toMatchObject({ ok: false, problem: 'the record that opens item #4 is not here' });
    expect(readItems({ ...cut, items: { from: 1, to: 3 } }).ok).toBe(true);
  });

  it('DOR-01 fault 15: that are being added to are read as far as they go', () => {
    const open = new Transcript().write({
      input: [text('q')],
      steps: [{ content: [text('one')] }, { content: [text('two')] }],
      closed: false,
    });
    const read = readItems({ ...without(open, 4), items: { from: 1, to: 2 } });
    expect(read.ok && read.items.map(({ item }) => item)).toEqual([1, 2]);
  });
});
