/** Reads the skills of a deployment, once, when a process starts. */
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { isAbsolute, join, relative, sep } from 'node:path';
import { TurnwrightError } from '../../ledger/errors.ts';
import { NO_SKILLS, type Skill, type SkillSet } from './contract.ts';
import { readSkill } from './read-skill.ts';

const FILE_NAME = 'SKILL.md';
/** A body is sent with every request once it is active; a longer text is a document, not instructions. */
const MAX_FILE_BYTES = 65_536;
/** Opening never waits, as it would on a pipe. */
const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

interface Loaded extends Skill {
  readonly body: string;
  /** As it is named in a problem. */
  readonly file: string;
}

/**
 * Every folder of `dirs` that holds a `SKILL.md` is a skill. Links are followed as long as they stay inside.
 *
 * @throws TurnwrightError `config_invalid` that names each file and what is wrong with it.
 */
export function loadSkills(dirs: readonly string[]): SkillSet {
  if (dirs.length === 0) return NO_SKILLS;
  const problems: string[] = [];
  const loaded = dirs.flatMap((dir) => loadDir(dir, problems));
  const byName = new Map<string, Loaded>();
  for (const skill of loaded) {
    const other = byName.get(skill.name);
    if (other === undefined) byName.set(skill.name, skill);
    else if (other.file !== skill.file) {
      problems.push(`${skill.file}: the name "${skill.name}" is taken by ${other.file}; rename one of them.`);
    }
  }
  if (problems.length > 0) {
    throw new TurnwrightError('config_invalid', problems.join('\n'), { details: { problems } });
  }
  const sorted = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    all: sorted.map(({ name, description }) => ({ name, description })),
    body: (name) => byName.get(name)?.body ?? null,
  };
}

function loadDir(dir: string, problems: string[]): readonly Loaded[] {
  const entries = attempt(() => ({ real: realpathSync(dir), names: readdirSync(dir).sort() }));
  if (!entries.ok) {
    problems.push(`skills.dirs: the folder ${dir} cannot be read (${entries.code}); correct or remove it.`);
    return [];
  }
  return entries.value.names.flatMap((name) => {
    const file = join(dir, name, FILE_NAME);
    const text = readInside(entries.value.real, file);
    if (text.kind === 'absent') return [];
    if (text.kind === 'refused') {
      problems.push(`${file}: ${text.reason}.`);
      return [];
    }
    const read = readSkill(text.text);
    if (read.ok) return [{ ...read.skill, body: read.body, file }];
    problems.push(...read.problems.map((problem) => `${file}: ${problem}.`));
    return [];
  });
}

type Text =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'absent' };

function readInside(realDir: string, file: string): Text {
  const real = attempt(() => realpathSync(file));
  if (!real.ok) return isAbsent(real.code) ? { kind: 'absent' } : refused(`it cannot be read (${real.code})`);
  const inside = relative(realDir, real.value);
  if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) {
    return refused('it leads, through a symbolic link, outside the folder of skills');
  }
  const read = attempt(() => readRegular(real.value));
  return read.ok ? read.value : refused(`it cannot be read (${read.code})`);
}

function readRegular(path: string): Text {
  const descriptor = openSync(path, OPEN_FILE);
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile()) return refused('it is no regular file');
    if (found.size > MAX_FILE_BYTES) {
      return refused(`it has ${found.size} bytes; allowed are at most ${MAX_FILE_BYTES}`);
    }
    const bytes = readFileSync(descriptor);
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } finally {
    closeSync(descriptor);
  }
}

function refused(reason: string): Text {
  return { kind: 'refused', reason };
}

function isAbsent(code: string): boolean {
  return code === 'ENOENT' || code === 'ENOTDIR';
}

type Attempt<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly code: string };

function attempt<Value>(act: () => Value): Attempt<Value> {
  try {
    return { ok: true, value: act() };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return { ok: false, code };
  }
}
