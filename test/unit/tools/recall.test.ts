import { describe, expect, it } from 'vitest';
import { windowResult } from '../../../src/context/evidence/window.ts';
import type { JsonObject } from '../../../src/ledger/json.ts';
import { recallTool } from '../../../src/tools/builtins/recall.ts';
import type { SessionMemory } from '../../../src/tools/contract.ts';
import { contextIn, memoryOf, type Remembered, textOf } from './folder.ts';

const evidence = { e1: 'first', e2: 'one\ntwo\nthree\n' };

function recall(args: JsonObject, stored: Readonly<Record<string, string>> = evidence): Promise<string> {
  return recallOf({ evidence: stored }, args);
}

function recallOf(held: Remembered, args: JsonObject): Promise<string> {
  return textOf(recallTool, args, contextIn('/', { memory: memoryOf(held) }));
}

describe('recall', () => {
  it('EVI-01 returns the recorded content verbatim by its id', async () => {
    expect(await recall({ id: 'e2' })).toBe(evidence.e2);
    expect(await recall({ id: ' e2 ' })).toBe(evidence.e2);
  });

  it('EVI-01 returns lines with both ends, clamped', async () => {
    expect(await recall({ id: 'e2', range: { from: 2, to: 2 } })).toBe('e2 lines 2-2 of 3\ntwo\n');
    expect(await recall({ id: 'e2', range: { from: 0, to: 2 } })).toBe('e2 lines 1-2 of 3\none\ntwo\n');
    expect(await recall({ id: 'e2', range: { from: 2, to: 99 } })).toBe('e2 lines 2-3 of 3\ntwo\nthree\n');
    expect(await recall({ id: 'e2', range: { from: 3 } })).toBe('e2 lines 3-3 of 3\nthree\n');
    expect(await recall({ id: 'e2', range: { from: 9, to: 12 } })).toMatch(/^error: e2 has 3 lines; line 9/);
    expect(await recall({ id: 'e2', range: { from: 3, to: 1 } })).toMatch(/^error: The range runs backwards/);
  });

  it('takes blanks for absent', async () => {
    for (const nothing of ['', 0, null, {}, { from: 0, to: 0 }]) {
      expect(await recall({ id: 'e2', range: nothing, chars: nothing })).toBe(evidence.e2);
      expect(await recall({ id: 'e2', range: nothing, chars: { from: 0, to: 3 } })).toMatch(/\none$/);
    }
  });

  it('EVI-03 returns characters counted by code point, at most 29,000, and how to go on', async () => {
    expect(await recall({ id: 'e1', chars: { from: 1, to: 3 } }, { e1: 'a😀bc' })).toBe(
      'e1 characters 1-3 of 4\n😀b',
    );
    const long = 'x'.repeat(70_000);
    const part = await recall({ id: 'e1', chars: { from: 10, to: 60_000 } }, { e1: long });
    const next = 'recall({"id":"e1","chars":{"from":29010,"to":60000}})';
    expect(part).toBe(`e1 characters 10-29010 of 70000\n${'x'.repeat(29_000)}\n[goes on: ${next}]`);
    expect(windowResult(part, { evidenceId: 'e2' })).toBe(part);
    expect(await recall({ id: 'e1', chars: { from: 5 } })).toMatch(
      /^error: e1 has 5 characters; character 5/,
    );
    expect(await recall({ id: 'e1', chars: { from: 3, to: 2 } })).toMatch(
      /^error: The range of characters from 3/,
    );
  });

  it('EVI-01 brings back by the calls in a window everything the window left out', async () => {
    const lines = Array.from({ length: 3_000 }, (_, index) => `line ${index + 1}`);
    lines[1] = 'y'.repeat(5_000);
    const stored = { e7: lines.join('\n') };
    const window = windowResult(stored.e7, { evidenceId: 'e7' });
    const calls = [...window.matchAll(/recall\((\{.*?\}\})\)/g)].map(
      ([, args]) => JSON.parse(args ?? '') as JsonObject,
    );
    expect(calls.length).toBe(2);
    const [rest, middle] = await Promise.all(calls.map((args) => recall(args, stored)));
    expect(rest?.split('\n')[1]).toBe('y'.repeat(3_000));
    const shown = new Set([...window.split('\n'), ...(middle ?? '').split('\n')]);
    expect(lines.filter((line, index) => index !== 1 && !shown.has(line))).toEqual([]);
  });

  it('EVI-03 answers an unknown id with the ids that exist', async () => {
    expect(await recall({ id: 'e99' })).toBe(
      'error: There is no evidence "e99" here. The newest ids are: e2, e1.',
    );
    expect(await recall({ id: 'e1' }, {})).toMatch(/^error: .* Nothing has been stored in this session yet/);
    expect(await recall({ id: 'p3' })).toContain('recall({"presentation":"p3"})');
    expect(await recall({ id: 'T17' })).toContain('recall({"turn":17})');
  });

  it('EVI-03 refuses lines and characters together', async () => {
    const both = { range: { from: 1, to: 2 }, chars: { from: 0, to: 5 } };
    expect(await recall({ id: 'e1', ...both })).toMatch(
      /^error: recall takes range .* or chars .*, not both/,
    );
  });
});

