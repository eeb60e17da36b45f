/**
 * Takes in a deep checkpoint: its records and events in one transaction, then every projection made of them, as a
 * rebuild makes them. Until then the session cannot be seen; an import that was broken off is completed by another one.
 */
import type { CheckpointInserts, CheckpointStore, Standing } from '../db/checkpoint-contract.ts';
import type { Store, UpkeepStore } from '../db/contract.ts';
import {
  type CheckpointEvent,
  type CheckpointHeader,
  CheckpointReader,
  type CheckpointRecord,
} from '../ledger/checkpoint.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import { rebuildSession } from './rebuild.ts';

/** Lines that one statement inserts at most, and the bytes of their bodies. */
const BATCH_LINES = 500;
const BATCH_BYTES = 4 * 1024 * 1024;

export interface Imported {
  readonly session: string;
  /** Those that were not here before, oldest first; itself last. */
  readonly sessions: readonly { readonly session: string; readonly records: number }[];
}

export interface ImportDeps {
  readonly checkpoints: CheckpointStore;
  readonly store: Store;
  readonly upkeep: UpkeepStore;
  readonly registry: MachineRegistry;
}

/**
 * @throws TurnwrightError `checkpoint_refused` naming the line that is wrong; `session_exists` where the session is here
 * already, or one that it goes on from stands otherwise. Nothing is written then.
 */
export async function importLines(
  deps: ImportDeps,
  tenant: string,
  lines: AsyncIterable<string>,
): Promise<Imported> {
  const taken = await deps.checkpoints.taking(tenant, (inserts) => takeIn(inserts, lines));
  for (const { session } of taken.sessions) await rebuildSession(deps, { tenant, session });
  return taken;
}

async function takeIn(inserts: CheckpointInserts, lines: AsyncIterable<string>): Promise<Imported> {
  const reader = new CheckpointReader();
  const batches = new Batches(inserts);
  for await (const line of lines) {
    const entry = reader.next(line);
    if (entry?.type === 'checkpoint') await batches.begin(entry);
    else if (entry !== null) await batches.add(entry);
  }
  return batches.end(reader.end());
}

/** Puts lines in, many at a time. */
class Batches {
  readonly #inserts: CheckpointInserts;
  /** Sessions of the lineage that are here already. */
  readonly #standing = new Map<string, Standing>();
  #records: CheckpointRecord[] = [];
  #events: CheckpointEvent[] = [];
  #own = '';
  #bytes = 0;

  constructor(inserts: CheckpointInserts) {
    this.#inserts = inserts;
  }

  async begin({ session, sessions }: CheckpointHeader): Promise<void> {
    this.#own = session;
    for (const { session: of } of sessions) this.#standing.set(of, await this.#inserts.standing(of));
    if (this.#standing.get(session)?.listed !== true) return;
    throw new TurnwrightError(
      'session_exists',
      `Session ${session} is here already. Fork it to go on from it; a session is never written over.`,
      { details: { session } },
    );
  }

  async add(entry: CheckpointRecord | CheckpointEvent): Promise<void> {
    if (entry.type === 'event') this.#events.push(entry);
    else {
      if (this.#standing.get(entry.session)?.listed === true) return;
      if (this.#records[0]?.session !== entry.session) await this.#flush();
      this.#records.push(entry);
    }
    this.#bytes += entry.type === 'event' ? entry.event.length : entry.bytes;
    const waiting = this.#records.length + this.#events.length;
    if (waiting >= BATCH_LINES || this.#bytes >= BATCH_BYTES) await this.#flush();
  }

  async end({ session, sessions }: CheckpointHeader): Promise<Imported> {
    await this.#flush();
    for (const { session: of, records, digest } of sessions) {
      if ((await this.#inserts.digestAt(of, records)) === digest) continue;
      const stands = `has ${this.#standing.get(of)?.records ?? 0} records here, and its record ${records} is not that of the checkpoint`;
      throw new TurnwrightError('session_exists', `Session ${of} ${stands}. Nothing was imported.`, {
        details: { session: of },
      });
    }
    const fresh = sessions.filter(({ session: of }) => this.#standing.get(of)?.listed !== true);
    return { session, sessions: fresh.map(({ session: of, records }) => ({ session: of, records })) };
  }

  async #flush(): Promise<void> {
    const [records, events] = [this.#records, this.#events];
    const of = records[0]?.session;
    if (of !== undefined) await this.#inserts.records(of, records);
    if (events.length > 0) await this.#inserts.events(this.#own, events);
    this.#records = [];
    this.#events = [];
    this.#bytes = 0;
  }
}
