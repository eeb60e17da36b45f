import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { profileAnswer } from '../../../src/api/capacity-answers.ts';
import type { Profile } from '../../../src/client/index.ts';
import { metadataProfile } from '../../../src/context/capacity/metadata.ts';
import { onlyObject, runInTerminal } from './terminal.ts';

const BEGUN = { actor: '019c0000-0000-7000-8000-00000000000a', session: '019c', leg: 'near', ladder: true };

type Asked = NonNullable<Profile['probe']['asked']>;

function profile(asked: Asked | null, probedAtMs = 0): Profile {
  const known = metadataProfile({
    operatorWindow: 8_192,
    operatorMaxOutput: null,
    providerWindow: null,
    providerMaxOutput: null,
    catalogueWindow: null,
    catalogueMaxOutput: null,
    metadataDigest: null,
    probedAtMs,
  });
  return profileAnswer('near', known, { state: asked?.over === false ? 'running' : 'idle', asked });
}

const asked = (phase: string, over: boolean, targets: readonly number[] = []): Asked => ({
  phase,
  over,
  rungs: targets.map((target_tokens) => ({
    kind: 'horizon',
    target_tokens,
    verdict: 'followed',
    samples: 2,
    agreed: 2,
  })),
});

let server: Server | null = null;
afterEach(() => {
  server?.close();
  server = null;
});

/** A server that begins a probe, or `refuses`, and shows these profiles one after the other. */
async function probing(shown: readonly Profile[], refuses: string | null = null) {
  const urls: string[] = [];
  let shows = 0;
  const listening = createServer((request, response) => {
    urls.push(`${request.method} ${request.url}`);
    const begun = refuses === null ? { probe: BEGUN } : { probe: null, reason: refuses };
    const last = Math.min(shows, shown.length - 1);
    const answer = request.method === 'POST' ? begun : shown[last];
    if (request.method === 'GET') shows++;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  }).listen(0, '127.0.0.1');
  server = listening;
  await once(listening, 'listening');
  const url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  const env = { TURNWRIGHT_URL: url, TURNWRIGHT_KEY: 'tw_key' };
  return { urls, run: (...words: readonly string[]) => runInTerminal(['probe', 'near', ...words], { env }) };
}

describe('CAP-10 a probe followed in a terminal', () => {
  it('CAP-10 tells each rung once, as it is decided, and ends with the newer profile', async () => {
    const { run, urls } = await probing([
      profile(null),
      profile(asked('climbing', false, [4_000])),
      profile(asked('climbing', false, [4_000, 8_000])),
      profile(asked('done', true, [4_000, 8_000])),
      profile(asked('done', true, [4_000, 8_000]), 1_000),
    ]);
    const { exit, stdout, stderr } = await run();
    expect(exit).toBe(0);
    expect(stderr.split('\n').filter((line) => line.includes('tokens'))).toEqual([
      expect.stringMatching(/^4,000 tokens +followed +2 of 2$/u),
      expect.stringMatching(/^8,000 tokens +followed +2 of 2$/u),
    ]);
    expect(stdout).toContain('declared window');
    expect(urls[2]).toBe(`GET /v1/legs/near/profile?actor=${BEGUN.actor}`);
  });

  it.each([
    ['was interrupted', asked('stopped', true), /interrupted/u],
    ['failed', asked('failed', true), /failed: the provider did not answer/u],
    ['is known to nobody', null, /ended without a result/u],
  ])('CAP-10 fails when the probe %s, and shows what is known', async (_what, end, message) => {
    const { run } = await probing([profile(null), profile(end)]);
    const { exit, stdout, stderr } = await run('--json');
    expect(exit).toBe(1);
    expect(stderr).toMatch(message);
    expect(onlyObject(stdout)).toMatchObject({ probe: BEGUN, profile: { leg: 'near', probed_at: null } });
  });

  it('CAP-10 says why there is nothing to do, and shows what is known', async () => {
    const { run, urls } = await probing([profile(null)], 'It is fresh. Send force.');
    const { exit, stdout, stderr } = await run('--json');
    expect([exit, stderr]).toEqual([0, 'It is fresh. Send force.\n']);
    expect(onlyObject(stdout)).toMatchObject({ probe: null, reason: 'It is fresh. Send force.' });
    expect(urls).toHaveLength(2);
  });

  it('CAP-10 can be stopped while it follows', async () => {
    const stop = new AbortController();
    const { urls } = await probing([profile(asked('climbing', false))]);
    const address = server?.address() as AddressInfo;
    server?.on('request', () => {
      if (urls.length > 3) stop.abort(new Error('stopped'));
    });
    const { exit, stderr } = await runInTerminal(['probe', 'near'], {
      env: { TURNWRIGHT_URL: `http://127.0.0.1:${address.port}`, TURNWRIGHT_KEY: 'tw_key' },
      stopped: stop.signal,
    });
    expect(exit).toBe(1);
    expect(stderr).toContain('(interrupted)');
  });
});
