/** The configuration file of the current folder. */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { tsImport } from 'tsx/esm/api';
import { checkInput, configInvalid } from './refusal.ts';
import type { ConfigInput } from './schema.ts';

const CONFIG_FILE_NAMES = ['turnwright.config.ts', 'turnwright.config.mjs', 'turnwright.config.js'];

/** An absent file is an empty one. */
export async function configFromFile(cwd: string): Promise<ConfigInput> {
  const found = await presentNames(cwd);
  const name = found[0];
  if (name === undefined) return {};
  if (found.length > 1) {
    throw configInvalid([
      `${cwd} holds ${found.join(' and ')}, and only one configuration file may stand there. Keep one and remove the other.`,
    ]);
  }
  const content = await importDefault(join(cwd, name), name);
  return checkInput(content, () => name);
}

async function presentNames(cwd: string): Promise<string[]> {
  const present = await Promise.all(
    CONFIG_FILE_NAMES.map((name) =>
      access(join(cwd, name)).then(
        () => true,
        () => false,
      ),
    ),
  );
  return CONFIG_FILE_NAMES.filter((_, index) => present[index]);
}

async function importDefault(path: string, name: string): Promise<unknown> {
  const url = pathToFileURL(path).href;
  let loaded: unknown;
  try {
    loaded = name.endsWith('.ts') ? await tsImport(url, import.meta.url) : await import(url);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw configInvalid([`${name} cannot be loaded: ${reason}. Correct the file, or remove it.`], cause);
  }
  const content = defaultOf(loaded);
  if (typeof content !== 'object' || content === null) {
    throw configInvalid([
      `${name} exports no configuration: found ${content === undefined ? 'no default export' : `a default export of type ${typeof content}`}; allowed is export default defineConfig({ … }).`,
    ]);
  }
  return content;
}

/** A file of a folder that is no ES module arrives with its exports inside `default`. */
function defaultOf(loaded: unknown): unknown {
  if (typeof loaded !== 'object' || loaded === null || !('default' in loaded)) return undefined;
  const content: unknown = loaded.default;
  const isWrapped =
    typeof content === 'object' && content !== null && '__esModule' in content && 'default' in content;
  return isWrapped ? content.default : content;
}
