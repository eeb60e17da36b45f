import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type ConfigInput, loadConfig } from '../../../src/app/config.ts';
import { PROVIDER_KINDS } from '../../../src/providers/contract.ts';
import { createProvider } from '../../../src/providers/index.ts';

const folders: string[] = [];
afterEach(() => Promise.all(folders.splice(0).map((made) => rm(made, { recursive: true, force: true }))));

async function load(input: ConfigInput) {
  const cwd = await mkdtemp(join(tmpdir(), 'turnwright-config-'));
  folders.push(cwd);
  await writeFile(join(cwd, 'turnwright.config.mjs'), `export default ${JSON.stringify(input)};`);
  return loadConfig({ env: {}, cwd });
}

const legs = (provider: (typeof PROVIDER_KINDS)[number]) => [
  { name: 'near', provider, model: 'a-model', baseUrl: 'http://127.0.0.1:1/v1' },
];

describe('the leg of embeddings', () => {
  it('PLN-07 is none unless it is named', async () => {
    expect(await load({ legs: legs('openai') })).not.toHaveProperty('embeddings');
    expect(await load({ legs: legs('openai'), embeddings: { leg: 'near' } })).toMatchObject({
      embeddings: { leg: 'near' },
    });
  });

  it('PLN-07 has to be configured', async () => {
    await expect(load({ legs: legs('openai'), embeddings: { leg: 'nearr' } })).rejects.toThrow(
      /embeddings\.leg names the leg "nearr", which is not configured; .*near/,
    );
  });

  it.each(PROVIDER_KINDS)(
    'PLN-07 is refused exactly where its provider has no embeddings (%s)',
    async (provider) => {
      const loaded = load({ legs: legs(provider), embeddings: { leg: 'near' } });
      const { embed } = createProvider(
        { name: 'near', provider, model: 'm', baseUrl: 'http://127.0.0.1:1/v1', timeoutMs: 1 },
        () => 'key',
      );
      if (embed === null)
        await expect(loaded).rejects.toThrow(/which has no embeddings; allowed is a leg of /);
      else expect(await loaded).toMatchObject({ embeddings: { leg: 'near' } });
    },
  );
});
