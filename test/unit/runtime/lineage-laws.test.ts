/**
 * Random lineages: sessions that answer, evict, are forked and are cleared, in any order. Every reading of the store is
 * held against one made of the records alone, which follows the links from session to session and knows of no segment.
 */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/db/contract.ts';
import { brokenLaw } from '../../../src/ledger/invariants.ts';
import type { BodyOf } from '../../../src/ledger/kinds.ts';
import type { StoredRecord } from '../../../src/ledger/verify.ts';
import { RENDERED_KINDS } from '../../../src/ledger/view.ts';
import { checkAncestors } from '../../../src/runtime/ancestors.ts';
import { lineageOf } from '../../../src/runtime/fork.ts';
import { SessionUnderTest } from '../../contract/session-under-test.ts';
import { createMemoryDatabase } from '../../simulation/memory/database.ts';
import { recordsOf } from '../../support/lineage.ts';
import { Tally } from '../ledger/sample.ts';

const SEEDS = 300;
const ALL = { from: 1, to: 10_000 };

type Act = 'answer' | 'open' | 'close' | 'wait' | 'cancel' | 'result' | 'evict' | 'fork' | 'clear';

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.constant('answer' as const) },
  { weight: 3, arbitrary: fc.constant('fork' as const) },
  ...(['open', 'wait'] as const).map((name) => ({ weight: 4, arbitrary: fc.constant(name) })),
  ...(['close', 'cancel', 'result', 'evict', 'clear'] as const).map((name) => ({
    weight: 2,
    arbitrary: fc.constant(name),
  })),
);
/** `who` picks among the sessions that there are then, the newest first. */
const who = fc.oneof(fc.constant(0), fc.constant(0), fc.nat({ max: 9 }));
const script = fc.array(fc.record({ act, who }), { minLength: 8, maxLength: 40, size: 'max' });

/** What the records of a head say that it carries. */
interface Carried {
  readonly turns: Map<number, CarriedTurn>;
  readonly evictions: { readonly from: number; readonly to: number; readonly seq: number }[];
  readonly evidence: Map<string, string>;
}

interface CarriedTurn {
  readonly session: string;
  readonly turn: string;
  readonly records: StoredRecord[];
  began: boolean;
  closed: boolean;
}

describe('any lineage', () => {
  const tally = new Tally();
  afterAll(() => tally.report('lineages'));

  it('LIN-01 LIN-02 reads as its records say, however it was forked and cleared', async () => {
    await fc.assert(
      fc.asyncProperty(script, async (steps) => {
        const store = createMemoryDatabase({ nowMs: () => 0 }).store();
        const played = await play(store, steps);
        for (const { session } of played.sessions) await holds(store, session);
        tally.count(played.seen);
      }),
      { numRuns: SEEDS },
    );
  }, 120_000);
});

interface Player {
  readonly session: SessionUnderTest;
  readonly depth: number;
  running: { readonly turn: string; readonly items: number[] } | null;
  /** Behind the running turn, oldest first. */
  readonly waiting: string[];
}

async function play(store: Store, steps: readonly { readonly act: Act; readonly who: number }[]) {
  const sessions: Player[] = [
    { session: await SessionUnderTest.open(store, randomUUID()), depth: 0, running: null, waiting: [] },
  ];
  const seen = {
    forked: false,
    twice: false,
    thrice: false,
    cleared: false,
    running: false,
    waiting: false,
    clearedFork: false,
  };
  for (const { act: name, who: of } of steps) {
    const player = sessions.at(-1 - (of % sessions.length));
    if (player === undefined) throw new Error('there is no session');
    if (name === 'fork') {
      seen.running ||= player.running !== null;
      seen.waiting ||= player.waiting.length > 0;
      const depth = player.depth + 1;
      seen.forked = true;
      seen.twice ||= depth > 1;
      seen.thrice ||= depth > 2;
      sessions.push({ session: await player.session.fork(), depth, running: null, waiting: [] });
    } else if (name === 'clear' && player.running === null) {
      seen.cleared = true;
      seen.clearedFork ||= player.depth > 0;
      await player.session.clear();
    } else await move(player, name);
  }
  return { sessions, seen };
}

async function move(player: Player, name: Act): Promise<void> {
  const { session, running } = player;
  if (name === 'evict') {
    const { nextItem } = await session.headNow();
    if (nextItem > 1) await session.evict(1, nextItem - 1, `up to ${nextItem - 1}`);
  }
  if (name === 'answer' && running === null) await session.answered(randomUUID());
  if (name === 'open' && running === null) {
    const { turn } = await session.accept({ text: randomUUID() });
    await begin(player, turn);
  }
  if (running === null) return;
  if (name === 'wait') player.waiting.push((await session.accept({ text: randomUUID() })).turn);
  if (name === 'result') await session.result(running.turn, randomUUID());
  if (name === 'answer')
    running.items.push(await session.say(running.turn, randomUUID(), running.items.length));
  if (name === 'close') await end(player, running);
  const cancelled = name === 'cancel' ? player.waiting.pop() : undefined;
  if (cancelled !== undefined) await session.close(cancelled);
}

