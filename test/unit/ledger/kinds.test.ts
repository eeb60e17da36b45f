import { describe, expect, it } from 'vitest';
import { ERROR_CATALOGUE, type ErrorCode, TurnwrightError } from '../../../src/ledger/errors.ts';
import { uuidv7 } from '../../../src/ledger/ids.ts';
import { classOf, isKnownKind, parseBody, RECORD_CLASSES, RECORD_KINDS } from '../../../src/ledger/kinds.ts';

describe('record kinds', () => {
  it('have one class each, and refuse what is not an object of theirs by name', () => {
    expect(new Set(RECORD_KINDS.map(classOf))).toEqual(new Set(RECORD_CLASSES));
    for (const kind of RECORD_KINDS) {
      expect(isKnownKind(kind)).toBe(true);
      for (const wrong of [null, 'text', [], { unheard: 1 }]) expect(() => parseBody(kind, wrong)).toThrow();
    }
    for (const name of ['toString', '__proto__', 'dream']) expect(isKnownKind(name)).toBe(false);
  });

  it('count as protocol exactly what decides a request', () => {
    const protocol = RECORD_KINDS.filter((kind) => classOf(kind) === 'protocol');
    for (const kind of [
      'turn-accepted',
      'assistant-message',
      'tool-result',
      'nudge',
      'turn-closed',
      'erased',
    ])
      expect(protocol).toContain(kind);
    for (const kind of ['work-receipt', 'late-result', 'check-fired']) expect(protocol).not.toContain(kind);
  });
});

describe('the error catalogue', () => {
  it('gives every code a status, a meaning and whether trying again may help', () => {
    for (const [code, entry] of Object.entries(ERROR_CATALOGUE)) {
      expect(code).toMatch(/^[a-z]+(?:_[a-z]+)*$/u);
      expect(entry.status).toBeGreaterThanOrEqual(400);
      expect(entry.meaning).toMatch(/\.$/u);
      const error = new TurnwrightError(code as ErrorCode, 'what was wrong', { cause: 'why' });
      expect([error.status, error.retryable, error.cause]).toEqual([entry.status, entry.retryable, 'why']);
    }
  });
});

describe('a UUIDv7', () => {
  it('holds the time in its first 48 bits, its version and its variant, and sorts by time', () => {
    const random = new Uint8Array(16).fill(0xff);
    expect(uuidv7(0x0123456789ab, random)).toBe('01234567-89ab-7fff-bfff-ffffffffffff');
    expect(uuidv7(0, new Uint8Array(16))).toBe('00000000-0000-7000-8000-000000000000');
    expect(uuidv7(1_000, random) < uuidv7(1_001, new Uint8Array(16))).toBe(true);
    expect(() => uuidv7(0, new Uint8Array(8))).toThrow(/16/u);
  });
});
