/**
 * Tables of rows that never change: an update puts another row in their place. So a transaction is taken back by
 * putting the rows of before where they were, and a dump needs no copy.
 */
import type { SessionRef } from '../../../src/db/contract.ts';

/** What an open transaction would have to do to take itself back. */
export class Journal {
  #undo: (() => void)[] | null = null;

  note(undo: () => void): void {
    this.#undo?.push(undo);
  }

  /** Either all changes of `work` stand, or, when it throws, none. */
  transaction<T>(work: () => T): T {
    const undo: (() => void)[] = [];
    this.#undo = undo;
    try {
      return work();
    } catch (error) {
      this.#undo = null;
      for (const step of undo.reverse()) step();
      throw error;
    } finally {
      this.#undo = null;
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
