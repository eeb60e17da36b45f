/** API keys of the default tenant. They live in the database, so these commands need no server. */
import { type createKey, type ListedKey, listKeys, revokeKey, SCOPES, type Scope } from '../../db/keys.ts';
import type { Command, Invocation } from '../command.ts';
import { withDatabase } from '../database.ts';
import { EXIT, UsageError } from '../exit.ts';
import { oneLine } from '../output.ts';
import { setUp } from '../setup.ts';
import { table } from '../table.ts';
import { DEFAULT_TENANT, issueKey, withPool } from '../tenancy.ts';

const SHOWN_NAME_CHARS = 40;

export const create: Command = {
  name: 'keys create',
  summary: 'Create an API key; its text is shown once and stored nowhere',
  arguments: 'NAME',
  count: [1, 1],
  options: {
    scopes: { type: 'string', value: 'a,b', help: `what it may do; all unless given: ${SCOPES.join(', ')}` },
    expires: { type: 'string', value: 'DATE', help: 'when it ends, such as 2030-01-31; never unless given' },
  },
  run: async ({ context, output, positionals, text }) => {
    const [name = ''] = positionals;
    const scopes = readScopes(text('scopes'));
    const expiresAt = readDate(text('expires'));
    const { config } = await setUp(context);
    const issued = await withDatabase(config, (url) => issueKey(url, name, scopes, expiresAt));
    output.result({ ...issued, name, scopes, expiresAt: expiresAt ?? null }, () => issued.key);
    return EXIT.done;
  },
};

export const list: Command = {
  name: 'keys list',
  summary: 'List API keys, without their text',
  run: async (invocation) => {
    const keys = await inTenant(invocation, (pool) => listKeys(pool, DEFAULT_TENANT.tenant));
    invocation.output.result({ keys }, () => (keys.length === 0 ? 'There are no keys.' : keysTable(keys)));
    return EXIT.done;
  },
};

export const revoke: Command = {
  name: 'keys revoke',
  summary: 'Revoke an API key; servers notice within seconds',
  arguments: 'KEY_ID',
  count: [1, 1],
  run: async (invocation) => {
    const [keyId = ''] = invocation.positionals;
    const revoked = await inTenant(invocation, (pool) => revokeKey(pool, DEFAULT_TENANT.tenant, keyId));
    invocation.output.result({ keyId, revoked }, () =>
      revoked
        ? `Key ${keyId} is revoked.`
        : `There is no key ${oneLine(keyId, SHOWN_NAME_CHARS)} that could be revoked. \`turnwright keys list\` shows all.`,
    );
    return revoked ? EXIT.done : EXIT.failed;
  },
};

async function inTenant<Result>(
  { context }: Invocation,
  work: (pool: Parameters<typeof createKey>[0]) => Promise<Result>,
): Promise<Result> {
  const { config } = await setUp(context);
  return withDatabase(config, (url) => withPool(url, 'turnwright_app', work));
}

function readScopes(list: string | undefined): readonly Scope[] {
  if (list === undefined) return SCOPES;
  const names = list.split(',').map((name) => name.trim());
  const scopes = SCOPES.filter((scope) => names.includes(scope));
  const unknown = names.filter((name) => !scopes.some((scope) => scope === name));
  if (unknown.length === 0) return scopes;
  throw new UsageError(`--scopes holds "${unknown.join('", "')}"; the scopes are ${SCOPES.join(', ')}.`);
}

function readDate(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const date = new Date(text);
  if (!Number.isNaN(date.getTime())) return date;
  throw new UsageError(
    `--expires is "${text}"; allowed is a date such as 2030-01-31 or 2030-01-31T12:00:00Z.`,
  );
}

function keysTable(keys: readonly ListedKey[]): string {
  const columns = [{ title: 'Key id' }, { title: 'Name' }, { title: 'Scopes' }, { title: 'State' }];
  return table(
    columns,
    keys.map((key) => [key.keyId, oneLine(key.name, SHOWN_NAME_CHARS), key.scopes.join(','), stateOf(key)]),
  );
}

function stateOf({ revokedAt, expiresAt }: ListedKey): string {
  if (revokedAt !== null) return `revoked ${revokedAt.toISOString()}`;
  if (expiresAt === null) return 'valid';
  return `valid until ${expiresAt.toISOString()}`;
}
