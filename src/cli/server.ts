/** The server that `turn`, `session` and `chat` speak to, and the key they show it. */
import { loadConfig } from '../app/config.ts';
import { Turnwright } from '../client/index.ts';
import type { CliContext } from './context.ts';
import { UsageError } from './exit.ts';
import { keyFilePath, readKeyFile } from './key-file.ts';

const DEFAULT_URL = 'http://127.0.0.1:4080';

/**
 * TURNWRIGHT_URL and TURNWRIGHT_KEY; what is missing comes from the file that `up` left in the data folder.
 *
 * @throws UsageError when there is no key, or the URL is none.
 */
export async function connect({ env, cwd }: CliContext): Promise<Turnwright> {
  const url = given(env.TURNWRIGHT_URL);
  const key = given(env.TURNWRIGHT_KEY);
  if (url !== undefined && key !== undefined) return client(url, key);
  const { dataDir } = await loadConfig({ env, cwd });
  const file = await readKeyFile(dataDir);
  // A key of this folder's server is no business of another server.
  const fileKey = url === undefined || url === file?.url ? file?.key : undefined;
  const found = key ?? fileKey;
  if (found === undefined) {
    throw new UsageError(
      `There is no API key: TURNWRIGHT_KEY is not set, and ${keyFilePath(dataDir)} holds none for this server. Start one here with \`turnwright up\`, or set TURNWRIGHT_KEY.`,
    );
  }
  return client(url ?? file?.url ?? DEFAULT_URL, found);
}

function client(url: string, key: string): Turnwright {
  try {
    return new Turnwright({ url, key });
  } catch (error) {
    throw new UsageError(`TURNWRIGHT_URL: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function given(value: string | undefined): string | undefined {
  const text = value?.trim();
  return text === '' ? undefined : text;
}
