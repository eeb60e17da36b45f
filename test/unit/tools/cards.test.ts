import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { BUILTIN_CARDS, defineCard } from '../../../src/context/cards/index.ts';
import { cardTool } from '../../../src/tools/cards.ts';
import { defineTool, definitionOf } from '../../../src/tools/define.ts';
import { createToolSurface } from '../../../src/tools/surface.ts';
import { contextIn } from './folder.ts';

const tools = BUILTIN_CARDS.map(cardTool);
const metric = cardTool(
  BUILTIN_CARDS.filter((card) => card.type === 'metric')[0] ?? expect.fail('no metric'),
);

describe('the tools that emit cards', () => {
  it('EVI-04 are answered in the commit that settles their batch, and no other tool is', () => {
    for (const tool of tools)
      expect(tool).toMatchObject({
        inHop: true,
        effect: 'idempotent',
        approval: false,
        alwaysLoaded: false,
        serves: [],
      });
    const other = defineTool({
      name: 'other',
      description: 'Does.',
      input: z.object({}),
      run: async () => '',
    });
    expect(other.inHop).toBe(false);
  });

  it('EVI-04 show a model their name, what they show and the schema of the payload', () => {
    for (const [index, card] of BUILTIN_CARDS.entries())
      expect(tools[index] && definitionOf(tools[index])).toEqual({
        name: card.tool,
        description: card.description,
        inputSchema: card.inputSchema,
      });
    expect(createToolSurface(tools).names()).toHaveLength(7);
  });

  it('EVI-04 check a payload by the rules of their card', () => {
    expect(metric.parse({ value: 1, title: 'a' })).toEqual({ ok: true, args: { title: 'a', value: 1 } });
    expect(metric.parse({ title: 'a' })).toEqual({
      ok: false,
      message: [
        'The payload of emit_metric_card does not fit:',
        '- value: found nothing; allowed is a number or a string.',
        'Correct it and call emit_metric_card again.',
      ].join('\n'),
    });
  });

  it('EVI-04 fill in the defaults of their card', () => {
    const pin = defineCard({
      type: 'pin',
      description: 'Shows a place.',
      schemaVersion: 1,
      schema: z.strictObject({ place: z.string(), zoom: z.int().default(4) }),
      title: ({ place }) => place,
      identity: ({ place, zoom }) => `${place} ${zoom}`,
    });
    expect(cardTool(pin).parse({ place: 'Ulm' })).toEqual({ ok: true, args: { place: 'Ulm', zoom: 4 } });
  });

  it('EVI-04 never run as a job', async () => {
    for (const tool of tools)
      await expect(tool.run({}, contextIn('/'))).rejects.toThrow(/card calls are answered in place/);
  });
});
