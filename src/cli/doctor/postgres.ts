/** The database: does it answer, is it new enough, migrated, durable, and are its roles what they must be. */
import { checkMigrated } from '../../db/queries/check-migrated.ts';
import { TurnwrightError } from '../../ledger/errors.ts';
import { withPool } from '../tenancy.ts';
import { type Check, check, reasonOf } from './check.ts';

const OLDEST_MAJOR = 15;
/** Beyond this, times shown by machines and times stored by the database tell different stories. */
const MAX_CLOCK_DIFFERENCE_MS = 1_000;
const ROLES = ['turnwright_owner', 'turnwright_app', 'turnwright_upkeep'];

interface Settings {
  readonly version: string;
  readonly versionNumber: number;
  readonly fsync: string;
  readonly commit: string;
  readonly nowMs: number;
}

interface Role {
  readonly name: string;
  readonly flags: readonly string[];
}

const SETTINGS = `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS "versionNumber",
  current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
  (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "nowMs"`;
/** No role of ours may go around row-level security, or make others that do. */
const ROLE_FLAGS = `SELECT rolname AS name, array_remove(ARRAY[CASE WHEN rolsuper THEN 'SUPERUSER' END, CASE WHEN rolbypassrls THEN 'BYPASSRLS' END,
  CASE WHEN rolcreaterole THEN 'CREATEROLE' END, CASE WHEN rolcreatedb THEN 'CREATEDB' END, CASE WHEN rolcanlogin THEN 'LOGIN' END], NULL) AS flags
  FROM pg_roles WHERE rolname = ANY ($1)`;

export async function postgresChecks(url: string): Promise<readonly Check[]> {
  try {
    return await withPool(url, 'turnwright_app', async (pool) => {
      const askedAtMs = Date.now();
      const settings = (await pool.query<Settings>(SETTINGS)).rows[0];
      const answeredAtMs = Date.now();
      const roles = (await pool.query<Role>(ROLE_FLAGS, [ROLES])).rows;
      const migrated = await checkMigrated(pool).then(
        () => check('migrations', 'ok', "this version's schema"),
        (error: unknown) => check('migrations', 'fail', reasonOf(error)),
      );
      return settings === undefined
        ? [migrated]
        : [
            ...settingChecks(settings),
            migrated,
            rolesCheck(roles),
            clockCheck(settings.nowMs, askedAtMs, answeredAtMs),
          ];
    });
  } catch (error) {
    return [connectionFinding(error)];
  }
}

/** The server refuses our role by name when nobody migrated yet. */
function connectionFinding(error: unknown): Check {
  const code = error instanceof TurnwrightError ? error.code : codeOf(error);
  if (code === 'migration_required' || code === '22023' || code === '42704') {
    return check('postgres', 'fail', 'it answers, but lacks the Turnwright roles; run `turnwright migrate`');
  }
  return check('postgres', 'unreachable', `${reasonOf(error)}; check DATABASE_URL and that the server runs`);
}

function settingChecks({ version, versionNumber, fsync, commit }: Settings): readonly Check[] {
  const major = Math.floor(versionNumber / 10_000);
  return [
    major >= OLDEST_MAJOR
      ? check('postgres', 'ok', `answers, version ${version}`)
      : check('postgres', 'fail', `version ${version} is too old; ${OLDEST_MAJOR} or newer is needed`),
    fsync === 'on'
      ? check('fsync', 'ok', 'on')
      : check(
          'fsync',
          'fail',
          `${fsync}: a crash of the machine can lose or damage accepted turns; set it on`,
        ),
    commit === 'off'
      ? check('synchronous_commit', 'fail', 'off: a crash can lose turns that were acknowledged; set it on')
      : check('synchronous_commit', 'ok', commit),
  ];
}

function rolesCheck(roles: readonly Role[]): Check {
  const missing = ROLES.filter((name) => !roles.some((role) => role.name === name));
  if (missing.length > 0) {
    return check('roles', 'fail', `${missing.join(', ')} missing; run \`turnwright migrate\``);
  }
  const tooStrong = roles.filter((role) => role.flags.length > 0);
  if (tooStrong.length > 0) {
    const named = tooStrong.map((role) => `${role.name} has ${role.flags.join(' ')}`);
    return check(
      'roles',
      'fail',
      `${named.join('; ')}: take it away with ALTER ROLE, it goes around tenant isolation`,
    );
  }
  return check('roles', 'ok', `${ROLES.join(', ')}, none of them privileged`);
}

/** The server's time was read somewhere between asking and answering. */
export function clockCheck(serverMs: number, askedAtMs: number, answeredAtMs: number): Check {
  const differenceMs = Math.round(Math.max(0, askedAtMs - serverMs, serverMs - answeredAtMs));
  return differenceMs <= MAX_CLOCK_DIFFERENCE_MS
    ? check('clock', 'ok', `${differenceMs} ms from the database's`)
    : check(
        'clock',
        'warn',
        `${differenceMs} ms from the database's; synchronise both machines (leases follow the database's alone)`,
      );
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