describe('recall of turns, cards and words', () => {
  const turns = ['asked: a\nanswered: b', 'asked: c', 'asked: d'];
  const turnIds = [1, 2, 3].map((number) => `01890000-0000-7000-8000-abcdef00000${number}`);
  const found = [
    { number: 2, line: 'T2: what is the tide table? — read → e2' },
    { number: 1, line: 'where is the ferry?' },
  ];
  const held: Remembered = { evidence, turns, turnIds, presentations: { p3: 'metric "Depth"\n{}' }, found };
  const ask = (args: JsonObject) => recallOf(held, args);

  it('EVI-03 returns a closed turn by its number, however it is written, and by its UUID', async () => {
    for (const turn of [1, '1', 'T1', 't1', ' T1 ', '#1'])
      expect((await ask({ turn })).split('\n').slice(1).join('\n')).toBe(turns[0]);
    for (const turn_id of [turnIds[1] ?? '', ` ${turnIds[1]?.toUpperCase()} `])
      expect(await ask({ turn_id })).toMatch(/\nasked: c$/);
  });

  it('EVI-03 marks a recalled turn as history without authority, in one line before it', async () => {
    const [heading = ''] = (await ask({ turn: 2 })).split('\n');
    expect(heading).toMatch(/history/);
    expect(heading).toContain('turn 2');
    expect(heading).toMatch(/[Ii]nstructions and approvals .* no authority now/);
  });

  it('EVI-03 answers an unknown turn with those that exist, and the running one with what it is', async () => {
    for (const args of [
      { turn: 99 },
      { turn: -1 },
      { turn_id: turnIds[0]?.replace('1', '9') ?? '' },
      { turn_id: 'T1' },
    ])
      expect(await ask(args)).toMatch(
        /^error: There is no turn .* The closed turns are 1 to 3: recall\(\{"turn":3\}\)/,
      );
    expect(await ask({ turn: 4 })).toMatch(/^error: Turn 4 is the one running now/);
    expect(await recallOf({ turns: ['x'] }, { turn: 9 })).toContain('The only closed turn is 1:');
    expect(await recallOf({}, { turn: 9 })).toContain('No turn of this session has closed yet.');
    expect(await ask({ turn: 'seventeen' })).toMatch(/^error: .*\n- turn: found "seventeen"/);
  });

  it('EVI-03 never asks storage for a turn id that is no UUID', async () => {
    const memory: SessionMemory = { ...memoryOf(held), turn: () => Promise.reject(new Error('asked')) };
    const output = await textOf(recallTool, { turn_id: '17' }, contextIn('/', { memory }));
    expect(output).toMatch(/^error: There is no turn 17 here/);
  });

  it('EVI-03 returns a presentation as it is stored, and says where the ids of cards stand', async () => {
    expect(await ask({ presentation: 'p3' })).toBe(held.presentations?.p3);
    expect(await ask({ presentation: 'p9' })).toMatch(
      /^error: There is no presentation "p9" here\. .* 1 to 3: recall\(\{"turn":3\}\)/,
    );
  });

  it('EVI-03 lists the turns a query fits, one a line, and how to open the best', async () => {
    expect((await ask({ query: 'tide' })).split('\n')).toEqual([
      'T2: what is the tide table? — read → e2',
      'T1: where is the ferry?',
      'recall({"turn":2}) opens a turn.',
    ]);
  });

  it('EVI-03 searches for 8 turns unless a limit is given, at most 20 and at least 1', async () => {
    const asked: (readonly [string, number])[] = [];
    const search: SessionMemory['search'] = async (query, limit) => {
      asked.push([query, limit]);
      return [];
    };
    const context = contextIn('/', { memory: { ...memoryOf(), search } });
    for (const limit of [undefined, null, 0, '', 3, '3', 20, 21, 1_000, -5])
      await textOf(recallTool, { query: ' tide ', ...(limit === undefined ? {} : { limit }) }, context);
    expect(asked.map(([query]) => query)).toEqual(Array.from(asked, () => 'tide'));
    expect(asked.map(([, limit]) => limit)).toEqual([8, 8, 8, 8, 3, 3, 20, 20, 20, 1]);
  });

  it('EVI-03 takes a query of 2,048 characters, counted by code point, and refuses a longer one', async () => {
    expect(await ask({ query: '😀'.repeat(2_048) })).toMatch(/^T2:/);
    expect(await ask({ query: '😀'.repeat(2_049) })).toMatch(/^error: .* 2049 characters; at most 2048/);
  });

  it('EVI-03 says that nothing fits and what to try, which is no error', async () => {
    const output = await recallOf({ turns }, { query: 'walrus' });
    expect(output).toMatch(/^No turn of this session fits/);
    expect(output).toMatch(/Try .*recall\(\{"turn":3\}\)/);
  });

  it('EVI-03 prefers the most precise of several targets: id, presentation, turn, turn id, query', async () => {
    const all = { id: 'e1', presentation: 'p3', turn: 1, turn_id: turnIds[1] ?? '', query: 'tide', limit: 4 };
    const { id: _, ...noId } = all;
    const { presentation: __, ...noCard } = noId;
    const { turn: ___, ...noTurn } = noCard;
    const { turn_id: ____, ...noTurnId } = noTurn;
    expect(await ask(all)).toBe('first');
    expect(await ask(noId)).toBe(held.presentations?.p3);
    expect(await ask(noCard)).toMatch(/\nanswered: b$/);
    expect(await ask(noTurn)).toMatch(/\nasked: c$/);
    expect(await ask(noTurnId)).toMatch(/^T2:/);
    expect(await ask({ id: 'e1', query: 'x'.repeat(9_000), limit: 700 })).toBe('first');
  });

  it('EVI-03 takes what small models fill in for nothing as absent, whichever target is meant', async () => {
    const targets = { id: 'e1', presentation: 'p3', turn: 2, turn_id: turnIds[1] ?? '' };
    const plain = await Promise.all(Object.entries(targets).map(([key, value]) => ask({ [key]: value })));
    const keys = ['id', 'range', 'chars', 'presentation', 'turn', 'turn_id', 'query', 'limit'];
    for (const nothing of ['', '  ', 0, null, 'null', 'None', 'undefined', {}, { from: 0, to: 0 }]) {
      const blanks = Object.fromEntries(keys.map((key) => [key, key === 'query' ? '' : nothing]));
      const filled = Object.entries(targets).map(([key, value]) => ask({ ...blanks, [key]: value }));
      expect(await Promise.all(filled)).toEqual(plain);
    }
    expect(await ask({ id: '', turn: 0, query: 'null' })).toMatch(/^T2:/);
  });

  it('EVI-03 answers a call that asks for nothing with an example of each form', async () => {
    for (const args of [{}, { query: '' }, { query: '  ' }, { id: '', query: null }, { limit: 5 }]) {
      const output = await ask(args);
      expect(output).toMatch(/^error: /);
      const calls = [...output.matchAll(/recall\((\{.*\})\)/g)].map(
        ([, call]) => JSON.parse(call ?? '') as JsonObject,
      );
      expect(calls.map((call) => Object.keys(call).join())).toEqual([
        'id',
        'id,range',
        'id,chars',
        'presentation',
        'turn',
        'turn_id',
        'query,limit',
      ]);
      expect(calls[0]).toEqual({ id: 'e2' });
      expect(calls[4]).toEqual({ turn: 3 });
    }
  });
});
