/** One `SKILL.md`: YAML between two lines of `---`, then the instructions. */
import { parse } from 'yaml';
import { z } from 'zod';
import type { Skill } from './contract.ts';

const FENCE = '---';
const MAX_DESCRIPTION_CHARS = 1_024;
const SHOWN_CHARS = 100;

export type ReadSkill =
  | { readonly ok: true; readonly skill: Skill; readonly body: string }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Each description completes "allowed is …". Keys beside these two are left to other programs. */
const head = z.looseObject({
  name: z
    .string()
    .regex(/^[a-z0-9](?:-?[a-z0-9]){0,63}$/)
    .max(64)
    .describe('1 to 64 small letters, digits and single hyphens between them'),
  description: z
    .string()
    .transform((text) => text.trim().replace(/\s+/g, ' '))
    .pipe(z.string().min(1).max(MAX_DESCRIPTION_CHARS))
    .describe(`a text of at most ${MAX_DESCRIPTION_CHARS} characters`),
});

export function readSkill(text: string): ReadSkill {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const isFence = (line: string | undefined): boolean => line?.trimEnd() === FENCE;
  const end = lines.findIndex((line, index) => index > 0 && isFence(line));
  if (!isFence(lines[0]) || end === -1) {
    return failed(['it must begin with name and description between two lines of "---"']);
  }
  const stated = readYaml(lines.slice(1, end).join('\n'));
  if (!stated.ok) return failed([`its head is no YAML: ${stated.reason}`]);
  const checked = head.safeParse(stated.value ?? {}, { reportInput: true });
  if (!checked.success) return failed(checked.error.issues.map(explain));
  const body = lines
    .slice(end + 1)
    .join('\n')
    .trim();
  if (body === '') return failed(['it has no instructions after its head']);
  const { name, description } = checked.data;
  return { ok: true, skill: { name, description }, body };
}

type Yaml = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string };

function readYaml(text: string): Yaml {
  try {
    // Aliases could make much out of little, and nothing here needs them.
    return { ok: true, value: parse(text, { maxAliasCount: 0, logLevel: 'error' }) };
  } catch (error) {
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    return { ok: false, reason: reason.replace(/[:.]$/, '') };
  }
}

function explain({ path, message, input }: z.core.$ZodIssue): string {
  const [key] = path;
  if (key !== 'name' && key !== 'description') return 'its head is no list of keys and values';
  const allowed = head.shape[key].description ?? message;
  return `${key} is wrong: found ${shown(input)}; allowed is ${allowed}`;
}

function shown(input: unknown): string {
  if (input === undefined || input === null || input === '') return 'nothing';
  if (typeof input !== 'string') return `a ${typeof input}`;
  return input.length > SHOWN_CHARS ? `a text of ${input.length} characters` : JSON.stringify(input);
}

function failed(problems: readonly string[]): ReadSkill {
  return { ok: false, problems };
}
