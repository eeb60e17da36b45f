import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TurnwrightError } from '../../../src/ledger/errors.ts';
import { activateSkillTool, loadSkills, NO_SKILLS, type SkillSet } from '../../../src/tools/skills/index.ts';
import { readSkill } from '../../../src/tools/skills/read-skill.ts';
import { folderOf } from './folder.ts';

const HANG_MS = 5_000;
const skill = (name: string, body = 'Do it well.', description = 'Does it.'): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`;

function refusal(dirs: readonly string[]): string {
  try {
    loadSkills(dirs);
  } catch (error) {
    if (error instanceof TurnwrightError && error.code === 'config_invalid') return error.message;
    throw error;
  }
  return 'no refusal';
}

describe('skills', () => {
  it('SUR-02 are the folders with a SKILL.md, listed by name with one line each; bodies come on demand', () => {
    const root = folderOf({
      'b/SKILL.md':
        '\uFEFF---\r\nname: tide-tables\r\ndescription: >\r\n  Reads\r\n  tables.\r\nlicense: any\r\n---\r\n# Tides\r\n---\r\nLook.\r\n',
      'a/SKILL.md': skill('berths'),
      'a/notes.md': 'not a skill',
      'c/readme.md': 'no skill either',
      'SKILL.md': skill('not-in-a-folder'),
    });
    const skills = loadSkills([root]);
    expect(skills.all).toEqual([
      { name: 'berths', description: 'Does it.' },
      { name: 'tide-tables', description: 'Reads tables.' },
    ]);
    expect(skills.body('tide-tables')).toBe('# Tides\n---\nLook.');
    expect(skills.body('constructor')).toBe(null);
    expect(loadSkills([])).toBe(NO_SKILLS);
    expect(NO_SKILLS.body('berths')).toBe(null);
  });

  it('SUR-02 come from several folders; one name twice is refused with both files', () => {
    const one = folderOf({ 'a/SKILL.md': skill('berths') });
    const two = folderOf({ 'x/SKILL.md': skill('berths'), 'y/SKILL.md': skill('cranes') });
    expect(refusal([one, two])).toBe(
      `${two}/x/SKILL.md: the name "berths" is taken by ${one}/a/SKILL.md; rename one of them.`,
    );
    expect(loadSkills([one, one]).all).toHaveLength(1);
  });

  const wrong: [string, string, RegExp][] = [
    ['no head', 'Just words.', /must begin with name and description between two lines of "---"/],
    ['an open head', '---\nname: a\n', /must begin with name and description/],
    ['a head that is no YAML', '---\nname: "a\n---\nx', /its head is no YAML: Missing closing/],
    ['a head that is a list', '---\n- a\n---\nx', /its head is no list of keys and values/],
    ['aliases', '---\na: &x [1]\nname: *x\n---\nx', /its head is no YAML: Alias/],
    ['an empty head', '---\n---\nx', /name is wrong: found nothing; allowed is 1 to 64 small letters/],
    ['a wrong name', skill('Tide Tables'), /name is wrong: found "Tide Tables"/],
    ['a name with an edge hyphen', skill('a-'), /name is wrong/],
    ['a name too long', skill('a'.repeat(65)), /name is wrong/],
    ['no description', skill('a', 'x', '""'), /description is wrong: found nothing/],
    [
      'a long description',
      skill('a', 'x', 'd'.repeat(1_025)),
      /description is wrong: found a text of 1025 characters; allowed is a text of at most 1024/,
    ],
    ['no instructions', skill('a', '  '), /has no instructions after its head/],
    ['too many bytes', skill('a', 'é'.repeat(40_000)), /it has \d+ bytes; allowed are at most 65536/],
  ];
  it.each(wrong)('SUR-02 are refused with the file named for %s', (_, text, message) => {
    const root = folderOf({ 'a/SKILL.md': text, 'good/SKILL.md': skill('good') });
    const told = refusal([root]);
    expect(told).toMatch(message);
    for (const line of told.split('\n')) expect(line.startsWith(`${root}/a/SKILL.md: `)).toBe(true);
  });

  it('SUR-02 may stand behind links inside their folder, never behind one that leads out', () => {
    const outside = folderOf({ 'a/SKILL.md': skill('secrets') });
    const root = folderOf({ 'real/SKILL.md': skill('berths'), 'file/x': '' });
    symlinkSync('real', join(root, 'linked'));
    expect(refusal([root])).toMatch(/linked|real/);
    const good = folderOf({ '.kept/berths/SKILL.md': skill('berths') });
    symlinkSync('.kept/berths', join(good, 'linked'));
    expect(loadSkills([good]).all.map(({ name }) => name)).toEqual(['berths']);
    const stray = folderOf({ 'x/y': '' });
    symlinkSync(join(outside, 'a'), join(stray, 'linked'));
    symlinkSync(join(outside, 'a/SKILL.md'), join(stray, 'x/SKILL.md'));
    const told = refusal([stray]).split('\n');
    expect(told).toHaveLength(2);
    for (const line of told)
      expect(line).toMatch(/leads, through a symbolic link, outside the folder of skills/);
    expect(told.join()).not.toContain('secrets');
  });

  it('SUR-02 are refused where the folder is missing or the file is a folder or no UTF-8', () => {
    const root = folderOf({ 'b/SKILL.md': Buffer.from([0x2d, 0xff, 0xfe]) });
    mkdirSync(join(root, 'a/SKILL.md'), { recursive: true });
    expect(refusal([root])).toMatch(
      /a\/SKILL\.md: it is no regular file\.\n.*b\/SKILL\.md: it cannot be read/,
    );
    expect(refusal([join(root, 'nowhere')])).toMatch(
      /skills\.dirs: the folder .*nowhere cannot be read \(ENOENT\)/,
    );
  });

  it('SUR-02 are read in a moment, however hostile the text', () => {
    const startedMs = performance.now();
    for (const line of ['---\n', '\r\n', 'a: [', '  \t', '- ']) readSkill(`---\n${line.repeat(20_000)}`);
    for (const text of ['-', ' ', '\n'])
      readSkill(`---\nname: a\ndescription: b\n---\n${text.repeat(2_000_000)}`);
    expect(performance.now() - startedMs).toBeLessThan(HANG_MS);
  });
});

describe('activate_skill', () => {
  const skills: SkillSet = {
    all: [{ name: 'berths', description: 'Does it.' }],
    body: (name) => (name === 'berths' ? 'Do it well.' : null),
  };

  it('SUR-02 is always at hand, answered in place, and safe to repeat', () => {
    const tool = activateSkillTool(skills);
    expect(tool).toMatchObject({
      name: 'activate_skill',
      alwaysLoaded: true,
      inHop: true,
      effect: 'idempotent',
    });
    expect(tool.traitsOf({ name: 'berths' })).toEqual({
      effect: 'idempotent',
      observes: false,
      retrieves: false,
    });
  });

  it('SUR-02 takes the name of a skill, and says which there are for any other', () => {
    const tool = activateSkillTool(skills);
    expect(tool.parse({ name: 'berths' })).toEqual({ ok: true, args: { name: 'berths' } });
    expect(tool.parse({ name: 'Berths ' })).toEqual({
      ok: false,
      message: 'There is no skill "Berths ". Did you mean berths? There are: berths.',
    });
    expect(tool.parse({})).toMatchObject({ ok: false });
    expect(activateSkillTool(NO_SKILLS).parse({ name: 'x' })).toMatchObject({
      message: 'There is no skill "x". There are none; go on without.',
    });
  });
});
