/** `activate_skill`: asks for the instructions of a skill. They enter the system text, so no worker answers it. */
import { z } from 'zod';
import { TurnwrightError } from '../../ledger/errors.ts';
import type { Tool } from '../contract.ts';
import { defineTool } from '../define.ts';
import { unknownName } from '../unknown-name.ts';
import type { SkillSet } from './contract.ts';

const NAME = 'activate_skill';

export function activateSkillTool(skills: SkillSet): Tool {
  const tool = defineTool({
    name: NAME,
    description: 'Brings the instructions of a listed skill into view.',
    input: z.strictObject({ name: z.string().describe('Name of the skill as it is listed.') }),
    alwaysLoaded: true,
    effect: 'idempotent',
    observes: false,
    run: async () => {
      throw new TurnwrightError('internal', `${NAME} was run as a job; its calls are answered in place.`);
    },
  });
  return {
    ...tool,
    inHop: true,
    parse: (args) => {
      const parsed = tool.parse(args);
      if (!parsed.ok) return parsed;
      const { name } = parsed.args as { readonly name: string };
      if (skills.body(name) !== null) return parsed;
      const known = skills.all.map((skill) => skill.name);
      return { ok: false, message: unknownName('skill', name, known) };
    },
  };
}
