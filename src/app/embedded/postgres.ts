/** A real PostgreSQL server inside a data folder, for the embedded stack and for tests. */
import { access, constants, mkdir, realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { TurnwrightError } from '../../ledger/errors.ts';
import { type Account, serverAccount } from './account.ts';
import { type Binaries, embeddedBinaries } from './binaries.ts';
import { clusterDirOf, ensureCluster } from './cluster.ts';
import { ownFolder } from './owner.ts';
import { startServer, stopOrphans } from './server.ts';

export interface EmbeddedPostgres {
  /** Holds the password: for connecting, not for showing. */
  readonly url: string;
  /** Process number of the server. */
  readonly pid: number;
  /** Ends the server after it wrote everything out, and gives the folder free. May be called again. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** Made when missing. What it holds is kept from one start to the next. */
  readonly dataDir: string;
  readonly log?: (line: string) => void;
  /** Programs to use instead of those that came with the npm package. */
  readonly binaries?: Binaries;
}

/**
 * Starts the server on a free port of 127.0.0.1, making the database first where there is none. The server
 * ends with this process, however that ends.
 *
 * @throws TurnwrightError `data_folder_in_use` naming the owner; `database_unreachable` saying what failed.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  if (process.platform === 'win32') {
    throw new TurnwrightError(
      'database_unreachable',
      'The embedded database runs on Linux and macOS, and this is Windows. Set DATABASE_URL, or start inside WSL.',
    );
  }
  const dataDir = await prepareFolder(options.dataDir);
  const ownership = await ownFolder(dataDir);
  try {
    const account = await serverAccount(clusterDirOf(dataDir));
    const server = await serve(dataDir, account, options);
    let stopping: Promise<void> | null = null;
    const stopAll = async (): Promise<void> => {
      try {
        await server.stop();
      } finally {
        await ownership.release();
      }
    };
    const stop = (): Promise<void> => {
      stopping ??= stopAll();
      return stopping;
    };
    return { url: server.url, pid: server.pid, stop };
  } catch (error) {
    await ownership.release();
    throw error;
  }
}

async function serve(dataDir: string, account: Account | null, options: EmbeddedPostgresOptions) {
  const binaries = options.binaries ?? (await embeddedBinaries(account));
  await stopOrphans(clusterDirOf(dataDir));
  const cluster = await ensureCluster(dataDir, binaries, account);
  return startServer({ binaries, account, cluster, log: options.log ?? (() => undefined) });
}

async function prepareFolder(wanted: string): Promise<string> {
  const path = resolve(wanted);
  // Started by root, the server's account must get through to its own folder inside.
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700;
  try {
    await mkdir(path, { recursive: true, mode });
    await access(path, constants.W_OK | constants.X_OK);
    return await realpath(path);
  } catch (cause) {
    throw new TurnwrightError(
      'config_invalid',
      `The data folder ${path} cannot be made or written (${cause instanceof Error ? cause.message : String(cause)}). Choose another with TURNWRIGHT_DATA_DIR.`,
      { cause },
    );
  }
}
