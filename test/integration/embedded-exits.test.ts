import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { processIdentity } from '../../src/app/embedded/processes.ts';
import {
  type OwnerBehaviour,
  type OwnerProcess,
  startOwner,
  temporaryDataDir,
} from '../support/embedded-folder.ts';

/** The watchdog stops the server at once; the bound is for a busy machine. */
const GONE_LIMIT_MS = 20_000;

describe('when the process that owns an embedded server ends', () => {
  let dataDir: string;
  let remove: () => Promise<void>;
  let owner: OwnerProcess | null = null;

  // One folder for all: each test then also starts over what the one before it left.
  beforeAll(async () => {
    ({ dataDir, remove } = await temporaryDataDir());
  });
  afterEach(async () => {
    owner?.kill('SIGKILL');
    await owner?.ended;
    owner = null;
  });
  afterAll(() => remove());

  const isGone = async (pid: number): Promise<boolean> => (await processIdentity(pid)) === null;

  const ways: readonly [string, OwnerBehaviour][] = [
    ['by finishing its work', 'end'],
    ['by process.exit', 'exit'],
    ['by an exception nobody caught', 'crash'],
  ];
  it.each(ways)('%s, the server ends too', async (_, behaviour) => {
    owner = await startOwner(dataDir, behaviour);
    await owner.ended;
    const { serverPid } = owner;
    await expect.poll(() => isGone(serverPid), { timeout: GONE_LIMIT_MS }).toBe(true);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const)(
    'by %s, the server ends too',
    async (signal) => {
      owner = await startOwner(dataDir, 'wait');
      const { serverPid } = owner;
      expect(await isGone(serverPid)).toBe(false);
      owner.kill(signal);
      await owner.ended;
      await expect.poll(() => isGone(serverPid), { timeout: GONE_LIMIT_MS }).toBe(true);
    },
  );
});
