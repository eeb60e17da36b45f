/** The reference against lives worked out by hand. */
import { describe, expect, it } from 'vitest';
import { family } from './family.ts';

/** Two turns of a prompt and an answer: items 1 to 4. */
const TWO_TURNS = 'prompt:100 answer:100 prompt:100 answer:100';
/** A step of 100 bytes, its results included. */
const STEP = 'call:70 results:30';
const steps = (count: number) => Array.from({ length: count }, () => STEP).join(' ');
const took = (from: number, to: number) => ({ done: true, item: null, span: { from, to } });
const refused = (refusal: string) => ({ done: false, refusal });

describe('items', () => {
  it('EVT-02 results and steering join the item that is open, and mint no number', () => {
    const { fold, play, shown } = family(
      'prompt:100 steer:4 call:50 results:30 steer:5 call:20 results:1 answer:40',
    );
    expect(shown(0)).toBe('1 2 3 4');
    expect(fold.nextItem(0)).toBe(5);
    expect(fold.historyBytes(0)).toBe(104 + 85 + 21 + 40);
    play(0, 'prompt:7');
    expect(shown(0)).toBe('1 2 3 4 5');
  });

  it('EVT-02 what does not fit where the turn stands is refused and changes nothing', () => {
    const { act, fold, play, shown } = family();
    expect(act({ do: 'answer', session: 0, text: '', bytes: 9 })).toEqual(refused('at_rest'));
    expect(act({ do: 'steer', session: 0, text: '', bytes: 9 })).toEqual(refused('at_rest'));
    expect(act({ do: 'cancel', session: 0 })).toEqual(refused('at_rest'));
    play(0, 'prompt:100 call:50');
    expect(act({ do: 'prompt', session: 0, text: '', bytes: 9 })).toEqual(refused('running'));
    expect(act({ do: 'checkout', session: 0, back: 1 })).toEqual(refused('running'));
    expect(act({ do: 'answer', session: 0, text: '', bytes: 9 })).toEqual(refused('pending'));
    play(0, 'results:30');
    expect(act({ do: 'results', session: 0, bytes: 9 })).toEqual(refused('late'));
    expect(act({ do: 'reload', session: 3 })).toEqual(refused('no_session'));
    expect([shown(0), fold.historyBytes(0), fold.nextItem(0)]).toEqual(['1 2', 180, 3]);
  });

  it('EVT-02 steering with calls pending weighs once their results came, or once the turn was cancelled', () => {
    const { fold, play, shown } = family('prompt:100 call:50 steer:7');
    expect(fold.historyBytes(0)).toBe(150);
    play(0, 'results:30');
    expect(fold.historyBytes(0)).toBe(187);
    play(0, 'call:50 steer:7 cancel');
    expect(fold.historyBytes(0)).toBe(244);
    expect(shown(0)).toBe('1 2 3');
  });

  it('EVT-02 work that was cancelled with calls pending goes on being carried', () => {
    const { fold, play, shown } = family('prompt:100 call:50 cancel');
    expect(fold.open(0)).toBeNull();
    play(0, 'prompt:100 answer:10');
    expect(shown(0)).toBe('1 2 3 4');
  });

  it('LIN-02 reading a session back from its records changes nothing', () => {
    const { fold, evict, play, shown } = family(`${TWO_TURNS} prompt:100 call:50`);
    evict(0, 1, 2);
    play(0, 'reload');
    expect(shown(0)).toBe('[1-2] 3 4 5 6');
    expect(fold.open(0)).toBe(6);
    expect(fold.isPending(0)).toBe(true);
  });
});

