import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byteLength } from '../../../../src/ledger/json.ts';
import { MAX_HITS } from '../../../../src/runtime/transcript/grep.ts';
import { compileSearch } from '../../../../src/runtime/transcript/line-search.ts';
import { clipBytes, HIT_BYTES, searchTurn } from '../../../../src/runtime/transcript/search-turn.ts';
import { Tally } from '../../ledger/sample.ts';
import { altered, found, grep, NONE_SKIPPED } from './grep-sample.ts';
import { call, SESSION, streamed, Transcript, text, turnsSaying } from './transcript-sample.ts';

const OTHER_BODY = 'its body is not the one that was recorded: the digests differ';

describe('a search of turns', () => {
  it('DOR-02 answers the lines that match by item, message and line, all counted from 1', async () => {
    const transcript = new Transcript();
    const turns = [
      transcript.write({
        input: [text('one\nneedle asked')],
        steps: [
          {
            content: [text('needle said'), call('look', { name: 'needle' })],
            results: [{ evidence: 'e1', content: 'a\nb\nneedle found' }],
          },
          { content: [text('done')] },
        ],
      }),
      transcript.write({ input: [text('needle again')] }),
    ];
    expect(await grep(turns, 'needle')).toEqual({
      kind: 'found',
      complete: true,
      total: 5,
      skipped: NONE_SKIPPED,
      hits: [
        { item: 1, turn: 1, message: 1, line: 2, text: 'needle asked' },
        { item: 2, turn: 1, message: 1, line: 1, text: 'needle said' },
        { item: 2, turn: 1, message: 1, line: 2, text: 'look {"name":"needle"}' },
        { item: 2, turn: 1, message: 2, line: 3, text: 'needle found' },
        { item: 4, turn: 2, message: 1, line: 1, text: 'needle again' },
      ],
    });
  });

  it('DOR-02 of 150 lines that match gives the 100 oldest and the total 150', async () => {
    const turns = turnsSaying(
      ...Array.from({ length: 50 }, (_, at) => `needle ${at}a\nneedle ${at}b\nneedle ${at}c`),
    );
    const { hits, total, complete } = await found(turns, 'needle');
    expect([hits.length, total, complete]).toEqual([MAX_HITS, 150, true]);
    expect(hits.map((hit) => hit.text)).toEqual(
      Array.from({ length: MAX_HITS }, (_, at) => `needle ${Math.floor(at / 3)}${'abc'[at % 3]}`),
    );
    const [one] = turnsSaying('needle\n'.repeat(100_001));
    expect(await found(one === undefined ? [] : [one], 'needle')).toMatchObject({ total: 100_001 });
  });

  it('DOR-02 clips a hit to 200 bytes on a character boundary', async () => {
    const long = `needle${'é'.repeat(96)}😀${'x'.repeat(100)}`;
    const { hits } = await found(turnsSaying(long), 'needle');
    expect(hits[0]?.text).toBe(`needle${'é'.repeat(96)}`);
    const tally = new Tally();
    const chars = fc.constantFrom('a', 'é', '漢', '😀', '\ud83d', '\ude00');
    fc.assert(
      fc.property(fc.array(chars, { maxLength: 220, size: 'max' }), (parts) => {
        const whole = parts.join('');
        const clipped = clipBytes(whole, HIT_BYTES);
        expect(whole.startsWith(clipped)).toBe(true);
        expect(byteLength(clipped)).toBeLessThanOrEqual(HIT_BYTES);
        const next = [...whole.slice(clipped.length)][0] ?? '';
        if (next !== '') expect(byteLength(clipped) + byteLength(next)).toBeGreaterThan(HIT_BYTES);
        tally.count({
          clipped: clipped !== whole,
          whole: clipped === whole,
          exact: byteLength(clipped) === HIT_BYTES,
        });
      }),
      { numRuns: 1_000 },
    );
    tally.report('clipped lines');
    expect(clipBytes('é'.repeat(5_000_000), HIT_BYTES)).toBe('é'.repeat(100));
  });

  it('DOR-02 finds what stands at the end of an item of 5 MB', async () => {
    const line = 'the quick brown fox jumps over the lazy dog\n';
    const said = `${line.repeat(Math.ceil(5_000_000 / line.length))}needle`;
    const { hits } = await found(turnsSaying('first', said), 'needle$');
    expect(hits).toEqual([{ item: 2, turn: 2, message: 1, line: said.split('\n').length, text: 'needle' }]);
  });

  it('DOR-02 searches no item beyond those that its turn offers: one that still grows is not there', async () => {
    const open = new Transcript().write({
      input: [text('needle asked')],
      steps: [{ content: [text('needle said')] }],
      closed: false,
    });
    const { hits } = await found([{ ...open, items: { from: 1, to: 1 } }], 'needle');
    expect(hits.map(({ item }) => item)).toEqual([1]);
  });

  it('DOR-02 that names items searches these alone', async () => {
    const turns = turnsSaying('needle 1', 'needle 2', 'needle 3');
    expect((await found(turns, 'needle', [3, 1])).hits.map(({ item }) => item)).toEqual([1, 3]);
    expect(await found(turns, 'needle', [2])).toMatchObject({ total: 1, complete: true });
  });

  it('DOR-02 refuses a pattern in the engine’s own words, and pulls no turn for it', async () => {
    let pulled = 0;
    const source = (async function* () {
      pulled += 1;
      yield* streamed(turnsSaying('a'));
    })();
    expect(await grep(source, '[z-a]')).toEqual({
      kind: 'bad_pattern',
      message: 'error parsing regexp: invalid character class range: `z-a`',
    });
    expect(pulled).toBe(0);
  });

  it('DOR-02 of nothing is complete', async () => {
    expect(await grep([], 'x')).toEqual({
      kind: 'found',
      complete: true,
      hits: [],
      total: 0,
      skipped: NONE_SKIPPED,
    });
  });
});

