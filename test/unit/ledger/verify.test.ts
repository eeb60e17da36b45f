import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blake3Hex, chainRecords, envelopeDigest } from '../../../src/ledger/chain.ts';
import { ChainVerifier, type StoredRecord, type Verdict } from '../../../src/ledger/verify.ts';
import { placed, SESSION, sessionOf, Tally, type TurnChoice, turnChoice } from './sample.ts';

function verify(records: readonly StoredRecord[], end: { nextSeq: number; lastDigest: string }): Verdict {
  const verifier = new ChainVerifier(SESSION);
  for (const record of records) if (!verifier.next(record)) break;
  return verifier.end(end);
}

function endOf(records: readonly StoredRecord[]) {
  return { nextSeq: records.length + 1, lastDigest: records.at(-1)?.digest ?? '' };
}

const sample: TurnChoice = {
  text: 'where is it',
  steps: [
    { calls: 2, text: 'a', empty: false },
    { calls: 0, text: 'there', empty: false },
  ],
  outcome: 'completed',
};

type Mutation = (records: StoredRecord[], at: number) => StoredRecord[];

function changing(change: (record: StoredRecord) => Partial<StoredRecord>): Mutation {
  return (records, at) => records.map((record, i) => (i === at ? { ...record, ...change(record) } : record));
}

const flip = (hex: string): string => (hex.startsWith('0') ? 'f' : '0') + hex.slice(1);

const MUTATIONS: Readonly<Record<string, Mutation>> = {
  body: changing(({ body }) => ({ body: (body ?? '').replace('{', '{ ') })),
  'body and its digest': changing(({ body }) => ({
    body: `${body} `,
    bytes: Buffer.byteLength(`${body} `),
    bodyDigest: blake3Hex(`${body} `),
  })),
  'missing body': changing(() => ({ body: null })),
  kind: changing(({ kind }) => ({ kind: kind === 'reading' ? 'turn-context' : 'reading' })),
  turn: changing(({ turnId }) => ({ turnId: turnId === null ? SESSION : null })),
  head: changing(() => ({ headId: SESSION })),
  class: changing(({ class: was }) => ({ class: was === 'display' ? 'forensic' : 'display' })),
  bytes: changing(({ bytes }) => ({ bytes: bytes + 1 })),
  'body digest': changing(({ bodyDigest }) => ({ bodyDigest: flip(bodyDigest) })),
  digest: changing(({ digest }) => ({ digest: flip(digest) })),
  'previous digest': changing(({ prevDigest }) => ({ prevDigest: flip(prevDigest) })),
  number: changing(({ seq }) => ({ seq: seq + 1 })),
  deleted: (records, at) => records.filter((_, index) => index !== at),
  repeated: (records, at) => records.flatMap((record, index) => (index === at ? [record, record] : [record])),
  swapped: (records, at) => {
    const other = at === 0 ? 1 : at - 1;
    return records.map((record, index) => {
      if (index === at) return records[other] ?? record;
      return index === other ? (records[at] ?? record) : record;
    });
  },
  'renumbered swap': (records, at) => {
    const other = at === 0 ? 1 : at - 1;
    return records.map((record, index) => {
      if (index === at) return { ...(records[other] ?? record), seq: record.seq };
      return index === other ? { ...(records[at] ?? record), seq: record.seq } : record;
    });
  },
};

