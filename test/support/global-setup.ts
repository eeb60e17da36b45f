/** Before the first file that needs services: one PostgreSQL server for the whole run; after the last: gone. */
import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { dropDatabases } from './postgres.ts';
import { startTestServer } from './postgres-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Connects as a user that may create databases and roles. */
    postgresAdminUrl: string;
    /** Starts the name of every database of this run, so that runs on one server do not meet. */
    postgresPrefix: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const prefix = `tw_${randomBytes(4).toString('hex')}`;
  const server = await startTestServer(process.env);
  process.stderr.write(`PostgreSQL for tests: ${server.kind}\n`);
  project.provide('postgresAdminUrl', server.adminUrl);
  project.provide('postgresPrefix', prefix);
  return async () => {
    await dropDatabases(server.adminUrl, prefix);
    await server.stop();
  };
}