describe('what the harness takes', () => {
  it('EVT-02 a lone prompt, with or without its answer, is never taken', () => {
    const { fold, force, play } = family();
    expect(force(0)).toEqual(refused('no_plan'));
    play(0, 'prompt:100');
    expect(force(0)).toEqual(refused('no_plan'));
    play(0, 'answer:100000');
    expect(fold.plan(0)).toBeNull();
    expect(force(0)).toEqual(refused('no_plan'));
  });

  it('EVT-02 with calls pending nothing is taken', () => {
    const { force, play, shown } = family(`${TWO_TURNS} prompt:100 call:70`);
    expect(force(0)).toEqual(refused('pending'));
    play(0, 'results:30');
    expect(force(0)).toEqual(took(1, 4));
    expect(shown(0)).toBe('[1-4] 5 6');
  });

  it('EVT-02 what brings the kept half exactly to its bound stays', () => {
    const { force, shown } = family('prompt:150 answer:150 prompt:100 answer:100 prompt:50 answer:50');
    expect(force(0)).toEqual(took(1, 2));
    expect(shown(0)).toBe('[1-2] 3 4 5 6');
  });

  it('EVT-02 a prompt that no longer fits leaves with all its answers', () => {
    const { force, shown } = family('prompt:150 answer:150 prompt:101 answer:100 prompt:50 answer:50');
    expect(force(0)).toEqual(took(1, 4));
    expect(shown(0)).toBe('[1-4] 5 6');
  });

  it('EVT-02 half of an odd number of bytes is rounded down', () => {
    const even = family('prompt:100 answer:100 prompt:50 answer:50 prompt:50 answer:50');
    expect(even.fold.plan(0)).toEqual({ from: 1, to: 2 });
    const odd = family('prompt:100 answer:100 prompt:51 answer:50 prompt:50 answer:50');
    expect(odd.fold.plan(0)).toEqual({ from: 1, to: 4 });
  });

  it('EVT-02 the newest item and its prompt are paid for first, however heavy', () => {
    const { force, shown } = family(`${TWO_TURNS} prompt:100 answer:100000`);
    expect(force(0)).toEqual(took(1, 4));
    expect(shown(0)).toBe('[1-4] 5 6');
    expect(force(0)).toEqual(refused('no_plan'));
  });

  it('EVT-02 a prompt that is newest itself stays, and its own weight alone is paid first', () => {
    const { force, shown } = family('prompt:100 answer:100 prompt:10');
    expect(force(0)).toEqual(took(1, 2));
    expect(shown(0)).toBe('[1-2] 3');
  });

  it('EVT-02 of one prompt with many steps the older steps leave and the prompt stays', () => {
    const { force, shown } = family(`prompt:100 ${steps(6)}`);
    expect(force(0)).toEqual(took(2, 5));
    expect(shown(0)).toBe('1 [2-5] 6 7');
  });

  it('EVT-02 an older prompt that an answer still needs stays: what stood before it leaves, and the next time all of it', () => {
    const { force, shown } = family(
      `prompt:100 answer:100 prompt:100 ${steps(2)} answer:100 prompt:100 answer:200`,
    );
    expect(force(0)).toEqual(took(1, 2));
    expect(shown(0)).toBe('[1-2] 3 4 5 6 7 8');
    expect(force(0)).toEqual(took(1, 6));
    expect(shown(0)).toBe('[1-6] 7 8');
  });

  it('EVT-02 where nothing stood before a prompt that stays, its older steps leave', () => {
    const { force, shown } = family(`prompt:100 ${steps(2)} answer:100 prompt:100 answer:100`);
    expect(force(0)).toEqual(took(2, 3));
    expect(shown(0)).toBe('1 [2-3] 4 5 6');
  });

  it('EVT-02 the span before the prompt in hand leaves first, the next strictly after it, and each leaves one residue', () => {
    const { evictions, force, play, shown } = family(`prompt:100 answer:100 prompt:100 ${steps(6)}`);
    expect(force(0)).toEqual(took(1, 2));
    expect(shown(0)).toBe('[1-2] 3 4 5 6 7 8 9');
    expect(force(0)).toEqual(took(4, 7));
    expect(shown(0)).toBe('[1-2] 3 [4-7] 8 9');
    play(0, steps(2));
    expect(force(0)).toEqual(took(4, 10));
    expect(shown(0)).toBe('[1-2] 3 [4-10] 11');
    expect(evictions(0)).toEqual(['1-2 harness resident', '4-7 harness swallowed', '4-10 harness resident']);
  });

  it('EVT-03 a residue weighs as a piece, and where it would leave alone the next turn leaves with it', () => {
    const turns = `${TWO_TURNS} prompt:100 answer:100`;
    const light = family(turns, 10);
    light.evict(0, 1, 2);
    expect(light.fold.historyBytes(0)).toBe(410);
    expect(light.fold.plan(0)).toEqual({ from: 1, to: 4 });
    const heavy = family(turns, 500);
    heavy.evict(0, 1, 2);
    expect(heavy.fold.historyBytes(0)).toBe(900);
    expect(heavy.fold.plan(0)).toEqual({ from: 1, to: 4 });
  });

  it('EVT-03 what was evicted behind the newest item is paid for and stays', () => {
    const { evict, fold, shown } = family(`${TWO_TURNS} prompt:100 answer:100`, 60);
    evict(0, 5, 6);
    expect(shown(0)).toBe('1 2 3 4 [5-6]');
    expect(fold.plan(0)).toEqual({ from: 1, to: 2 });
  });

  it('EVT-03 an eviction by the harness has no note', () => {
    const { fold, force } = family(`${TWO_TURNS}`);
    force(0);
    expect(fold.index(0).evictions).toEqual([
      { from: 1, to: 2, note: null, author: 'harness', held: 'resident' },
    ]);
  });
});

