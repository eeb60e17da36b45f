import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { builtinTools } from '../../../src/tools/builtins/index.ts';
import type { Tool } from '../../../src/tools/contract.ts';
import { leadsInside, openFolder } from '../../../src/tools/files/confined.ts';
import { contextIn, folderOf, textOf } from './folder.ts';

const SECRET = 'the-secret-text';

/** Swaps a folder in the tree between itself and a link to another, until told to stop. */
const SWAPPER = `
const { parentPort, workerData } = require('node:worker_threads');
const { renameSync } = require('node:fs');
const { folder, link, aside } = workerData;
let swaps = 0;
function swap() {
  for (let n = 0; n < 50; n += 1) {
    renameSync(folder, aside); renameSync(link, folder);
    renameSync(folder, link); renameSync(aside, folder);
    swaps += 1;
  }
  setImmediate(swap);
}
parentPort.postMessage('swapping');
swap();
`;

function tool(name: string): Tool {
  const found = builtinTools().find((one) => one.name === name);
  if (found === undefined) throw new Error(`no tool ${name}`);
  return found;
}

/** A folder beside a secret, with every kind of link that leads out of it. */
function treeWithLinks(): { readonly root: string; readonly outside: string } {
  const parent = folderOf({
    'outside/secret.txt': SECRET,
    'outside/deep/secret.txt': SECRET,
    'root/inside.txt': 'inside text',
    'root/src/a.txt': 'a text',
    'root-twin/secret.txt': SECRET,
  });
  const [root, outside] = [join(parent, 'root'), join(parent, 'outside')];
  symlinkSync(join(outside, 'secret.txt'), join(root, 'file-link'));
  symlinkSync('../outside', join(root, 'dir-link'));
  symlinkSync('../../outside/deep', join(root, 'src/deep-link'));
  symlinkSync('dir-link', join(root, 'link-to-link'));
  symlinkSync('src', join(root, 'inner-link'));
  symlinkSync('nowhere', join(root, 'dangling'));
  symlinkSync(join(outside, 'missing.txt'), join(root, 'dangling-out'));
  symlinkSync('loop', join(root, 'loop'));
  return { root, outside };
}

