import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onlyObject, runInTerminal } from '../../unit/cli/terminal.ts';
import { type ApiStack, openApiStack } from '../api/api-stack.ts';

describe('sessions as files, in a terminal', () => {
  let from: ApiStack;
  let to: ApiStack;
  let cwd = '';
  beforeAll(async () => {
    cwd = await mkdtemp(join(tmpdir(), 'turnwright-checkpoint-'));
    [from, to] = await Promise.all([
      openApiStack({ backend: 'postgres' }),
      openApiStack({ backend: 'redis' }),
    ]);
    await from.stack.worker();
  });
  afterAll(async () => {
    await Promise.all([from.close(), to.close()]);
    await rm(cwd, { recursive: true, force: true });
  });

  const say = (api: ApiStack, ...words: readonly string[]) =>
    runInTerminal(words, { cwd, env: { TURNWRIGHT_URL: api.url, TURNWRIGHT_KEY: api.key } });
  const ended = async () => {
    const id = await from.session();
    await from.closed(await from.turn(id, { input: 'My word is heron.' }));
    return id;
  };

  it('HED-02 session export writes a file, and session import takes it in elsewhere and prints the id', async () => {
    const id = await ended();
    const wrote = await say(from, 'session', 'export', id, 'heron.jsonl');
    const text = await readFile(join(cwd, 'heron.jsonl'), 'utf8');
    expect(wrote).toMatchObject({
      exit: 0,
      stderr: '',
      stdout: `${Buffer.byteLength(text)} bytes stand in heron.jsonl.\n`,
    });
    expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({
      type: 'checkpoint',
      form: 'deep',
      session: id,
    });
    expect(await say(to, 'session', 'import', 'heron.jsonl')).toMatchObject({
      exit: 0,
      stderr: '',
      stdout: `${id}\n`,
    });
    expect((await say(to, 'session', 'verify', id)).exit).toBe(0);
    const shown = onlyObject((await say(to, 'session', 'show', id, '--json')).stdout);
    expect(shown).toMatchObject({ session: { id, turns: 1 } });
  });

  it('HED-02 a session that cannot be exported leaves no file', async () => {
    const none = '01890000-0000-7000-8000-00000000dead';
    const refused = await say(from, 'session', 'export', none, 'none.jsonl');
    expect([refused.exit === 0, refused.stdout]).toEqual([false, '']);
    expect(refused.stderr).toContain('session_not_found');
    expect(await readdir(cwd)).not.toContain('none.jsonl');
    const nowhere = await say(from, 'session', 'export', await ended(), join('no', 'such', 'folder.jsonl'));
    expect([nowhere.exit === 0, nowhere.stderr]).toEqual([false, expect.stringContaining('cannot be used')]);
  });

  it('HED-02 a file that is not there, or was cut off, is refused by name', async () => {
    const missing = await say(to, 'session', 'import', 'nothing.jsonl');
    expect([missing.exit === 0, missing.stderr]).toEqual([false, expect.stringContaining('nothing.jsonl')]);
    const id = await ended();
    await say(from, 'session', 'export', id, 'whole.jsonl');
    const text = await readFile(join(cwd, 'whole.jsonl'), 'utf8');
    await writeFile(join(cwd, 'half.jsonl'), text.slice(0, text.length / 2));
    const half = await say(to, 'session', 'import', 'half.jsonl');
    expect([half.exit === 0, half.stderr]).toEqual([false, expect.stringContaining('checkpoint_refused')]);
    expect((await say(to, 'session', 'show', id)).stderr).toContain('session_not_found');
  });
});
