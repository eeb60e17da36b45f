/** The tools of a run. Each writes a line to the effects file as it starts: a witness that no database keeps. */
import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Tool } from '../../src/tools/contract.ts';
import { defineTool } from '../../src/tools/define.ts';

export const ONCE_TOOL = 'ring_bell';
export const DEPTH_TOOL = 'sound_depth';
export const BELL_SAYS = 'The bell of the harbour rang.';
/** Long enough that some such turns fill a narrow request. */
export const DEPTH_SAYS = `The water at the pier is seven fathoms deep.${' Sounded once more, it is.'.repeat(30)}`;

/** Long enough to be killed in, and shorter than a lease. */
const RING_MS = 600;
const SOUND_MS = 700;

export function chaosTools(effectsFile: string): readonly Tool[] {
  const ringBell = defineTool({
    name: ONCE_TOOL,
    description: 'Rings the bell of the harbour.',
    input: z.strictObject({}),
    effect: 'once',
    run: async (_, { idempotencyKey, signal }) => {
      appendFileSync(effectsFile, lineOf(ONCE_TOOL, idempotencyKey));
      await delay(RING_MS, undefined, { signal });
      return BELL_SAYS;
    },
  });
  const soundDepth = defineTool({
    name: DEPTH_TOOL,
    description: 'Sounds the depth of the water at the pier.',
    input: z.strictObject({}),
    effect: 'read',
    run: async (_, { idempotencyKey, signal }) => {
      appendFileSync(effectsFile, lineOf(DEPTH_TOOL, idempotencyKey));
      await delay(SOUND_MS, undefined, { signal });
      return DEPTH_SAYS;
    },
  });
  return [ringBell, soundDepth];
}

/** A tool that started: for which call, and in which process. */
export interface Effect {
  readonly tool: string;
  /** `<turn>~<child>` */
  readonly call: string;
  readonly pid: number;
}

export function readEffects(effectsFile: string): readonly Effect[] {
  const lines = readFileSync(effectsFile, 'utf8').split('\n');
  return lines.flatMap((line) => {
    const [tool = '', call = '', pid = ''] = line.split(' ');
    return line === '' ? [] : [{ tool, call, pid: Number(pid) }];
  });
}

function lineOf(tool: string, call: string): string {
  return `${tool} ${call} ${process.pid}\n`;
}