describe('what a model names', () => {
  it('EVT-02 a span of whole turns leaves one residue in its place, with the note', () => {
    const { evict, rows, shown } = family(`${TWO_TURNS} prompt:100 answer:100`);
    expect(evict(0, 3, 4, 'the port is 5433')).toEqual(took(3, 4));
    expect(shown(0)).toBe('1 2 [3-4 "the port is 5433"] 5 6');
    expect(rows(0)[2]).toBe('3 u own evicted');
    expect(rows(0)[4]).toBe('5 u own resident');
  });

  it('EVT-02 at rest all of it may leave', () => {
    const { evict, fold, shown } = family(TWO_TURNS);
    expect(evict(0, 1, 4)).toEqual(took(1, 4));
    expect(shown(0)).toBe('[1-4]');
    expect(fold.historyBytes(0)).toBe(10);
    expect(fold.plan(0)).toBeNull();
  });

  it('EVT-02 a span that ends at a prompt ends before it while its answers stay', () => {
    const { evict, shown } = family(TWO_TURNS);
    expect(evict(0, 1, 3)).toEqual(took(1, 2));
    expect(shown(0)).toBe('[1-2] 3 4');
  });

  it('EVT-02 a span that begins at a prompt begins after it while a later answer stays', () => {
    const { evict, shown } = family(`prompt:100 ${steps(2)} answer:100`);
    expect(evict(0, 1, 3)).toEqual(took(2, 3));
    expect(shown(0)).toBe('1 [2-3] 4');
  });

  it('EVT-02 a prompt that stays amid a span parts it, and the older part leaves', () => {
    const { evict, shown } = family(`prompt:100 answer:100 prompt:100 ${STEP} answer:100`);
    expect(evict(0, 1, 4)).toEqual(took(1, 2));
    expect(shown(0)).toBe('[1-2] 3 4 5');
  });

  it('EVT-02 where the older part is a residue alone, the newer part leaves', () => {
    const { evict, shown } = family(`prompt:100 answer:100 prompt:100 ${STEP} answer:100`);
    evict(0, 1, 2);
    expect(evict(0, 1, 4)).toEqual(took(4, 4));
    expect(shown(0)).toBe('[1-2] 3 [4-4] 5');
  });

  it('EVT-02 a prompt alone cannot leave before its answers', () => {
    const { evict, shown } = family(TWO_TURNS);
    expect(evict(0, 3, 3)).toEqual(refused('survivor'));
    evict(0, 1, 2);
    expect(evict(0, 1, 3)).toEqual(refused('survivor'));
    expect(shown(0)).toBe('[1-2] 3 4');
  });

  it('EVT-02 a prompt whose answers left before may follow them', () => {
    const { evict, shown } = family(`prompt:100 ${STEP} answer:100 prompt:100`);
    expect(evict(0, 2, 3)).toEqual(took(2, 3));
    expect(evict(0, 1, 1)).toEqual(took(1, 1));
    expect(shown(0)).toBe('[1-1] [2-3] 4');
  });

  it('EVT-02 during a turn older work leaves at once, calls pending or not, and the open item never does', () => {
    const { evict, play, shown } = family(`${TWO_TURNS} prompt:100`);
    expect(evict(0, 3, 5)).toEqual(refused('open'));
    play(0, `${STEP} call:70`);
    expect(evict(0, 7, 7)).toEqual(refused('open'));
    expect(evict(0, 1, 7)).toEqual(refused('open'));
    expect(evict(0, 1, 4)).toEqual(took(1, 4));
    expect(evict(0, 5, 6)).toEqual(took(6, 6));
    expect(shown(0)).toBe('[1-4] 5 [6-6] 7');
  });

  it('EVT-03 an end inside a residue takes the residue whole, and its note stays in the index', () => {
    const { evict, evictions, fold, shown } = family(`prompt:100 ${steps(3)} answer:100`);
    evict(0, 2, 3, 'first');
    expect(evict(0, 3, 4, 'second')).toEqual(took(2, 4));
    expect(shown(0)).toBe('1 [2-4 "second"] 5');
    expect(evictions(0)).toEqual(['2-3 operator swallowed', '2-4 operator resident']);
    expect(fold.index(0).evictions.map(({ note }) => note)).toEqual(['first', 'second']);
  });

  it('EVT-03 a wider span takes every residue in it and leaves one', () => {
    const { evict, evictions, shown } = family(`${TWO_TURNS} ${TWO_TURNS}`);
    evict(0, 1, 2);
    evict(0, 5, 6);
    expect(shown(0)).toBe('[1-2] 3 4 [5-6] 7 8');
    expect(evict(0, 2, 5)).toEqual(took(1, 6));
    expect(shown(0)).toBe('[1-6] 7 8');
    expect(evictions(0)).toEqual([
      '1-2 operator swallowed',
      '5-6 operator swallowed',
      '1-6 operator resident',
    ]);
  });

  it('EVT-05 residues alone are refused: one as what is gone, several as residues', () => {
    const { evict } = family(`${TWO_TURNS} prompt:100 answer:100`);
    evict(0, 1, 2);
    expect(evict(0, 1, 2)).toEqual(refused('gone'));
    expect(evict(0, 2, 2)).toEqual(refused('gone'));
    evict(0, 3, 4);
    expect(evict(0, 2, 3)).toEqual(refused('only_residues'));
    expect(evict(0, 1, 6)).toEqual(took(1, 6));
  });

  it('EVT-05 ends that were never recorded, or stand the wrong way round, are refused', () => {
    const { evict, play, shown } = family();
    expect(evict(0, 1, 1)).toEqual(refused('empty'));
    play(0, TWO_TURNS);
    expect(evict(0, 0, 2)).toEqual(refused('never_recorded'));
    expect(evict(0, 1, 5)).toEqual(refused('never_recorded'));
    expect(evict(0, 4, 1)).toEqual(refused('backwards'));
    expect(shown(0)).toBe('1 2 3 4');
  });
});

