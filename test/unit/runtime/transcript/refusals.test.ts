import { describe, expect, it } from 'vitest';
import { ERASED } from '../../../../src/runtime/transcript/check-record.ts';
import {
  narrowedToNothing,
  neverRecorded,
  nothingToRead,
  passedOver,
  stillOpen,
  unreadableItem,
} from '../../../../src/runtime/transcript/refusals.ts';
import { SESSION } from './transcript-sample.ts';

const FAULT = { item: 7, session: SESSION, seq: 31, problem: 'the digests differ' };

describe('a refusal of the transcript', () => {
  it('DOR-01 of a number that was never given tells the highest, or that there is none', () => {
    expect(neverRecorded(99, 57)).toBe('There is no item #99. The newest is #57.');
    expect(neverRecorded(1, 0)).toBe('There is no item #1. Nothing has been recorded in this session yet.');
  });

  it('DOR-01 of the open item says that every other one can be read', () => {
    expect(stillOpen(12)).toMatch(/^Item #12 is still open.*Every other item is readable\.$/u);
  });

  it('DOR-01 of an empty list shows how a run of numbers is spelled', () => {
    expect(nothingToRead()).toContain('#12 to #15 are spelled "items": [12, 13, 14, 15]');
  });

  it('DOR-02 of an empty narrowing says that it is not all, and how all is asked for', () => {
    expect(narrowedToNothing()).toMatch(/An empty list is not all.*search everything/u);
  });

  it('DOR-01 of what cannot be read names the item, the session, the record and the reason, and likely causes', () => {
    const message = unreadableItem(FAULT);
    for (const named of ['Item #7', SESSION, 'record 31', 'the digests differ', 'Likely causes'])
      expect(message).toContain(named);
    expect(unreadableItem({ ...FAULT, seq: 0 })).not.toContain('record 0');
  });

  it('DOR-01 of what was erased lists no causes: nothing is wrong with it', () => {
    const message = unreadableItem({ ...FAULT, problem: ERASED });
    expect(message).toContain('its content was erased');
    expect(message).not.toContain('Likely causes');
  });

  it('DOR-02 of turns that were passed over counts them, and tells the first', () => {
    expect(passedOver(1, FAULT)).toMatch(/^1 turn was passed over as unreadable.*Item #7/u);
    expect(passedOver(3, FAULT)).toMatch(/^3 turns were passed over as unreadable.*The first: Item #7/u);
  });
});
