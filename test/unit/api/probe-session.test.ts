import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { probeSession } from '../../../src/api/probing.ts';

describe('CAP-10 the session of the probes of a leg', () => {
  it('CAP-10 is one UUID of version 8 for each tenant and leg, the same each time', () => {
    const v8 = z.uuid({ version: 'v8' });
    const pairs = fc.uniqueArray(fc.tuple(fc.uuid(), fc.string()), {
      selector: (pair) => pair.join(' '),
      minLength: 2,
      maxLength: 20,
    });
    fc.assert(
      fc.property(pairs, (all) => {
        const ids = all.map(([tenant, leg]) => probeSession(tenant, leg));
        for (const id of ids) expect(v8.safeParse(id).success, id).toBe(true);
        expect(new Set(ids).size).toBe(all.length);
        expect(all.map(([tenant, leg]) => probeSession(tenant, leg))).toEqual(ids);
      }),
    );
  });
});
