import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type LiveId,
  parseLiveId,
  parsePlace,
  renderLiveId,
  START,
  wasSeen,
} from '../../../src/api/event-ids.ts';

const part = fc.nat({ max: 1_000_000 });
const liveId = fc.record({ seq: part, attempt: part, n: part });

describe('places in a turn’s stream', () => {
  it('reads back every id it writes', () => {
    fc.assert(
      fc.property(liveId, (id) => {
        expect(parseLiveId(renderLiveId(id, 0))).toEqual(id);
        expect(parsePlace(renderLiveId(id, 0))).toEqual({
          seq: id.seq,
          live: { attempt: id.attempt, n: id.n },
        });
        expect(parsePlace(String(id.seq))).toEqual({ seq: id.seq, live: null });
      }),
    );
  });

  it.each(['', ' 1', '1 ', '1.', '1.2', '1.2.3.4', '-1', '1e3', 'x', '1.2.x', '9'.repeat(16)])(
    'takes %j for no id',
    (text) => {
      expect(parsePlace(text)).toBeNull();
    },
  );

  it('never gives a frame an id that leads a client back behind a record it has', () => {
    fc.assert(
      fc.property(liveId, part, (id, newest) => {
        expect(parsePlace(renderLiveId(id, newest))?.seq).toBeGreaterThanOrEqual(newest);
      }),
    );
  });

  it('has seen, at the place of a frame, that frame and those before it of the call, and none after', () => {
    fc.assert(
      fc.property(liveId, part, fc.nat({ max: 50 }), (id, newest, more) => {
        const place = parsePlace(renderLiveId(id, newest)) ?? START;
        expect(wasSeen(place, id)).toBe(true);
        expect(wasSeen(place, { ...id, n: Math.max(0, id.n - more) })).toBe(true);
        expect(wasSeen(place, { ...id, n: id.n + 1 + more })).toBe(false);
        expect(wasSeen(place, { ...id, attempt: id.attempt + 1, n: 0 })).toBe(false);
        const later: LiveId = { seq: place.seq + 1, attempt: 1, n: 1 };
        expect(wasSeen(place, later)).toBe(false);
      }),
    );
  });

  it('has seen no frame at the place of a record', () => {
    fc.assert(
      fc.property(liveId, part, (id, seq) => {
        expect(wasSeen({ seq, live: null }, id)).toBe(false);
      }),
    );
  });
});