describe('forks', () => {
  it('LIN-01 a child goes on from its parent, and neither sees what the other does after', () => {
    const { act, evict, fold, play, rows, shown } = family(TWO_TURNS);
    act({ do: 'fork', session: 0, child: 1 });
    expect(rows(1)).toEqual([
      '1 u inherited resident',
      '2 a inherited resident',
      '3 u inherited resident',
      '4 a inherited resident',
    ]);
    play(1, 'prompt:100 answer:100');
    evict(1, 1, 4);
    play(0, 'prompt:50');
    expect(shown(1)).toBe('[1-4] 5 6');
    expect(shown(0)).toBe('1 2 3 4 5');
    expect(rows(1)[4]).toBe('5 u own resident');
    expect([fold.historyBytes(0), fold.historyBytes(1)]).toEqual([450, 210]);
  });

  it('LIN-01 a child has the evictions and notes its parent had, and may swallow them alone', () => {
    const { act, evict, evictions, shown } = family(`${TWO_TURNS} prompt:100 answer:100`);
    evict(0, 1, 2, 'kept');
    act({ do: 'fork', session: 0, child: 1 });
    expect(shown(1)).toBe('[1-2 "kept"] 3 4 5 6');
    evict(1, 1, 4, 'mine');
    expect(shown(1)).toBe('[1-4 "mine"] 5 6');
    expect(shown(0)).toBe('[1-2 "kept"] 3 4 5 6');
    expect(evictions(0)).toEqual(['1-2 operator resident']);
    expect(evictions(1)).toEqual(['1-2 operator swallowed', '1-4 operator resident']);
  });

  it('LIN-01 a child does not carry an item that owes results, and can read it', () => {
    const { act, evict, fold, play, rows, shown } = family(`prompt:100 ${STEP} call:66`);
    act({ do: 'fork', session: 0, child: 1 });
    expect(shown(1)).toBe('1 2');
    expect(fold.historyBytes(1)).toBe(200);
    expect(fold.open(1)).toBeNull();
    expect(rows(1)[2]).toBe('3 a inherited evicted');
    expect(fold.read(1, 3)).toEqual({ text: 'call of 66', origin: 0 });
    expect(evict(1, 3, 3)).toEqual(refused('gone'));
    play(0, 'results:30');
    play(1, 'prompt:100 answer:100');
    expect(shown(0)).toBe('1 2 3');
    expect(shown(1)).toBe('1 2 4 5');
  });

  it('LIN-01 an eviction that follows the call does not bring the item that owes results into the child', () => {
    const { act, evict, shown } = family(`${TWO_TURNS} prompt:100 call:70`);
    evict(0, 1, 4);
    act({ do: 'fork', session: 0, child: 1 });
    expect(shown(1)).toBe('[1-4] 5');
    expect(evict(1, 5, 6)).toEqual(took(5, 5));
  });

  it('LIN-01 a child carries of a running turn a prompt, and every item whose results came', () => {
    const { act, play, shown } = family('prompt:100');
    act({ do: 'fork', session: 0, child: 1 });
    expect(shown(1)).toBe('1');
    play(0, STEP);
    act({ do: 'fork', session: 0, child: 2 });
    expect(shown(2)).toBe('1 2');
    play(2, 'prompt:100');
    expect(shown(2)).toBe('1 2 3');
  });

  it('LIN-01 a fork of a fork of a fork names who recorded an item first, and numbers go on', () => {
    const { act, fold, play, rows, shown } = family('prompt:1 answer:1');
    act({ do: 'fork', session: 0, child: 1 });
    play(1, 'prompt:2 answer:2');
    act({ do: 'fork', session: 1, child: 2 });
    play(2, 'prompt:3 answer:3');
    act({ do: 'fork', session: 2, child: 3 });
    play(3, 'prompt:4 answer:4');
    play(1, 'prompt:5');
    expect(shown(3)).toBe('1 2 3 4 5 6 7 8');
    expect([1, 3, 5, 7].map((item) => fold.read(3, item)?.origin)).toEqual([0, 1, 2, 3]);
    expect(fold.read(3, 5)?.text).toBe('prompt of 3');
    expect(rows(3)[5]).toBe('6 a inherited resident');
    expect(rows(3)[6]).toBe('7 u own resident');
    expect(shown(1)).toBe('1 2 3 4 5');
  });

  it('LIN-01 a child of a session that was cleared begins empty and gives out higher numbers', () => {
    const { act, fold, play, shown } = family(`${TWO_TURNS} clear`);
    act({ do: 'fork', session: 0, child: 1 });
    expect(shown(1)).toBe('');
    play(1, 'prompt:100');
    expect(shown(1)).toBe('5');
    expect(fold.read(1, 1)).toBeNull();
  });

  it('LIN-04 imported items are marked, and inherited by a fork', () => {
    const { act, rows, shown } = family();
    act({
      do: 'start',
      session: 1,
      imports: [{ prompt: 'a', promptBytes: 100, answer: 'b', answerBytes: 50 }],
    });
    expect(rows(1)).toEqual(['1 u import resident', '2 a import resident']);
    act({ do: 'fork', session: 1, child: 2 });
    expect(rows(2)).toEqual(['1 u inherited resident', '2 a inherited resident']);
    expect(shown(0)).toBe('');
  });
});