describe('turns that cannot be read', () => {
  it('DOR-02 fault 16: are passed over and counted by a search of everything, and the rest is found', async () => {
    const turns = turnsSaying('needle 1', 'text', 'needle 3', 'text', 'needle 5');
    const some = turns.map((turn, at) => (at === 1 || at === 3 ? altered(turn) : turn));
    const answer = await found(some, 'needle');
    expect(answer).toMatchObject({ complete: true, total: 3 });
    expect(answer.skipped).toEqual({
      turns: 2,
      first: { item: 2, session: SESSION, seq: turns[1]?.records[0]?.seq, problem: OTHER_BODY },
    });
  });

  it('DOR-02 fault 16: give nothing to the total, though a line of them would match', async () => {
    const turns = turnsSaying('needle one', 'needle two').map((turn, at) =>
      at === 0 ? altered(turn) : turn,
    );
    expect(await found(turns, 'needle')).toMatchObject({ total: 1, skipped: { turns: 1 } });
  });

  it('DOR-02 fail a search that names one of their items, by the oldest item that it named', async () => {
    const transcript = new Transcript();
    const turn = transcript.write({
      input: [text('the text')],
      steps: [{ content: [text('one')] }, { content: [text('two')] }],
    });
    expect(await grep([altered(turn)], 'one', [3, 2])).toEqual({
      kind: 'unreadable',
      unreadable: { item: 2, session: SESSION, seq: 1, problem: OTHER_BODY },
    });
  });

  it('DOR-02 fault 16: do not fail a search that names items of other turns', async () => {
    const turns = turnsSaying('the text', 'needle').map((turn, at) => (at === 0 ? altered(turn) : turn));
    expect(await found(turns, 'needle', [2])).toMatchObject({ total: 1, skipped: NONE_SKIPPED });
  });

  it('DOR-02 fault 15: are read again by the next search: nothing remembers that they could not be', async () => {
    const turns = turnsSaying('needle text');
    const [turn] = turns;
    const compiled = compileSearch('needle');
    if (turn === undefined || !compiled.ok) throw new Error('there is nothing to search');
    expect(await found([altered(turn)], 'needle')).toMatchObject({ total: 0, skipped: { turns: 1 } });
    expect(await found(turns, 'needle')).toMatchObject({ total: 1, skipped: NONE_SKIPPED });
    // The same in one thread, where something could.
    const kinds = [altered(turn), turn, altered(turn), turn].map(
      (each) => searchTurn(each, { search: compiled.search, items: null }, MAX_HITS).kind,
    );
    expect(kinds).toEqual(['unreadable', 'found', 'unreadable', 'found']);
  });
});
