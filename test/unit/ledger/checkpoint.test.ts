import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChainedRecord } from '../../../src/ledger/chain.ts';
import {
  type CheckpointEvent,
  CheckpointReader,
  type CheckpointRecord,
  CheckpointWriter,
} from '../../../src/ledger/checkpoint.ts';
import { TurnwrightError } from '../../../src/ledger/errors.ts';
import { SESSION, sessionOf, Tally, turnChoice, turnIdOf } from './sample.ts';

const AT = '2026-01-02T03:04:05.006Z';

function lineOf(record: ChainedRecord, session = SESSION): CheckpointRecord {
  return {
    type: 'record',
    session,
    seq: record.seq,
    at: AT,
    head: record.headId,
    turn: record.turnId,
    kind: record.kind,
    class: record.class,
    body: record.body,
    bytes: record.bytes,
    body_digest: record.bodyDigest,
    digest: record.digest,
    prev_digest: record.prevDigest,
  };
}

const event = (id: string): CheckpointEvent => ({
  type: 'event',
  actor: turnIdOf(1),
  id,
  event: '{"type":"init"}',
  revision: 1,
  digest: null,
  at: AT,
});

/** Lines without their breaks. */
function written(records: readonly ChainedRecord[], events: readonly CheckpointEvent[] = []): string[] {
  const writer = new CheckpointWriter();
  const part = { session: SESSION, records: records.length, digest: records.at(-1)?.digest ?? '' };
  const lines = [
    writer.line({ type: 'checkpoint', version: 1, form: 'deep', session: SESSION, sessions: [part] }),
    ...records.map((record) => writer.line(lineOf(record))),
    ...events.map((one) => writer.line(one)),
    writer.end(),
  ];
  return lines.map((line) => line.slice(0, -1));
}

function read(lines: readonly string[]) {
  const reader = new CheckpointReader();
  const entries = lines.flatMap((line) => reader.next(line) ?? []);
  return { header: reader.end(), entries };
}

function refusal(lines: readonly string[]): string {
  try {
    read(lines);
  } catch (error) {
    if (error instanceof TurnwrightError && error.code === 'checkpoint_refused') return error.message;
    throw error;
  }
  return 'taken';
}

const TURN = {
  text: 'hi',
  steps: [{ calls: 1, text: 'x', empty: false }],
  outcome: 'completed' as const,
};
const RECORDS = sessionOf([TURN]);
const LINES = written(RECORDS, [event('init')]);

describe('a checkpoint', () => {
  it('HED-02 is read as it was written, whatever was recorded', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(fc.array(turnChoice, { maxLength: 5 }), fc.nat({ max: 3 }), (turns, count) => {
        const records = sessionOf(turns);
        const events = Array.from({ length: count }, (_, at) => event(`e${at}`));
        tally.count({ 'no turn': turns.length === 0, 'several turns': turns.length > 1, events: count > 0 });
        const { header, entries } = read(written(records, events));
        expect(header.sessions).toEqual([
          { session: SESSION, records: records.length, digest: records.at(-1)?.digest },
        ]);
        expect(entries.slice(1)).toEqual([...records.map((record) => lineOf(record)), ...events]);
      }),
    );
    tally.report('checkpoints that were read');
  });

  it('HED-02 of which any line is missing, doubled or exchanged is refused', () => {
    for (let at = 0; at < LINES.length; at++) {
      const without = LINES.toSpliced(at, 1);
      expect(refusal(without), `without line ${at + 1}`).toMatch(
        /^(?:Line \d+ of the checkpoint|The checkpoint is cut off)/u,
      );
      const twice = LINES.toSpliced(at, 0, LINES[at] ?? '');
      expect(refusal(twice), `line ${at + 1} twice`).toMatch(/^Line \d+ of the checkpoint/u);
      if (at === 0) continue;
      const exchanged = LINES.with(at - 1, LINES[at] ?? '').with(at, LINES[at - 1] ?? '');
      expect(refusal(exchanged), `line ${at + 1} before the last`).toMatch(/^Line \d+ of the checkpoint/u);
    }
  });

  it('HED-02 of which one character was altered is refused, wherever it stands', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.constantFrom('0', '1', 'a', 'f', ' ', 'x'), (line, at, put) => {
        const index = line % LINES.length;
        const text = LINES[index] ?? '';
        const place = at % text.length;
        fc.pre(text[place] !== put);
        const altered = `${text.slice(0, place)}${put}${text.slice(place + 1)}`;
        let same = false;
        try {
          same = JSON.stringify(JSON.parse(altered)) === text;
        } catch {
          same = false;
        }
        fc.pre(!same);
        tally.count({
          header: index === 0,
          end: index === LINES.length - 1,
          record: index > 0 && index < LINES.length - 2,
          event: index === LINES.length - 2,
        });
        expect(refusal(LINES.with(index, altered))).not.toBe('taken');
      }),
      { numRuns: 500 },
    );
    tally.report('checkpoints with an altered character');
  });

  it('HED-02 names the record that breaks its chain', () => {
    const body = (RECORDS[2]?.body ?? '').replace('hi', 'ho');
    const forged = written(RECORDS.map((record, at) => (at === 2 ? { ...record, body } : record)));
    expect(refusal(forged)).toBe(
      `Line 4 of the checkpoint breaks session ${SESSION}: record 3 (turn-accepted): its body was altered. Nothing was imported.`,
    );
  });

  it('HED-02 that ends early says so, and what to do', () => {
    expect(refusal(LINES.slice(0, -1))).toBe(
      `The checkpoint is cut off: found ${LINES.length - 1} lines and no line of type "end". Export it again.`,
    );
    expect(refusal([])).toContain('found 0 lines');
  });

  it('HED-02 of another version, or that is none, is refused by its first line', () => {
    const [first = ''] = LINES;
    expect(refusal([first.replace('"version":1', '"version":2')])).toContain(
      'is of version 2; this program reads 1',
    );
    expect(refusal(['not json'])).toContain('Line 1 of the checkpoint is no JSON');
    expect(refusal(['{"type":"other"}'])).toContain('Line 1 of the checkpoint is no line of a checkpoint');
    expect(refusal([first.replace('"form"', '"frm"')])).toContain('is no line of a checkpoint');
    expect(refusal(LINES.slice(1))).toContain('comes before the line of type "checkpoint"');
  });

  it('HED-02 lets nothing come behind its end', () => {
    expect(refusal([...LINES, LINES[0] ?? ''])).toContain('comes behind the end');
  });
});
