import { describe, expect, it } from 'vitest';
import { readContextCall } from '../../../../src/context/evict/context-call.ts';
import { parseNote } from '../../../../src/context/evict/note.ts';
import { pressureText } from '../../../../src/context/evict/pressure.ts';
import { WORDING_VERSION } from '../../../../src/context/wording/wording.ts';

const TOLD = { used: 150_001, limit: 200_000, unit: 'tokens' } as const;
const WITH_SPAN = pressureText({ ...TOLD, would: { from: 1, to: 57 } });

/** What each version of the words says. */
const TEXTS: Readonly<Record<number, readonly string[]>> = {
  1: [
    '[pressure] The context holds 150001 of 200000 tokens. The next eviction would take #1–#57 out of it.',
    'Nothing is lost: the tool transcript reads every item back.',
    'To leave a line to yourself in their place, call context with {"op":"evict","from":1,"to":57,"note":"…"}, your one essential fact as the note.',
    'The prompt in hand stays. Nothing is required of you: go on with the work.',
  ],
};

describe('the reminder of pressure', () => {
  it('EVT-04 has the words of its version: raise WORDING_VERSION and add them here', () => {
    expect(WITH_SPAN.split('\n')).toEqual(TEXTS[WORDING_VERSION]);
  });

  it('EVT-04 names a call that is read as it stands, over the span that would go', () => {
    const call = /\{.*?\}/u.exec(WITH_SPAN)?.[0] ?? '';
    const read = readContextCall(JSON.parse(call));
    expect(read).toEqual({ ok: true, op: 'evict', from: 1, to: 57, note: '…' });
    expect(parseNote('…').ok).toBe(true);
  });

  it('EVT-04 says that what goes stays readable, that the prompt stays, and that nothing is required', () => {
    expect(WITH_SPAN).toMatch(/transcript reads/u);
    expect(WITH_SPAN).toMatch(/prompt in hand stays/u);
    expect(WITH_SPAN).toMatch(/Nothing is required/u);
  });

  it('EVT-04 is the figure alone where nothing would go', () => {
    expect(pressureText({ ...TOLD, would: null })).toBe(
      '[pressure] The context holds 150001 of 200000 tokens.',
    );
    expect(pressureText({ used: 384_000, limit: 512_000, unit: 'bytes', would: null })).toBe(
      '[pressure] The context holds 384 KB of 512 KB of history.',
    );
  });
});