describe('verification of a chain', () => {
  it('LED-02 accepts what was written', () => {
    fc.assert(
      fc.property(fc.array(turnChoice, { maxLength: 3 }), (turns) => {
        const records = sessionOf(turns);
        expect(verify(records, endOf(records))).toEqual({
          ok: true,
          records: records.length,
          lastDigest: endOf(records).lastDigest,
        });
      }),
    );
  });

  it('LED-02 finds any single change of any record, at that record or the one it tears off', () => {
    const tally = new Tally();
    const names = Object.keys(MUTATIONS);
    fc.assert(
      fc.property(
        fc.array(turnChoice, { maxLength: 3 }),
        fc.constantFrom(...names),
        fc.nat(),
        (turns, name, place) => {
          const records = sessionOf(turns);
          const at = place % records.length;
          const changed = (MUTATIONS[name] as Mutation)([...records], at);
          const verdict = verify(changed, endOf(records));
          expect(verdict.ok).toBe(false);
          if (verdict.ok) return;
          expect(verdict.fault.seq).toBeGreaterThanOrEqual(at === 0 ? 1 : at);
          expect(verdict.fault.seq).toBeLessThanOrEqual(at + 2);
          expect(verdict.fault.problem).not.toBe('');
          tally.count(Object.fromEntries(names.map((other) => [other, other === name])));
        },
      ),
      { numRuns: 600 },
    );
    tally.report('mutations of a chain');
  });

  it('LED-02 finds a body of the same size and shape that says something else', () => {
    const records = sessionOf([]);
    const at = records.findIndex((record) => record.kind === 'head-created');
    const changed = records.map((record, index) =>
      index === at ? { ...record, body: record.body.replace('"atSeq":0', '"atSeq":7') } : record,
    );
    expect(changed[at]?.body).not.toBe(records[at]?.body);
    expect(verify(changed, endOf(records))).toMatchObject({ ok: false, fault: { seq: at + 1 } });
  });

  it('LED-02 finds a digest that was edited together with everything it covers', () => {
    const records: StoredRecord[] = [...sessionOf([sample])];
    const victim = records[3] as StoredRecord;
    const body = (victim.body ?? '').replace('0.4', '0.9');
    const bodyDigest = blake3Hex(body);
    const digest = envelopeDigest({ ...victim, session: SESSION, bodyDigest });
    records[3] = { ...victim, body, bodyDigest, digest, bytes: Buffer.byteLength(body) };
    const verdict = verify(records, endOf(sessionOf([sample])));
    expect(verdict).toMatchObject({
      ok: false,
      fault: { seq: 5, problem: expect.stringContaining('follow') },
    });
  });

  it('LED-02 finds a chain that was rewritten whole, by the digest the session ended with', () => {
    const records = sessionOf([sample]);
    const forged = sessionOf([{ ...sample, text: 'where was it' }]);
    expect(verify(forged, endOf(records))).toMatchObject({ ok: false, fault: { seq: records.length } });
  });

  it('LED-02 finds records cut off the end, and names the first that is missing', () => {
    const records = sessionOf([sample]);
    for (const kept of [0, 1, records.length - 1])
      expect(verify(records.slice(0, kept), endOf(records))).toMatchObject({
        ok: false,
        fault: { seq: kept + 1 },
      });
  });

  it('refuses a protocol record of a kind it does not know, and passes a display one', () => {
    const records = sessionOf([sample]);
    const known = records.at(-1) as StoredRecord;
    for (const [recordClass, ok] of [
      ['protocol', false],
      ['display', true],
    ] as const) {
      const fields = { ...known, session: SESSION, kind: 'card-shown', class: recordClass };
      const strange = { ...fields, digest: envelopeDigest(fields) };
      const changed = [...records.slice(0, -1), strange];
      expect(verify(changed, endOf(changed)).ok).toBe(ok);
    }
  });
});

describe('verification after an erasure', () => {
  const written = sessionOf([sample]);
  const victim = written[2] as StoredRecord;

  function erasing(seq: number, digest: string) {
    const last = written.at(-1) as StoredRecord;
    return chainRecords(
      { session: SESSION, nextSeq: written.length + 1, lastDigest: last.digest },
      placed([{ kind: 'erased', turnId: null, body: { seq, digest } }]),
    );
  }

  const without = written.map((record) => (record.seq === victim.seq ? { ...record, body: null } : record));

  it('LED-01 still accepts the chain when an erased record names the record and its digest', () => {
    const records = [...without, ...erasing(victim.seq, victim.bodyDigest)];
    expect(verify(records, endOf(records))).toMatchObject({ ok: true });
  });

  it('LED-02 names the record whose body is gone when no erased record does, or one of another digest', () => {
    expect(verify(without, endOf(written))).toMatchObject({ ok: false, fault: { seq: victim.seq } });
    for (const added of [erasing(victim.seq + 1, victim.bodyDigest), erasing(victim.seq, victim.digest)]) {
      const records = [...without, ...added];
      expect(verify(records, endOf(records))).toMatchObject({ ok: false, fault: { seq: victim.seq } });
    }
  });

  it('LED-02 still finds an altered class of an erased record', () => {
    const altered = without.map((record) =>
      record.seq === victim.seq ? { ...record, class: 'forensic' } : record,
    );
    const records = [...altered, ...erasing(victim.seq, victim.bodyDigest)];
    expect(verify(records, endOf(records))).toMatchObject({ ok: false, fault: { seq: victim.seq } });
  });
});
