import { describe, expect, it } from 'vitest';
import { windowResult } from '../../../src/context/evidence/window.ts';
import type { JsonObject } from '../../../src/ledger/json.ts';
import { recallTool } from '../../../src/tools/builtins/recall.ts';
import { contextIn, evidenceOf, textOf } from './folder.ts';

const evidence = { e1: 'first', e2: 'one\ntwo\nthree\n' };

function recall(args: JsonObject, stored: Readonly<Record<string, string>> = evidence): Promise<string> {
  return textOf(recallTool, args, contextIn('/', { evidence: evidenceOf(stored) }));
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

  it('returns characters counted by code point, at most 29,000, and how to go on', async () => {
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

  it('answers an unknown or missing id with the ids that exist', async () => {
    expect(await recall({ id: 'e99' })).toBe(
      'error: There is no evidence "e99" here. The newest ids are: e2, e1.',
    );
    expect(await recall({ id: '' })).toBe('error: recall needs an evidence id. The newest ids are: e2, e1.');
    expect(await recall({ id: 'e1' }, {})).toMatch(/Nothing has been stored in this session yet\.$/);
    expect(await recall({})).toMatch(/- id: found nothing; allowed is a string/);
  });

  it('refuses lines and characters together', async () => {
    const both = { range: { from: 1, to: 2 }, chars: { from: 0, to: 5 } };
    expect(await recall({ id: 'e1', ...both })).toMatch(
      /^error: recall takes range .* or chars .*, not both/,
    );
  });
});
