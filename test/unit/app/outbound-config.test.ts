import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/app/config.ts';

async function outboundOf(outbound: unknown) {
  const cwd = await mkdtemp(join(tmpdir(), 'turnwright-outbound-'));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  await writeFile(join(cwd, 'turnwright.config.mjs'), `export default ${JSON.stringify({ outbound })};`);
  return (await loadConfig({ env: {}, cwd })).outbound;
}

describe('hosts that requests of tools may reach on a private network', () => {
  it('are none unless named', async () => {
    expect(await outboundOf({})).toEqual({ allow: [] });
  });

  it('are exact hosts, with or without a port', async () => {
    const allow = ['depot.internal', 'localhost:9000', '10.0.0.7', '[fd00::7]:80'];
    expect(await outboundOf({ allow })).toEqual({ allow });
  });

  it.each(['*.internal', 'http://depot', 'depot/path', 'depot:', ''])('cannot be %j', async (host) => {
    await expect(outboundOf({ allow: [host] })).rejects.toThrow(
      /outbound\.allow\[0\] is wrong: .*allowed is an exact host, as host or host:port/u,
    );
  });

  it('cannot be said by another key', async () => {
    await expect(outboundOf({ allowed: [] })).rejects.toThrow(/allowed/u);
  });
});
