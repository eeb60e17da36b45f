/** The demo's own tool: it changes something, so a person is asked before it runs and it never runs twice. */
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Tool } from '../../tools/contract.ts';
import { defineTool } from '../../tools/define.ts';

const MAX_NOTE_CHARS = 500;

/** Notes go into the demo's own folder, which is removed at its end. */
export function noteTool(folder: string): Tool {
  const path = join(folder, 'notes.txt');
  return defineTool({
    name: 'save_note',
    description: 'Keeps a note for the user. Each call needs the consent of a person.',
    input: z.strictObject({ note: z.string().min(1).max(MAX_NOTE_CHARS).describe('Text of the note.') }),
    effect: 'once',
    approval: true,
    run: async ({ note }) => {
      await appendFile(path, `${note}\n`);
      return `save_note kept: ${note}`;
    },
  });
}
