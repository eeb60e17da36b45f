import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  blake3Hex,
  type ChainFields,
  chainRecords,
  envelopeDigest,
  GENESIS_DIGEST,
} from '../../../src/ledger/chain.ts';
import { TurnwrightError } from '../../../src/ledger/errors.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';
import type { RecordDraft } from '../../../src/ledger/kinds.ts';
import { HEAD, opening, placed, SESSION, turnDrafts } from './sample.ts';

/** Digits, colons and lengths: the characters a careless envelope would confuse. */
const tricky = fc.string({ unit: fc.constantFrom('0', '1', '2', ':', 'a', 'é'), minLength: 1, maxLength: 6 });
const fields: fc.Arbitrary<ChainFields> = fc.record({
  session: tricky,
  seq: fc.nat({ max: 200 }),
  kind: tricky,
  turnId: fc.option(tricky),
  headId: tricky,
  bodyDigest: tricky,
  prevDigest: tricky,
});

describe('the envelope digest', () => {
  it('LED-01 differs for any two different tuples of fields, however text is shifted between them', () => {
    fc.assert(
      fc.property(fields, fields, (left, right) => {
        const same = canonicalJson(left) === canonicalJson(right);
        expect(envelopeDigest(left) === envelopeDigest(right)).toBe(same);
      }),
    );
    fc.assert(
      fc.property(fields, fc.nat({ max: 5 }), (left, cut) => {
        const moved = left.kind.slice(-1 - (cut % left.kind.length));
        const right = {
          ...left,
          kind: left.kind.slice(0, left.kind.length - moved.length),
          turnId: `${moved}${left.turnId ?? ''}`,
        };
        expect(envelopeDigest(right)).not.toBe(envelopeDigest(left));
      }),
    );
  });

  it('covers version, session, number, kind, turn, head, body and predecessor, each with its length in bytes', () => {
    const text = '1:13:sé2:124:kind1:t4:head4:body4:prev';
    const envelope = {
      session: 'sé',
      seq: 12,
      kind: 'kind',
      turnId: 't',
      headId: 'head',
      bodyDigest: 'body',
    };
    expect(envelopeDigest({ ...envelope, prevDigest: 'prev' })).toBe(blake3Hex(text));
  });

  it('is blake3: the published digest of the empty input', () => {
    expect(blake3Hex('')).toBe('af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262');
  });
});

describe('chaining records', () => {
  const head = { session: SESSION, nextSeq: 1, lastDigest: GENESIS_DIGEST };
  const drafts = [
    ...opening(),
    ...turnDrafts(1, { text: 'hello', steps: [{ calls: 2, text: 'x', empty: false }], outcome: 'completed' }),
  ];

  it('LED-01 numbers them without a gap, each following the digest before it', () => {
    const records = chainRecords(head, placed(drafts));
    expect(records.map((record) => record.seq)).toEqual(drafts.map((_, index) => index + 1));
    expect(records.map((record) => record.prevDigest)).toEqual([
      GENESIS_DIGEST,
      ...records.slice(0, -1).map((record) => record.digest),
    ]);
    for (const { body, bytes, bodyDigest, digest } of records) {
      expect(bytes).toBe(Buffer.byteLength(body));
      expect(bodyDigest).toBe(blake3Hex(body));
      expect(digest).toMatch(/^[0-9a-f]{64}$/u);
    }
  });

  it('gives the same records whether written in one hop or in many', () => {
    const whole = chainRecords(head, placed(drafts));
    fc.assert(
      fc.property(fc.nat({ max: drafts.length }), (cut) => {
        const before = chainRecords(head, placed(drafts.slice(0, cut)));
        const minted = before.filter(({ kind }) => kind === 'turn-context' || kind === 'assistant-message');
        const after = chainRecords(
          { session: SESSION, nextSeq: cut + 1, lastDigest: before.at(-1)?.digest ?? GENESIS_DIGEST },
          placed(drafts.slice(cut), minted.length),
        );
        expect([...before, ...after]).toEqual(whole);
      }),
    );
  });

  it('LED-05 keeps the turn and the head of every record', () => {
    const records = chainRecords(head, placed(drafts));
    expect(records.map((record) => record.turnId)).toEqual(drafts.map((draft) => draft.turnId));
    expect(new Set(records.map((record) => record.headId))).toEqual(new Set([HEAD]));
  });

  it('refuses a body that does not fit its kind, and names the kind and the member', () => {
    const wrong = { kind: 'nudge', turnId: null, body: { step: -1, check: 'empty-step' } } as RecordDraft;
    const extra = {
      kind: 'head-moved',
      turnId: null,
      body: { head: HEAD, note: 'x' },
    } as unknown as RecordDraft;
    for (const [draft, member] of [
      [wrong, 'step'],
      [extra, 'note'],
    ] as const) {
      let thrown: unknown;
      try {
        chainRecords(head, placed([draft]));
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(TurnwrightError);
      expect(thrown).toMatchObject({ code: 'record_refused', message: expect.stringContaining(draft.kind) });
      expect(String(thrown)).toContain(member);
    }
  });
});