describe('the folder of the file tools', () => {
  it('refuses every way out, by the same words whether or not there is a file', async () => {
    const { root, outside } = treeWithLinks();
    const context = contextIn(root);
    for (const path of [
      '../outside/secret.txt',
      '../outside/none',
      join(outside, 'secret.txt'),
      '/etc/passwd',
      '..',
      '../root-twin/secret.txt',
    ]) {
      const text = await textOf(tool('read'), { path }, context);
      expect(text).toBe(
        `error: ${path} is outside the folder; give a path relative to it, such as "src/main.ts".`,
      );
    }
    for (const path of [
      'file-link',
      'dangling',
      'dangling-out',
      'dir-link/secret.txt',
      'dir-link/none',
      'dir-link',
      'link-to-link/deep/secret.txt',
      'src/deep-link/secret.txt',
    ]) {
      const text = await textOf(tool('read'), { path }, context);
      expect(text).toBe(`error: ${path} leads, through a symbolic link, outside the folder or nowhere.`);
    }
    expect(await textOf(tool('read'), { path: 'a\0/../../x' }, context)).toContain('holds a NUL byte');
    expect(await textOf(tool('read'), { path: 'loop' }, context)).toMatch(/^error: loop leads/);
  });

  it('follows a link that stays inside, and takes an absolute path that lies inside', async () => {
    const { root } = treeWithLinks();
    const context = contextIn(root);
    expect(await textOf(tool('read'), { path: 'inner-link/a.txt' }, context)).toBe('a text');
    expect(await textOf(tool('read'), { path: join(root, 'src/a.txt') }, context)).toBe('a text');
    expect(await textOf(tool('read'), { path: 'src/../inside.txt' }, context)).toBe('inside text');
  });

  it('works in a folder that is itself reached through a link', async () => {
    const { root } = treeWithLinks();
    const link = `${root}-link`;
    symlinkSync(root, link);
    expect(await textOf(tool('read'), { path: 'inside.txt' }, contextIn(link))).toBe('inside text');
    expect(await textOf(tool('glob'), { pattern: '*.txt' }, contextIn(link))).toBe('inside.txt');
    expect(await textOf(tool('read'), { path: '../outside/secret.txt' }, contextIn(link))).toContain(
      'outside',
    );
  });

  it('never shows a file outside for any path or pattern', async () => {
    const { root } = treeWithLinks();
    const context = contextIn(root);
    const names = [
      '..',
      '.',
      '',
      'root',
      'root-twin',
      'outside',
      'secret.txt',
      'deep',
      'src',
      '**',
      '*',
      'file-link',
    ];
    const links = [
      'dir-link',
      'deep-link',
      'link-to-link',
      'inner-link',
      'loop',
      'dangling-out',
      '\0',
      root,
      '/',
    ];
    const path = fc.array(fc.constantFrom(...names, ...links), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(path, async (parts) => {
        const wanted = parts.join('/') || '.';
        const shown = await Promise.all([
          textOf(tool('read'), { path: wanted }, context),
          textOf(tool('glob'), { pattern: wanted }, context),
          textOf(tool('grep'), { pattern: 'secret-text', path: wanted }, context),
          textOf(tool('grep'), { pattern: 'secret-text', glob: wanted }, context),
        ]);
        for (const text of shown) expect(text).not.toContain(SECRET);
        expect(shown[1]).not.toMatch(/^(?!No file).*secret\.txt$/m);
      }),
      { numRuns: 200 },
    );
  });

  it('does not search or list through links', async () => {
    const { root } = treeWithLinks();
    expect(await textOf(tool('glob'), { pattern: '**' }, contextIn(root))).toBe('inside.txt\nsrc/a.txt');
    expect(await textOf(tool('grep'), { pattern: 'text' }, contextIn(root))).toBe(
      'inside.txt:1: inside text\nsrc/a.txt:1: a text',
    );
  });

  it('refuses pipes and sockets without waiting on them', async () => {
    const root = folderOf({ 'a.txt': 'a' });
    execFileSync('mkfifo', [join(root, 'pipe')]);
    const server = createServer().listen(join(root, 'socket'));
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const context = contextIn(root);
    expect(await textOf(tool('read'), { path: 'pipe' }, context)).toBe('error: pipe is a pipe, not a file.');
    expect(await textOf(tool('read'), { path: 'socket' }, context)).toBe(
      'error: socket is a socket, not a file.',
    );
    expect(await textOf(tool('grep'), { pattern: 'a', path: 'pipe' }, context)).toContain('is a pipe');
    expect(await textOf(tool('grep'), { pattern: 'a' }, context)).toBe('a.txt:1: a');
  });

  it('knows a handle that is open on a file outside, whatever its path says', async () => {
    const { root, outside } = treeWithLinks();
    const folder = await openFolder(root);
    const stray = await open(join(outside, 'secret.txt'));
    onTestFinished(() => stray.close());
    const proper = await open(join(root, 'inside.txt'));
    onTestFinished(() => proper.close());
    expect(await leadsInside(folder, proper, join(root, 'inside.txt'))).toBe(true);
    expect(await leadsInside(folder, stray, join(root, 'inside.txt'))).toBe(false);
    expect(await leadsInside(folder, stray, join(outside, 'secret.txt'))).toBe(false);
  });

  it('shows nothing from outside while a folder is exchanged for a link under it', async () => {
    const parent = folderOf({ 'root/dir/file.txt': 'inside text', 'outside/file.txt': SECRET });
    const root = join(parent, 'root');
    symlinkSync(join(parent, 'outside'), join(root, 'link'));
    const workerData = { folder: join(root, 'dir'), link: join(root, 'link'), aside: join(root, 'aside') };
    const swapper = new Worker(SWAPPER, { eval: true, workerData });
    onTestFinished(async () => void (await swapper.terminate()));
    await once(swapper, 'message');
    const context = contextIn(root);
    const seen = new Set<string>();
    for (let round = 0; round < 300; round += 1) {
      seen.add(await textOf(tool('read'), { path: 'dir/file.txt' }, context));
      seen.add(await textOf(tool('grep'), { pattern: 'text' }, context));
    }
    expect([...seen].filter((text) => text.includes(SECRET))).toEqual([]);
    expect(seen).toContain('inside text');
  });

  it('explains a missing file, a file used as a folder, and an endless name', async () => {
    const root = folderOf({ 'a.txt': 'a' });
    mkdirSync(join(root, 'sub'));
    writeFileSync(join(root, 'sub/b.txt'), 'b');
    renameSync(join(root, 'sub/b.txt'), join(root, 'sub/c.txt'));
    const context = contextIn(root);
    expect(await textOf(tool('read'), { path: 'sub/b.txt' }, context)).toBe(
      'error: sub/b.txt does not exist; use glob to see which files do.',
    );
    expect(await textOf(tool('read'), { path: 'a.txt/b' }, context)).toContain('a part of it is a file');
    expect(await textOf(tool('read'), { path: 'n'.repeat(5_000) }, context)).toMatch(
      /^error: n{200}… is too long/,
    );
  });

  it('says that the folder is missing without naming it', async () => {
    const root = folderOf({});
    const text = await textOf(tool('read'), { path: 'a' }, contextIn(join(root, 'gone')));
    expect(text).toMatch(/^error: read failed: ENOENT/);
    expect(text).not.toContain(root);
  });
});
