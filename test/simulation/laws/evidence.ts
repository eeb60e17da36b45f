/** What a world leaves behind to be judged by: what was seen from outside, and what the database holds at the end. */
import type { BodyOf, RecordKind } from '../../../src/ledger/kinds.ts';
import type { StoredRecord } from '../../../src/ledger/verify.ts';
import { foldTurn, type TurnView, visibleText } from '../../../src/ledger/view.ts';
import type { MemoryDump } from '../memory/database.ts';
import { scriptNamed } from '../world/replies.ts';
import type { Script } from '../world/script.ts';
import type { Witness } from '../world/witness.ts';
import type { World } from '../world/world.ts';

export interface Turn {
  readonly id: string;
  readonly session: string;
  readonly view: TurnView;
  readonly records: readonly StoredRecord[];
  /** The script that became the turn, and those that steered it, in order. */
  readonly script: Script | undefined;
  readonly steering: readonly Script[];
}

/** What the witness tells the oracle. */
export type Testimony = Pick<
  Witness,
  | 'acknowledged'
  | 'applied'
  | 'beats'
  | 'calls'
  | 'cancelAsked'
  | 'cancelled'
  | 'effects'
  | 'errors'
  | 'granted'
  | 'refused'
  | 'troubles'
>;

export interface Evidence {
  readonly quiet: boolean;
  readonly settled: boolean;
  readonly scripts: readonly Script[];
  readonly witness: Testimony;
  readonly dump: MemoryDump;
  readonly turns: ReadonlyMap<string, Turn>;
  /** What was wrong with what is stored, whenever somebody looked. */
  readonly inspected: readonly string[];
  readonly latestDatabaseMs: (fromMs: number, toMs: number) => number;
}

/** Something that holds in every world; it answers every reason why it does not hold in this one. */
export type Law = (evidence: Evidence) => readonly string[];

export function evidenceOf(world: World, settled: boolean): Evidence {
  const dump = world.database.dump();
  const turns = new Map<string, Turn>();
  for (const { session, records } of dump.sessions)
    for (const [id, own] of grouped(records, ({ turnId }) => turnId ?? ''))
      if (id !== '') turns.set(id, turnOf(world.scripts, session, id, own));
  return {
    quiet: world.faults.quiet,
    settled,
    scripts: world.scripts,
    witness: world.witness,
    dump,
    turns,
    inspected: world.inspected,
    latestDatabaseMs: (fromMs, toMs) => world.databaseClock.latestMs(fromMs, toMs),
  };
}

function turnOf(
  scripts: readonly Script[],
  session: string,
  id: string,
  records: readonly StoredRecord[],
): Turn {
  const view = foldTurn(
    records.map((record) => ({ ...record, body: JSON.parse(record.body ?? 'null') as unknown })),
  );
  const named = (text: string) => scripts.find(({ name }) => name === scriptNamed(text));
  const steering = view.steering.flatMap((input) => named(visibleText(input)) ?? []);
  return { id, session, view, records, script: named(visibleText(view.input)), steering };
}

/** Bodies of the records of one kind, in order. */
export function bodies<K extends RecordKind>(
  records: readonly StoredRecord[],
  kind: K,
): readonly BodyOf<K>[] {
  return records
    .filter((record) => record.kind === kind)
    .map(({ body }) => JSON.parse(body ?? 'null') as BodyOf<K>);
}

/** What stands more than once in a list. */
export function repeated(names: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  return names.filter((name) => seen.size === seen.add(name).size);
}

export function grouped<T>(items: readonly T[], key: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group === undefined) groups.set(key(item), [item]);
    else group.push(item);
  }
  return groups;
}
