/** What every bus must do, whatever carries its frames. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Bus, DeltaFrame } from '../../src/queues/bus.ts';
import { eventually } from '../integration/queues/waiting.ts';

export interface BusUnderTest {
  /** Another end of the same bus, as another process would hold one. */
  open(onError: (error: Error) => void): Bus;
  /** An end of a bus whose medium is not there. */
  openUnreachable(onError: (error: Error) => void): Bus;
  /** How many frames of a turn are stored outside the publishing process. */
  stored(turn: string): Promise<number>;
  close(): Promise<void>;
}

const MANY_WATCHERS = 200;

/** `makeBus` gives a bus of its own to every test. */
export function busSuite(name: string, makeBus: () => Promise<BusUnderTest>): void {
  describe(`bus: ${name}`, { timeout: 60_000 }, () => {
    let under: BusUnderTest;
    let opened: Bus[];
    let errors: Error[];
    let publisher: Bus;
    let reader: Bus;
    let turn: string;

    beforeEach(async () => {
      under = await makeBus();
      opened = [];
      errors = [];
      turn = randomUUID();
      publisher = open();
      reader = open();
    });
    afterEach(async () => {
      await Promise.all(opened.map((bus) => bus.close()));
      await under.close();
    });

    function open(): Bus {
      const mine = errors;
      const bus = under.open((error) => mine.push(error));
      opened.push(bus);
      return bus;
    }

    async function watch(bus: Bus, of = turn) {
      const seen: DeltaFrame[] = [];
      const stop = await bus.watch(of, (frame) => seen.push(frame));
      return { seen, stop };
    }

    async function sees(seen: readonly DeltaFrame[], wanted: readonly DeltaFrame[]): Promise<void> {
      await eventually(`${wanted.length} frames are seen`, () => seen.length >= wanted.length);
      expect(seen).toEqual(wanted);
    }

    it('gives live frames to a watcher in another process, each once and in order', async () => {
      const { seen, stop } = await watch(reader);
      const frames = make(60);
      for (let n = 0; n < frames.length; n += 3) await publisher.publish(turn, frames.slice(n, n + 3));
      await sees(seen, frames);
      await stop();
      expect(errors).toEqual([]);
    });

    it('keeps the order of publications that were not awaited', async () => {
      const { seen, stop } = await watch(reader);
      const frames = make(40);
      await Promise.all(frames.map((frame) => publisher.publish(turn, [frame])));
      await sees(seen, frames);
      await stop();
    });

    it('replays what was published before anyone watched, then goes on live', async () => {
      const frames = make(30);
      await publisher.publish(turn, frames.slice(0, 20));
      const { seen, stop } = await watch(reader);
      await publisher.publish(turn, frames.slice(20));
      await sees(seen, frames);
      await stop();
    });

    it('replays the same to a watcher that comes while others watch, in this process and another', async () => {
      const first = await watch(reader);
      const frames = make(20);
      await publisher.publish(turn, frames.slice(0, 10));
      await sees(first.seen, frames.slice(0, 10));
      const [beside, elsewhere] = [await watch(reader), await watch(open())];
      await publisher.publish(turn, frames.slice(10));
      for (const { seen, stop } of [first, beside, elsewhere]) {
        await sees(seen, frames);
        await stop();
      }
    });

    it('stores nothing while nobody watches', async () => {
      await publisher.publish(turn, make(10));
      expect(await under.stored(turn)).toBe(0);
      const { seen, stop } = await watch(reader);
      await eventually('the held frames arrive', () => seen.length === 10);
      expect(await under.stored(turn)).toBe(10);
      await stop();
    });

    it('keeps turns apart', async () => {
      const other = randomUUID();
      const [mine, theirs] = [await watch(reader), await watch(reader, other)];
      const [frames, foreign] = [make(5), make(5, 9)];
      await publisher.publish(other, foreign);
      await publisher.publish(turn, frames);
      await sees(mine.seen, frames);
      await sees(theirs.seen, foreign);
      await mine.stop();
      await theirs.stop();
    });

    it('gives nothing after a watch was stopped, and stops twice without harm', async () => {
      const [stopped, staying] = [await watch(reader), await watch(reader)];
      const frames = make(4);
      await publisher.publish(turn, frames.slice(0, 2));
      await sees(stopped.seen, frames.slice(0, 2));
      await stopped.stop();
      await stopped.stop();
      await publisher.publish(turn, frames.slice(2));
      await sees(staying.seen, frames);
      expect(stopped.seen).toEqual(frames.slice(0, 2));
      await staying.stop();
    });

    it('serves a turn that is watched again after its last watcher left', async () => {
      const first = await watch(reader);
      const frames = make(4);
      await publisher.publish(turn, frames.slice(0, 2));
      await sees(first.seen, frames.slice(0, 2));
      await first.stop();
      const again = await watch(reader);
      await publisher.publish(turn, frames.slice(2));
      await sees(again.seen, frames);
      await again.stop();
    });

    it('lets no watcher harm another: one that throws is reported and goes on', async () => {
      const stop = await reader.watch(turn, () => {
        throw new Error('this client is gone');
      });
      const { seen, stop: stopOther } = await watch(reader);
      const frames = make(3);
      await publisher.publish(turn, frames);
      await sees(seen, frames);
      expect(errors.map((error) => error.message)).toContain('this client is gone');
      await stop();
      await stopOther();
    });

    it('serves many watchers of one turn', async () => {
      const watching = await Promise.all(Array.from({ length: MANY_WATCHERS }, () => watch(reader)));
      const frames = make(10);
      await publisher.publish(turn, frames);
      for (const { seen } of watching) await sees(seen, frames);
      for (const { stop } of watching) await stop();
    });

    it('forgets a dropped turn for later watchers, and goes on with what comes after', async () => {
      const held = randomUUID();
      await publisher.publish(held, make(5));
      await publisher.drop(held);
      const first = await watch(reader);
      const frames = make(6);
      await publisher.publish(turn, frames.slice(0, 3));
      await sees(first.seen, frames.slice(0, 3));
      await publisher.drop(turn);
      expect(await under.stored(turn)).toBe(0);
      const [later, ofHeld] = [await watch(open()), await watch(reader, held)];
      await publisher.publish(turn, frames.slice(3));
      await sees(later.seen, frames.slice(3));
      await sees(first.seen, frames);
      expect(ofHeld.seen).toEqual([]);
      for (const { stop } of [first, later, ofHeld]) await stop();
    });

    it('bounds what a turn may buffer: the newest frames stay', async () => {
      const frames = make(2_000);
      for (let n = 0; n < frames.length; n += 100) await publisher.publish(turn, frames.slice(n, n + 100));
      const { seen, stop } = await watch(reader);
      await eventually('the newest is seen', () => seen.at(-1)?.id === frames.at(-1)?.id);
      expect(seen.length).toBeLessThan(1_000);
      expect(seen).toEqual(frames.slice(-seen.length));
      await stop();
    });

    it('never rejects a publication or a watch when the medium is down, and reports it', async () => {
      const told: Error[] = [];
      const nowhere = under.openUnreachable((error) => told.push(error));
      opened.push(nowhere);
      const { seen, stop } = await watch(nowhere);
      await nowhere.publish(turn, make(3));
      await nowhere.drop(turn);
      await eventually('the failure is reported', () => told.length > 0);
      expect(seen).toEqual([]);
      await stop();
      await nowhere.close();
    });

    it('takes calls after it was closed without effect, and closes twice', async () => {
      const { seen } = await watch(reader);
      await reader.close();
      await reader.close();
      await publisher.publish(turn, make(2));
      await reader.publish(turn, make(2));
      const stop = await reader.watch(turn, () => undefined);
      await stop();
      await reader.drop(turn);
      expect(seen).toEqual([]);
      expect(errors).toEqual([]);
    });
  });
}

function make(count: number, seq = 1): DeltaFrame[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `${seq}.0.${n}`,
    type: 'step.delta',
    data: { text: `part ${n} “ü” 🙂` },
  }));
}
