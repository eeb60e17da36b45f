/**
 * The declared shape of the database. Partitions, triggers, roles, policies and functions are hand-written
 * migrations; a check compares a migrated database's catalogue with what is declared here.
 */
export * from './schema/columns.ts';
export * from './schema/context.ts';
export * from './schema/deployment.ts';
export * from './schema/ledger.ts';
export * from './schema/runtime.ts';
