/** The tenant of whoever runs this program alone, and keys for it. */
import { createPool, type DatabaseRole } from '../db/index.ts';
import { createKey, ensureTenant, SCOPES, type Scope } from '../db/keys.ts';

/** Fixed, so that every process of a deployment means the same one. */
export const DEFAULT_TENANT = { tenant: '00000000-0000-7000-8000-000000000001', name: 'default' } as const;

type DatabasePool = ReturnType<typeof createPool>;

/** One connection for one piece of work. */
export async function withPool<Result>(
  url: string,
  role: DatabaseRole,
  work: (pool: DatabasePool) => Promise<Result>,
): Promise<Result> {
  const pool = createPool({
    url,
    role,
    max: 1,
    applicationName: 'turnwright command',
    onError: () => undefined,
  });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

/** Makes the default tenant when it is missing, and a key for it. */
export async function issueKey(
  databaseUrl: string,
  name: string,
  scopes: readonly Scope[] = SCOPES,
  expiresAt?: Date,
): Promise<{ readonly key: string; readonly keyId: string }> {
  await withPool(databaseUrl, 'turnwright_upkeep', (pool) => ensureTenant(pool, DEFAULT_TENANT));
  return withPool(databaseUrl, 'turnwright_app', (pool) =>
    createKey(pool, DEFAULT_TENANT.tenant, {
      name,
      scopes,
      ...(expiresAt === undefined ? {} : { expiresAt }),
    }),
  );
}