async function begin(player: Player, turn: string): Promise<void> {
  player.running = { turn, items: [await player.session.begin(turn)] };
}

/** The oldest of those that wait runs next. */
async function end(player: Player, { turn, items }: NonNullable<Player['running']>): Promise<void> {
  const [from = 0, to = from] = [items[0], items.at(-1)];
  await player.session.close(turn, { items: { from, to } });
  player.running = null;
  const next = player.waiting.shift();
  if (next !== undefined) await begin(player, next);
}

async function holds(store: Store, { ref, head }: SessionUnderTest): Promise<void> {
  const { tenant, session } = ref;
  const said = await carried(store, tenant, session);
  const turns = [...said.turns.values()];
  const numberOf = (one: CarriedTurn) => [...said.turns].find(([, turn]) => turn === one)?.[0];
  const closed = turns.filter((turn) => turn.closed).map(numberOf);

  const indexed = await store.indexedTurns(ref, head, 0, 10_000);
  expect(indexed.map(({ number }) => number)).toEqual(closed);
  const closings = await store.closings(ref, head, 1, 10_000);
  expect(closings.map(({ session: of, turn }) => [of, turn])).toEqual(
    turns.filter((turn) => turn.closed).map((turn) => [turn.session, turn.turn]),
  );
  const history = await store.history(ref, head, ALL, RENDERED_KINDS);
  const rendered = new Set<string>(RENDERED_KINDS);
  expect(history.map(({ number, turn, records }) => [number, turn, records.map(({ body }) => body)])).toEqual(
    turns.map((turn) => [
      numberOf(turn),
      turn.turn,
      turn.records.filter(({ kind }) => rendered.has(kind)).map(({ body }) => body),
    ]),
  );
  const transcript = await store.transcriptTurns(ref, head, null);
  expect(transcript.map(({ number, turn }) => [number, turn])).toEqual(
    turns.filter((turn) => turn.began).map((turn) => [numberOf(turn), turn.turn]),
  );
  const { evictions } = await store.toPlan(ref, head, { turn: 0, recordSeq: 0 });
  expect(evictions.map(({ from, to, seq }) => ({ from, to, seq }))).toEqual(said.evictions);
  const ids = [...said.evidence.keys()].toReversed();
  expect(await store.evidenceIds(ref, 10_000)).toEqual(ids);
  for (const id of ids) expect(await store.evidence(ref, Number(id.slice(1)))).toBe(said.evidence.get(id));

  const newest = (await store.loadSession(ref, null))?.session.nextTurn ?? 0;
  for (let number = 1; number < newest; number++) {
    const turn = said.turns.get(number);
    const at = turn === undefined ? null : { session: turn.session, turn: turn.turn, number };
    expect(await store.turnAt(ref, head, number)).toEqual(at);
  }
  expect(brokenLaw({ session, records: await recordsOf(store, ref) })).toBeNull();
  const source = await store.forkSource(ref, null);
  if (source !== null) await checkAncestors(store, tenant, lineageOf(source));
}

/** Record by record, and through a link into the records of the other session up to where it stood. */
async function carried(store: Store, tenant: string, session: string, to = Infinity): Promise<Carried> {
  let said: Carried = { turns: new Map(), evictions: [], evidence: new Map() };
  for (const record of await recordsOf(store, { tenant, session })) {
    if (record.seq > to) break;
    const body = JSON.parse(record.body ?? '{}');
    if (record.kind === 'cleared') said = { turns: new Map(), evictions: [], evidence: new Map() };
    if (record.kind === 'inherited') said = await inheritedBy(store, tenant, body);
    if (record.kind === 'evicted') said.evictions.push({ from: body.from, to: body.to, seq: record.seq });
    if (record.kind === 'tool-result') said.evidence.set(body.evidence, body.content);
    if (record.kind === 'turn-accepted') {
      const turn = { session, turn: record.turnId ?? '', records: [], began: false, closed: false };
      said.turns.set(body.number, turn);
    }
    const turn = [...said.turns.values()].find((one) => one.turn === record.turnId);
    turn?.records.push(record);
    if (turn !== undefined && record.kind === 'turn-context') turn.began = true;
    if (turn !== undefined && record.kind === 'turn-closed') turn.closed = true;
  }
  return said;
}

/** What comes after the newest turn that had begun is not the fork's; what was evicted stands in no record of it. */
async function inheritedBy(
  store: Store,
  tenant: string,
  { session, segments }: BodyOf<'inherited'>,
): Promise<Carried> {
  const { turns, evictions, evidence } = await carried(store, tenant, session, segments.at(-1)?.toSeq);
  const begun = Math.max(0, ...[...turns].flatMap(([number, { began }]) => (began ? [number] : [])));
  return {
    turns: new Map([...turns].filter(([number]) => number <= begun)),
    evictions: evictions.map((made) => ({ ...made, seq: 0 })),
    evidence,
  };
}
