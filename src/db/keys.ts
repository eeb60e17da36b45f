/**
 * API keys. A key's text is `tw_` and, in base64url, its id (16 bytes) and 256 random bits: the id finds the row,
 * the hash of the random part proves it. The text is shown once and stored nowhere; its entropy needs no slow hash.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type pg from 'pg';
import { TurnwrightError } from '../ledger/errors.ts';
import { uuidv7 } from '../ledger/ids.ts';
import { run, withTenant } from './pool.ts';

export const SCOPES = ['turns:write', 'turns:read', 'content', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

export interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt?: Date;
}

export interface ListedKey {
  readonly keyId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

export interface KeyHolder {
  readonly tenant: string;
  readonly keyId: string;
  readonly scopes: readonly Scope[];
}

const PREFIX = 'tw_';
const ID_BYTES = 16;
const SECRET_BYTES = 32;
const KEY_SHAPE = /^tw_[A-Za-z0-9_-]{64}$/u;

/** Makes the tenant when it is not there yet. Needs a pool of the role `turnwright_upkeep`. */
export async function ensureTenant(
  upkeepPool: pg.Pool,
  tenant: { readonly tenant: string; readonly name: string },
): Promise<void> {
  await run(upkeepPool, {
    text: 'INSERT INTO turnwright.tenants (tenant_id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    values: [tenant.tenant, tenant.name],
  });
}

/**
 * Returns the only copy of the key's text.
 *
 * @throws TurnwrightError `invalid_request` for no scope, or one that does not exist.
 */
export async function createKey(
  pool: pg.Pool,
  tenant: string,
  { name, scopes, expiresAt }: NewKey,
): Promise<{ readonly key: string; readonly keyId: string }> {
  const unknown = scopes.filter((scope) => !SCOPES.includes(scope));
  if (scopes.length === 0 || unknown.length > 0) {
    const found = scopes.length === 0 ? 'none' : unknown.join(', ');
    throw new TurnwrightError(
      'invalid_request',
      `A key needs scopes of ${SCOPES.join(', ')}; found ${found}.`,
    );
  }
  const secret = randomBytes(SECRET_BYTES);
  const keyId = uuidv7(Date.now(), randomBytes(ID_BYTES));
  await withTenant(pool, tenant, (client) =>
    client.query(
      `INSERT INTO turnwright.api_keys (tenant_id, key_id, name, secret_hash, scopes, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6)`,
      [tenant, keyId, name, hashOf(secret), [...new Set(scopes)], expiresAt ?? null],
    ),
  );
  const idBytes = Buffer.from(keyId.replaceAll('-', ''), 'hex');
  return { key: `${PREFIX}${Buffer.concat([idBytes, secret]).toString('base64url')}`, keyId };
}

export async function listKeys(pool: pg.Pool, tenant: string): Promise<readonly ListedKey[]> {
  return withTenant(pool, tenant, async (client) => {
    const result = await client.query<ListedKey>(
      `SELECT key_id AS "keyId", name, scopes, created_at AS "createdAt", expires_at AS "expiresAt", revoked_at AS "revokedAt"
        FROM turnwright.api_keys WHERE tenant_id = $1 ORDER BY key_id`,
      [tenant],
    );
    return result.rows;
  });
}

/** False when the tenant has no such key, or it was revoked before. */
export async function revokeKey(pool: pg.Pool, tenant: string, keyId: string): Promise<boolean> {
  return withTenant(pool, tenant, async (client) => {
    const result = await client.query(
      `UPDATE turnwright.api_keys SET revoked_at = clock_timestamp()
        WHERE tenant_id = $1 AND key_id::text = $2 AND revoked_at IS NULL`,
      [tenant, keyId],
    );
    return result.rowCount === 1;
  });
}

interface KeyRow {
  readonly tenant: string;
  readonly secretHash: Buffer;
  readonly scopes: readonly Scope[];
  readonly live: boolean;
}

/** Whose key this is; null for one that is unknown, revoked, expired or no key at all. */
export async function findKey(pool: pg.Pool, key: string): Promise<KeyHolder | null> {
  if (!KEY_SHAPE.test(key)) return null;
  const bytes = Buffer.from(key.slice(PREFIX.length), 'base64url');
  const keyId = uuidText(bytes.subarray(0, ID_BYTES));
  const rows = await run<KeyRow>(pool, {
    name: 'find_key',
    text: `SELECT tenant_id AS tenant, secret_hash AS "secretHash", scopes,
      revoked_at IS NULL AND coalesce(expires_at > clock_timestamp(), true) AS live FROM turnwright.find_key($1)`,
    values: [keyId],
  });
  const row = rows[0];
  if (row === undefined) return null;
  const matches = timingSafeEqual(hashOf(bytes.subarray(ID_BYTES)), row.secretHash);
  return matches && row.live ? { tenant: row.tenant, keyId, scopes: row.scopes } : null;
}

/** A stable name for a key's text, for a cache that must not hold the text itself. */
export function keyFingerprint(key: string): string {
  return createHash('sha256').update(key).digest('base64url');
}

function hashOf(secret: Uint8Array): Buffer {
  return createHash('sha256').update(secret).digest();
}

function uuidText(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
