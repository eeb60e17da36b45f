import { mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onlyObject, runInTerminal } from '../../unit/cli/terminal.ts';
import { cli, processesIn, type RunningCli, serve } from './cli-process.ts';

const START_MS = 120_000;

let cwd = '';
let up: RunningCli;

beforeAll(async () => {
  cwd = await realpath(await mkdtemp(join(tmpdir(), 'turnwright-up-')));
  await writeFile(join(cwd, 'notes.md'), '# Notes\n\n## Harbour\n\nThe harbour opens at seven.\n');
  up = await serve(['up', '--port', '0'], { cwd });
}, START_MS);

afterAll(async () => {
  up.kill('SIGKILL');
  await rm(cwd, { recursive: true, force: true });
});

async function json(words: readonly string[], stdin?: string) {
  const run = await runInTerminal([...words, '--json'], { cwd, ...(stdin === undefined ? {} : { stdin }) });
  return { exit: run.exit, value: onlyObject(run.stdout) };
}

describe('up', () => {
  it('says where it is, that its replies are simulated, and leaves a key that its owner alone can read', async () => {
    const { ready } = up;
    expect(ready).toMatchObject({
      simulated: true,
      data: join(cwd, '.turnwright'),
      board: `${String(ready.url)}/board`,
    });
    const path = String(ready.key_file);
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ url: ready.url, key: ready.key });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('refuses a second one on the same folder, naming the owner', async () => {
    const second = await json(['up', '--port', '0']);
    expect(second.exit).toBe(1);
    expect(second.value).toMatchObject({
      error: { code: 'data_folder_in_use', details: { ownerPid: up.pid } },
    });
    expect(JSON.stringify(second.value)).toContain(`in use by process ${up.pid}`);
  });

  it(
    'serves sessions and turns to the commands of its folder',
    async () => {
      const created = await json(['session', 'create']);
      const session = created.value.session as { id: string };
      const ran = await json(
        ['turn', 'enqueue', session.id, '--wait'],
        'What does notes.md say about the harbour?',
      );
      expect(ran.exit).toBe(0);
      const turn = ran.value.turn as { id: string; answer: string };
      expect(turn).toMatchObject({ outcome: 'completed', answer: expect.stringContaining('opens at seven') });
      const events = (ran.value.events as { type: string }[]).map((event) => event.type);
      expect(events[0]).toBe('turn.accepted');
      expect(events).toContain('tool.completed');
      expect(events.at(-1)).toBe('turn.completed');

      const shown = await json(['turn', 'show', turn.id]);
      expect(shown.value).toMatchObject({ turn: { id: turn.id, state: 'closed' } });
      const watched = await json(['turn', 'watch', turn.id]);
      expect((watched.value.events as { type: string }[]).map((event) => event.type)).toEqual(events);
      expect(await json(['turn', 'replay', turn.id])).toMatchObject({ exit: 0, value: { matches: true } });
      expect(await json(['session', 'verify', session.id])).toMatchObject({ exit: 0, value: { ok: true } });
      expect(await json(['session', 'show', session.id])).toMatchObject({ value: { session: { turns: 1 } } });
      expect(await json(['turn', 'stuck'])).toEqual({ exit: 0, value: { turns: [] } });
      expect(await json(['turn', 'cancel', turn.id])).toMatchObject({
        exit: 1,
        value: { error: { code: 'turn_closed' } },
      });
      expect(await json(['turn', 'show', 'nothing'])).toMatchObject({
        exit: 1,
        value: { error: { code: 'turn_not_found' } },
      });
    },
    START_MS,
  );

  it(
    'holds a conversation, a line a turn, and streams the answers to standard output',
    async () => {
      const input = 'What does notes.md say about the harbour?\n\nWhen does the harbour open?\n';
      const talked = await cli(['chat'], { cwd, stdin: input });
      expect(talked.exit).toBe(0);
      expect(talked.stdout.match(/opens at seven/g)).toHaveLength(2);
      const asJson = await json(['chat'], input);
      expect(asJson.value.turns).toHaveLength(2);
    },
    START_MS,
  );

  it(
    'lets keys be made and revoked while it runs',
    async () => {
      const made = await json(['keys', 'create', 'reader', '--scopes', 'turns:read']);
      const { key, keyId } = made.value as { key: string; keyId: string };
      const env = { TURNWRIGHT_URL: String(up.ready.url), TURNWRIGHT_KEY: key };
      expect((await runInTerminal(['turn', 'stuck'], { cwd, env })).exit).toBe(0);
      const refused = await runInTerminal(['session', 'create', '--json'], { cwd, env });
      expect(onlyObject(refused.stdout)).toMatchObject({ error: { code: 'forbidden' } });
      expect((await json(['keys', 'list'])).value.keys).toEqual(
        expect.arrayContaining([expect.objectContaining({ keyId, name: 'reader', scopes: ['turns:read'] })]),
      );
      expect(await json(['keys', 'revoke', keyId])).toMatchObject({ exit: 0, value: { revoked: true } });
      expect(await json(['keys', 'revoke', keyId])).toMatchObject({ exit: 1, value: { revoked: false } });
    },
    START_MS,
  );

  it('is found healthy by doctor', async () => {
    const seen = await json(['doctor']);
    expect(seen.exit).toBe(0);
    const checks = seen.value.checks as { name: string; finding: string }[];
    const finding = (name: string): string | undefined => checks.find((one) => one.name === name)?.finding;
    for (const name of ['postgres', 'fsync', 'synchronous_commit', 'migrations', 'roles', 'clock', 'queue']) {
      expect([name, finding(name)]).toEqual([name, 'ok']);
    }
  });

  it(
    'RUN-12 drains on Ctrl-C and leaves no process behind; the next start knows the key and the sessions',
    async () => {
      expect((await processesIn(cwd)).length).toBeGreaterThan(0);
      const ended = await up.stop('SIGINT');
      expect(ended.exit).toBe(0);
      expect(onlyObject(`${ended.stdout}\n`)).toEqual(up.ready);
      expect(await processesIn(cwd)).toEqual([]);

      const { key } = up.ready;
      up = await serve(['up', '--port', '0'], { cwd });
      expect(up.ready.key).toBe(key);
      const found = await cli(['turn', 'stuck', '--json'], { cwd });
      expect(onlyObject(found.stdout)).toEqual({ turns: [] });
      expect((await up.stop('SIGTERM')).exit).toBe(0);
      expect(await processesIn(cwd)).toEqual([]);
    },
    START_MS,
  );
});
