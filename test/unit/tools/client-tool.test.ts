import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineClientTool } from '../../../src/tools/define.ts';
import { contextIn } from './folder.ts';

const spec = {
  name: 'pick_file',
  description: 'Lets the person pick a file.',
  input: z.strictObject({ kind: z.enum(['chart', 'log']) }),
} as const;

describe('defineClientTool', () => {
  it('makes a tool that the client runs and no worker does', async () => {
    const tool = defineClientTool(spec);
    expect(tool).toMatchObject({ byClient: true, inHop: false, effect: 'once', approval: false });
    await expect(tool.run({ kind: 'log' }, contextIn('/'))).rejects.toMatchObject({ code: 'internal' });
  });

  it('keeps what was declared', () => {
    const declared = { effect: 'read', approval: true, alwaysLoaded: true, serves: ['web'] } as const;
    const tool = defineClientTool({ ...spec, ...declared, observes: false, deferred: true });
    expect(tool).toMatchObject({ ...declared, deferred: true, byClient: true });
    expect(tool.traitsOf({})).toEqual({ effect: 'read', observes: false, retrieves: false });
  });

  it('checks arguments like every other tool', () => {
    const tool = defineClientTool(spec);
    expect(tool.parse({ kind: 'log' })).toEqual({ ok: true, args: { kind: 'log' } });
    expect(tool.parse({ kind: 'x' })).toMatchObject({ ok: false });
  });

  it('refuses a declaration that cannot become a tool', () => {
    expect(() => defineClientTool({ ...spec, name: 'pick a file' })).toThrow(/cannot be defined/u);
  });
});
