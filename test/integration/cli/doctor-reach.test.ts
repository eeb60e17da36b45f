import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { reachChecks } from '../../../src/cli/doctor/reach.ts';
import { SECRET_VARIABLE, stdioHarbour } from '../../support/mcp-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'tw-reach-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const env = {
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '',
  [SECRET_VARIABLE]: 'marker-secret',
};
const signal = new AbortController().signal;

describe('what doctor says of what tools reach', () => {
  it('SUR-02 starts each MCP server once, lists its tools, and stops it', async () => {
    const harbour = stdioHarbour();
    const checks = await reachChecks({ mcp: { servers: { harbour: harbour.settings } } }, env, signal);
    expect(checks).toEqual([
      { name: 'mcp harbour', finding: 'ok', detail: expect.stringMatching(/^lists \d+ tools$/u) as string },
    ]);
    expect(harbour.logged('start')).toHaveLength(1);
  });

  it('SUR-02 says of a server that cannot start what is wrong, without its secrets', async () => {
    const { settings } = stdioHarbour();
    if (settings.endpoint.kind !== 'stdio') throw new Error('a server over stdio was asked for');
    const broken = { ...settings, endpoint: { ...settings.endpoint, command: '/nowhere/at/all' } };
    const [found] = await reachChecks({ mcp: { servers: { broken } } }, env, signal);
    expect(found?.finding).toBe('fail');
    expect(JSON.stringify(found)).not.toContain('marker-secret');
  });

  it('SUR-02 reads the skills, and names a file that is wrong', async () => {
    mkdirSync(join(folder, 'good'));
    writeFileSync(
      join(folder, 'good', 'SKILL.md'),
      '---\nname: good\ndescription: Helps.\n---\nDo it well.\n',
    );
    expect(await reachChecks({ skills: { dirs: [folder] } }, env, signal)).toEqual([
      { name: 'skills', finding: 'ok', detail: '1 skills' },
    ]);
    mkdirSync(join(folder, 'bad'));
    writeFileSync(join(folder, 'bad', 'SKILL.md'), 'no front matter');
    const [found] = await reachChecks({ skills: { dirs: [folder] } }, env, signal);
    expect(found).toMatchObject({ finding: 'fail' });
    expect(found?.detail).toContain('SKILL.md');
    expect(await reachChecks({}, env, signal)).toEqual([]);
  });
});
