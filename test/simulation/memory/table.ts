/**
 * Tables of rows that never change: an update puts another row in their place. So a transaction is taken back by
 * putting the rows of before where they were, and a dump needs no copy.
 */
import type { SessionRef } from '../../../src/db/contract.ts';

/** The WAL writer of Postgres brings to the disk within three of its rounds what no commit waited for. */
const UNFLUSHED_MS = 600;

/** What an open transaction would have to do to take itself back, and so would a crash of the newest ones. */
export class Journal {
  #undo: (() => void)[] = [];
  /** Transactions that are committed, and not yet on the disk. */
  #unflushed: { readonly atMs: number; readonly undo: readonly (() => void)[] }[] = [];

  note(undo: () => void): void {
    this.#undo.push(undo);
  }

  /** Either all changes of `work` stand, or, when it throws, none. Its commit waits for the disk. */
  transaction<T>(work: () => T): T {
    return this.#commit(work, (undo) => {
      if (undo.length > 0) this.#unflushed = [];
    });
  }

  /** A transaction whose commit does not wait: with `synchronous_commit = off`. */
  hasty<T>(nowMs: number, work: () => T): T {
    return this.#commit(work, (undo) => {
      this.#unflushed = this.#unflushed.filter(({ atMs }) => atMs > nowMs - UNFLUSHED_MS);
      if (undo.length > 0) this.#unflushed.push({ atMs: nowMs, undo });
    });
  }

  /** What a crash does: of what was not on the disk, the newest share is as if it had never been. */
  lose(share: number): void {
    const kept = Math.floor((1 - share) * (this.#unflushed.length + 1));
    for (const { undo } of this.#unflushed.slice(kept).toReversed())
      for (const step of undo.toReversed()) step();
    this.#unflushed = [];
  }

  #commit<T>(work: () => T, committed: (undo: readonly (() => void)[]) => void): T {
    this.#undo = [];
    try {
      const result = work();
      committed(this.#undo);
      return result;
    } catch (error) {
      for (const step of this.#undo.toReversed()) step();
      throw error;
    } finally {
      this.#undo = [];
    }
  }
}

/** Rows by a key that begins with tenant and session: whoever asks under another tenant finds nothing. */
export class Table<Key extends SessionRef, Row extends Key> {
  readonly #name: string;
  readonly #journal: Journal;
  readonly #keyInSession: (key: Key) => string;
  readonly #sessions = new Map<string, Map<string, Row>>();

  constructor(name: string, journal: Journal, keyInSession: (key: Key) => string) {
    this.#name = name;
    this.#journal = journal;
    this.#keyInSession = keyInSession;
  }

  get(key: Key): Row | undefined {
    return this.#rowsOf(key)?.get(this.#keyInSession(key));
  }

  of(ref: SessionRef): readonly Row[] {
    return [...(this.#rowsOf(ref)?.values() ?? [])];
  }

  all(): readonly Row[] {
    return [...this.#sessions.values()].flatMap((rows) => [...rows.values()]);
  }

  insert(row: Row): void {
    const taken = this.get(row) !== undefined;
    if (taken) throw new Error(`${this.#name}: a row ${this.#keyInSession(row)} stands there already`);
    this.put(row);
  }

  /** Inserts, or replaces the row of the same key. */
  put(row: Row): void {
    const session = sessionKey(row);
    const rows = this.#sessions.get(session) ?? new Map<string, Row>();
    this.#sessions.set(session, rows);
    this.#set(rows, this.#keyInSession(row), row);
  }

  remove(key: Key): boolean {
    const rows = this.#rowsOf(key);
    const name = this.#keyInSession(key);
    if (rows?.has(name) !== true) return false;
    this.#set(rows, name, undefined);
    return true;
  }

  /** Puts these in the place of all rows of a session. */
  replace(ref: SessionRef, rows: readonly Omit<Row, keyof SessionRef>[]): void {
    for (const row of this.of(ref)) this.remove(row);
    const { tenant, session } = ref;
    for (const row of rows) this.insert({ ...row, tenant, session } as Row);
  }

  #rowsOf(ref: SessionRef): Map<string, Row> | undefined {
    return this.#sessions.get(sessionKey(ref));
  }

  #set(rows: Map<string, Row>, name: string, row: Row | undefined): void {
    const before = rows.get(name);
    this.#journal.note(() => place(rows, name, before));
    place(rows, name, row);
  }
}

function place<Row>(rows: Map<string, Row>, name: string, row: Row | undefined): void {
  if (row === undefined) rows.delete(name);
  else rows.set(name, row);
}

function sessionKey({ tenant, session }: SessionRef): string {
  return `${tenant}/${session}`;
}