describe('clears and heads', () => {
  it('LIN-02 a clear empties the table and ends the running turn, and numbers go on', () => {
    const { act, evict, fold, play, rows, shown } = family(`${TWO_TURNS} prompt:100 call:70`);
    evict(0, 1, 2, 'gone too');
    play(0, 'clear');
    expect(shown(0)).toBe('');
    expect(fold.index(0)).toEqual({ items: [], evictions: [] });
    expect(act({ do: 'results', session: 0, bytes: 30 })).toEqual(refused('late'));
    expect(evict(0, 1, 2)).toEqual(refused('empty'));
    play(0, 'prompt:100 answer:50');
    expect(rows(0)).toEqual(['7 u own resident', '8 a own resident']);
    expect(fold.historyBytes(0)).toBe(150);
    expect(evict(0, 1, 8)).toEqual(refused('never_recorded'));
  });

  it('LIN-02 a fork keeps what its parent cleared', () => {
    const { act, evict, play, shown } = family(TWO_TURNS);
    evict(0, 1, 2);
    act({ do: 'fork', session: 0, child: 1 });
    play(0, 'clear');
    expect(shown(0)).toBe('');
    expect(shown(1)).toBe('[1-2] 3 4');
    play(1, 'clear prompt:5');
    expect(shown(1)).toBe('5');
  });

  it('LIN-02 going back leaves the newest turns on the head before, and no number is given twice', () => {
    const { act, evict, fold, play, shown } = family(`${TWO_TURNS} prompt:100 ${STEP} answer:100`);
    expect(act({ do: 'checkout', session: 0, back: 2 })).toEqual({ done: true, item: null, span: null });
    expect(shown(0)).toBe('1 2');
    expect(fold.read(0, 5)).toBeNull();
    play(0, 'prompt:100 answer:100');
    expect(shown(0)).toBe('1 2 8 9');
    expect(evict(0, 1, 5)).toEqual(refused('never_recorded'));
    expect(evict(0, 2, 9)).toEqual(took(2, 9));
    expect(shown(0)).toBe('1 [2-9]');
    expect(act({ do: 'checkout', session: 0, back: 3 })).toEqual(refused('too_far'));
  });

  it('LIN-02 going back undoes what was done since the last turn that stays, and keeps what was done before', () => {
    const { act, evict, evictions, play, shown } = family(TWO_TURNS);
    evict(0, 1, 2);
    play(0, 'prompt:100 answer:100 prompt:100');
    evict(0, 1, 4);
    play(0, 'answer:100');
    evict(0, 5, 6);
    expect(shown(0)).toBe('[1-4] [5-6] 7 8');
    act({ do: 'checkout', session: 0, back: 1 });
    expect(shown(0)).toBe('[1-2] 3 4 5 6');
    expect(evictions(0)).toEqual(['1-2 operator resident']);
    act({ do: 'checkout', session: 0, back: 1 });
    expect(shown(0)).toBe('1 2 3 4');
  });
});
