import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BACKENDS } from '../../support/stack.ts';
import { onlyObject, runInTerminal } from '../../unit/cli/terminal.ts';
import { type ApiStack, openApiStack } from '../api/api-stack.ts';

const UUID = /^[0-9a-f-]{36}\n$/u;

describe.each(BACKENDS)('sessions that go on from others, in a terminal, on %s', (backend) => {
  let api: ApiStack;
  let cwd = '';
  beforeAll(async () => {
    cwd = await mkdtemp(join(tmpdir(), 'turnwright-lineage-'));
    api = await openApiStack({ backend });
    await api.stack.worker();
  });
  afterAll(async () => {
    await api.close();
    await rm(cwd, { recursive: true, force: true });
  });

  const say = (...words: readonly string[]) =>
    runInTerminal(words, { cwd, env: { TURNWRIGHT_URL: api.url, TURNWRIGHT_KEY: api.key } });
  const json = async (...words: readonly string[]) => {
    const { exit, stdout } = await say(...words, '--json');
    return { exit, value: onlyObject(stdout) };
  };
  const created = async (...words: readonly string[]) => {
    const { exit, stdout, stderr } = await say('session', 'create', '--leg', 'sim-large', ...words);
    expect([exit, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(UUID);
    return stdout.trim();
  };
  const ask = async (session: string, input: string) => api.closed(await api.turn(session, { input }));

  it('LIN-01 session fork prints the id of a session that goes on, with a policy and a text of its own', async () => {
    const parent = await created();
    await ask(parent, 'My word is heron.');
    const forked = await say('session', 'fork', parent);
    expect([forked.exit, forked.stderr]).toEqual([0, '']);
    expect(forked.stdout).toMatch(UUID);
    const child = forked.stdout.trim();
    expect((await say('session', 'show', child)).stdout).toContain(`forked   from ${parent}\n`);
    expect(await ask(child, 'Good morning.')).toMatchObject({ number: 2, outcome: 'completed' });
    const told = await json('session', 'fork', child, '--policy', 'evict', '--system', 'Be brief.');
    expect(told).toMatchObject({
      exit: 0,
      value: { session: { forked_from: child, policy: { name: 'evict', options: {} }, turns: 2 } },
    });
    expect((await say('session', 'show', parent)).stdout).not.toContain('forked');
  });

  it('LIN-02 session clear says what came of it', async () => {
    const session = await created();
    expect(await say('session', 'clear', session)).toMatchObject({
      exit: 0,
      stdout: 'There was nothing to clear.\n',
    });
    await ask(session, 'My word is heron.');
    expect((await say('session', 'clear', session)).stdout).toBe(
      'Nothing of before is carried any more; its records stay.\n',
    );
    await ask(session, 'Good morning.');
    expect(await json('session', 'clear', session)).toEqual({
      exit: 0,
      value: { session, cleared: true, cancelled: [] },
    });
    expect((await say('session', 'recall', session, '--query', 'heron')).stdout).toContain('No turn');
  });

  it('LIN-04 session create begins with a file of messages, or goes on from a session', async () => {
    const lines = [
      { role: 'user', text: 'My word is heron.' },
      { role: 'assistant', text: 'Heron it is.' },
    ].map((message) => JSON.stringify(message));
    await writeFile(join(cwd, 'past.jsonl'), `${lines.join('\n\n')}\n`);
    const session = await created('--history', 'past.jsonl', '--policy', 'evict');
    expect((await say('session', 'recall', session, '--turn', '1')).stdout).toContain('Heron it is.');
    expect(await ask(session, 'Good morning.')).toMatchObject({ number: 2, outcome: 'completed' });
    expect((await say('session', 'verify', session)).exit).toBe(0);
    const child = await created('--fork-of', session);
    expect((await say('session', 'show', child)).stdout).toMatch(/policy {3}evict\nforked {3}from /u);
  });

  it.each([
    ['{"role": "user", "text": "a"}\n{"role": "user"', /line 2 of bad\.jsonl is no JSON/],
    ['{"role": "tool", "text": "a"}', /line 1 of bad\.jsonl is no message \(role: user or assistant\)/],
    [
      '{"role": "user", "text": " "}',
      /line 1 of bad\.jsonl is no message \(text: a text that is not blank\)/,
    ],
    ['\n', /bad\.jsonl holds no message; write \{"role": "user", "text": "…"\}, one a line/],
  ])(
    'LIN-04 a file that holds %j is refused with its line, and nothing is sent',
    async (content, message) => {
      await writeFile(join(cwd, 'bad.jsonl'), content);
      const run = await say('session', 'create', '--history', 'bad.jsonl');
      expect([run.exit, run.stdout]).toEqual([2, '']);
      expect(run.stderr).toMatch(message);
      expect((await say('session', 'create', '--history', 'none.jsonl')).stderr).toContain('cannot be read');
    },
  );

  it('LIN-01 names the policies there are, and a session that is not there', async () => {
    const parent = await created();
    const policy = await say('session', 'fork', parent, '--policy', 'fold');
    expect([policy.exit, policy.stdout]).toEqual([2, '']);
    expect(policy.stderr).toContain('--policy is "fold"; allowed is plan, evict.');
    for (const command of ['fork', 'clear'])
      expect(await json('session', command, '01890000-0000-7000-8000-000000000001')).toMatchObject({
        exit: 1,
        value: { error: { code: 'session_not_found' } },
      });
  });
});
