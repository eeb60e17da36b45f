import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readFolder } from '../../../src/cli/demo/folder.ts';
import { readTurnsFile } from '../../../src/cli/demo/turns-file.ts';
import { dataFolderCheck } from '../../../src/cli/doctor/machine.ts';
import { keyFilePath, readKeyFile, writeKeyFile } from '../../../src/cli/key-file.ts';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnwright-cli-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe('the key file', () => {
  it('comes back as it was written, and is its owner’s alone, even over one that was not', async () => {
    await writeFile(keyFilePath(folder), 'old');
    await chmod(keyFilePath(folder), 0o644);
    const file = { url: 'http://127.0.0.1:4080', key: 'tw_secret' };
    await writeKeyFile(folder, file);
    expect(await readKeyFile(folder)).toEqual(file);
    expect((await stat(keyFilePath(folder))).mode & 0o777).toBe(0o600);
  });

  it('is none when it is missing or was not written by us', async () => {
    expect(await readKeyFile(folder)).toBeNull();
    await writeFile(keyFilePath(folder), '{"key": 1}');
    expect(await readKeyFile(folder)).toBeNull();
  });
});

describe('a file of turns', () => {
  it('is one input a line, empty lines left out', async () => {
    await writeFile(join(folder, 't.jsonl'), '{"input": "one"}\n\n{"input":"two"}\r\n');
    expect(await readTurnsFile('t.jsonl', folder)).toEqual(['one', 'two']);
  });

  it.each([
    ['{"input": "one"}\n{"input": }\n', /line 2 of t\.jsonl is no JSON/],
    ['{"input": "one"}\n\n{"text": "two"}\n', /line 3 of t\.jsonl is no turn/],
    ['{"input": "  "}', /line 1 of t\.jsonl is no turn \(input: a text that is not blank\)/],
    ['{"input": 1}', /line 1 of t\.jsonl is no turn/],
    ['["one"]', /line 1 of t\.jsonl is no turn/],
    ['\n\n', /holds no turn/],
  ])('%j is refused with its line', async (content, message) => {
    await writeFile(join(folder, 't.jsonl'), content);
    await expect(readTurnsFile('t.jsonl', folder)).rejects.toThrow(message);
  });

  it('that is not there is named', async () => {
    await expect(readTurnsFile('none.jsonl', folder)).rejects.toThrow(/none\.jsonl cannot be read/);
  });
});

describe('the folder of the demo', () => {
  it('gives text files near its top and leaves out what is no text, hidden, generated or a program’s', async () => {
    await mkdir(join(folder, 'src', 'deep'), { recursive: true });
    await mkdir(join(folder, 'node_modules'));
    await writeFile(join(folder, 'a.md'), '# A');
    await writeFile(join(folder, 'src', 'b.ts'), 'export {}');
    await writeFile(join(folder, 'src', 'deep', 'c.ts'), 'export {}');
    await writeFile(join(folder, 'node_modules', 'd.js'), 'x');
    await writeFile(join(folder, '.env'), 'SECRET=1');
    await writeFile(join(folder, 'package-lock.json'), '{}');
    await writeFile(join(folder, 'e.bin'), Buffer.from([0, 1, 2]));
    await writeFile(join(folder, 'f.txt'), Buffer.from([0xff, 0xfe, 0x41]));
    const found = await readFolder(folder);
    expect(found.files.map(({ path }) => path)).toEqual(['a.md', 'src/b.ts']);
    expect(found.isLarge).toBe(false);
  });
});

describe('the data folder', () => {
  it('is looked at without being made', async () => {
    const wanted = join(folder, 'not', 'there');
    expect(await dataFolderCheck(wanted)).toMatchObject({ finding: 'ok', detail: `${wanted} can be made` });
    await expect(stat(join(folder, 'not'))).rejects.toThrow();
    await writeFile(join(folder, 'file'), '');
    expect((await dataFolderCheck(join(folder, 'file'))).finding).toBe('fail');
  });
});
