/** The schema and the column shapes its tables share. */
import { customType, pgSchema, timestamp, uuid } from 'drizzle-orm/pg-core';

export const turnwright = pgSchema('turnwright');

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });
export const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });
export const tenantId = () => uuid('tenant_id').notNull();
export const sessionId = () => uuid('session_id').notNull();
