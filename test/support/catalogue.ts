/**
 * Compares the catalogue of a migrated database with the schema that is declared for it: columns with type,
 * nullability and whether they have a default, primary keys, indexes. Both sides are written as lines, so a
 * difference reads as what is missing and what nobody declared.
 */
import { is } from 'drizzle-orm';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import type pg from 'pg';
import * as declared from '../../src/db/schema.ts';

export interface CatalogueDifference {
  /** Declared, not in the database. */
  readonly missing: readonly string[];
  /** In the database, declared nowhere. */
  readonly undeclared: readonly string[];
}

/** Made by hand-written migrations, for a reason that no declaration can state. */
const HAND_WRITTEN = new Set(['index api_keys.api_keys_id (key_id)']);

/** Names of types as the declaration spells them and as the catalogue does. */
const TYPE_NAMES: Readonly<Record<string, string>> = { bigserial: 'bigint', serial: 'integer' };

export async function compareCatalogue(client: pg.ClientBase | pg.Pool): Promise<CatalogueDifference> {
  const wanted = new Set(declaredLines());
  const found = new Set(await catalogueLines(client));
  return {
    missing: [...wanted].filter((line) => !found.has(line)),
    undeclared: [...found].filter((line) => !wanted.has(line) && !HAND_WRITTEN.has(line)),
  };
}

/** One line a column, key and index of every declared table. */
export function declaredLines(): readonly string[] {
  const exported: readonly unknown[] = Object.values(declared);
  const tables = exported.filter((value): value is PgTable => is(value, PgTable));
  return tables.flatMap((table) => {
    const { name, columns, primaryKeys, indexes } = getTableConfig(table);
    const keys = [
      ...columns.filter((column) => column.primary).map((column) => [column.name]),
      ...primaryKeys.map((key) => key.columns.map((column) => column.name)),
    ];
    return [
      ...columns.map((column) => {
        const type = column.getSQLType();
        const hasDefault = column.hasDefault || type in TYPE_NAMES;
        return columnLine(name, column.name, TYPE_NAMES[type] ?? type, column.notNull, hasDefault);
      }),
      ...keys.map((columnNames) => `primary key ${name} (${columnNames.join(', ')})`),
      ...indexes.map(({ config }) => {
        const of = config.columns.map((column) => ('name' in column ? String(column.name) : '?'));
        const partial = config.where === undefined ? '' : ' partial';
        return `${config.unique ? 'unique ' : ''}index ${name}.${config.name} (${of.join(', ')})${partial}`;
      }),
    ];
  });
}

async function catalogueLines(client: pg.ClientBase | pg.Pool): Promise<readonly string[]> {
  const columns = await client.query<{
    table: string;
    column: string;
    type: string;
    required: boolean;
    defaulted: boolean;
  }>(
    `SELECT c.relname AS "table", a.attname AS "column", format_type(a.atttypid, a.atttypmod) AS type,
        a.attnotnull AS required, a.atthasdef AS defaulted
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      WHERE c.relnamespace = 'turnwright'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`,
  );
  const indexes = await client.query<{
    table: string;
    name: string;
    primary: boolean;
    unique: boolean;
    partial: boolean;
    columns: string[];
  }>(
    `SELECT c.relname AS "table", x.relname AS name, i.indisprimary AS primary, i.indisunique AS unique, i.indpred IS NOT NULL AS partial,
        ARRAY(SELECT replace(pg_get_indexdef(i.indexrelid, n::int, true), '"', '') FROM generate_series(1, i.indnkeyatts) n ORDER BY n) AS columns
      FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
      WHERE c.relnamespace = 'turnwright'::regnamespace AND NOT c.relispartition`,
  );
  return [
    ...columns.rows.map((row) => columnLine(row.table, row.column, row.type, row.required, row.defaulted)),
    ...indexes.rows.map(({ table, name, primary, unique, partial, columns: of }) =>
      primary
        ? `primary key ${table} (${of.join(', ')})`
        : `${unique ? 'unique ' : ''}index ${table}.${name} (${of.join(', ')})${partial ? ' partial' : ''}`,
    ),
  ];
}

function columnLine(table: string, column: string, type: string, required: boolean, defaulted: boolean) {
  const spelled = type.replace(/^timestamp \((\d)\)/u, 'timestamp($1)');
  return `column ${table}.${column} ${spelled}${required ? ' not null' : ''}${defaulted ? ' default' : ''}`;
}
