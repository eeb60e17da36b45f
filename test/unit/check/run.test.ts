import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { type Check, commandCheck, runChecks } from '../../../tools/check/run.ts';

const node = (name: string, script: string) => commandCheck(name, tmpdir(), [process.execPath, '-e', script]);
const ignore = (): void => undefined;

describe('running the checks', () => {
  it('runs all of them whichever fails, and keeps what each said in their order', async () => {
    const checks = [
      node('first', "console.log('out'); console.error('err'); process.exit(3)"),
      node('second', "console.log('fine')"),
    ];
    const results = await runChecks(checks, 2, ignore);
    expect(results.map(({ name, ok }) => [name, ok])).toEqual([
      ['first', false],
      ['second', true],
    ]);
    expect(results[0]?.output).toContain('out');
    expect(results[0]?.output).toContain('err');
  });

  it('fails a program that cannot be started, and says what to do', async () => {
    const [result] = await runChecks([commandCheck('none', tmpdir(), ['/no/such/program'])], 1, ignore);
    expect(result).toMatchObject({ ok: false, output: expect.stringMatching(/cannot be started.*npm ci/) });
  });

  it('fails a program that a signal ended', async () => {
    const [result] = await runChecks([node('killed', "process.kill(process.pid, 'SIGKILL')")], 1, ignore);
    expect(result).toMatchObject({ ok: false, output: expect.stringContaining('SIGKILL') });
  });

  it('fails a check that throws', async () => {
    const broken: Check = { name: 'broken', run: () => Promise.reject(new Error('no such folder')) };
    const [result] = await runChecks([broken], 1, ignore);
    expect(result).toMatchObject({ ok: false, output: expect.stringContaining('no such folder') });
  });

  it('runs no more at a time than it was told, and tells each result once', async () => {
    let running = 0;
    let most = 0;
    const check = (name: string): Check => ({
      name,
      run: async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => setImmediate(resolve));
        running -= 1;
        return { ok: true, output: '' };
      },
    });
    const told: string[] = [];
    await runChecks(['a', 'b', 'c', 'd', 'e'].map(check), 2, ({ name }) => told.push(name));
    expect(most).toBe(2);
    expect(told.sort()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});
