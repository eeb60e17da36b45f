/** PostgreSQL refuses to run as root: started by root, it runs as an ordinary account instead. */
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { TurnwrightError } from '../../ledger/errors.ts';

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** Best first. No account is created: changing the machine's users is not ours to do. */
const ACCOUNT_NAMES = ['postgres', '_postgres', 'nobody'];

const run = promisify(execFile);

/** The account the server runs under; null means the current user. The owner of an existing cluster wins. */
export async function serverAccount(clusterDir: string): Promise<Account | null> {
  if (process.getuid?.() !== 0) return null;
  const owner = await stat(clusterDir).catch(() => null);
  if (owner !== null && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (const name of ACCOUNT_NAMES) {
    const account = await lookUp(name);
    if (account !== null) return account;
  }
  throw new TurnwrightError(
    'database_unreachable',
    `PostgreSQL does not run as root, and none of the users ${ACCOUNT_NAMES.join(', ')} exists. Start as another user, or set DATABASE_URL.`,
  );
}

async function lookUp(name: string): Promise<Account | null> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return null;
  }
}
