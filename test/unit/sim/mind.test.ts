import { describe, expect, it } from 'vitest';
import type { ChatMessage, ToolDefinition } from '../../../src/context/request.ts';
import type { Json } from '../../../src/ledger/json.ts';
import { type MindInput, think } from '../../../src/sim/mind/mind.ts';

function told(text: string): ChatMessage {
  return { role: 'user', content: [{ type: 'text', text }] };
}

function answered(text: string): ChatMessage {
  return { role: 'assistant', content: [{ type: 'text', text }] };
}

function called(id: string, name: string, args: Json): ChatMessage {
  return { role: 'assistant', content: [{ type: 'tool_call', id, name, args }] };
}

function resulted(callId: string, name: string, content: string): ChatMessage {
  return { role: 'user', content: [{ type: 'tool_result', callId, name, content, isError: false }] };
}

type Overrides = Partial<Omit<MindInput, 'prompt'>>;

function reply(
  messages: readonly ChatMessage[],
  tools: readonly ToolDefinition[] = [],
  overrides: Overrides = {},
  system: readonly string[] = [],
) {
  return think({
    prompt: { system, tools, messages },
    key: 'k',
    seed: 7,
    beyondHorizon: false,
    toolChoice: { kind: 'auto' },
    parallelCalls: true,
    thinksAloud: false,
    habits: {},
    ...overrides,
  });
}

function argsOf(made: ReturnType<typeof reply>): unknown {
  return JSON.parse(made.calls[0]?.argsText ?? 'null');
}

const READ: ToolDefinition = {
  name: 'read',
  description: 'Returns the contents of one file.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
};
const RECALL: ToolDefinition = {
  name: 'recall',
  description: 'Returns stored evidence by its id, or what matches a query.',
  inputSchema: {
    type: 'object',
    properties: { id: { type: 'string' }, range: { type: 'object' }, query: { type: 'string' } },
  },
};
const CLASSIFY: ToolDefinition = {
  name: 'record_reading',
  description: 'Records how a message is read.',
  inputSchema: {
    type: 'object',
    properties: {
      act: {
        type: 'string',
        enum: ['converse', 'modify', 'locate'],
        description:
          'converse: small talk; modify: change or repair something; locate: find where something is',
      },
      areas: { type: 'array', items: { type: 'string', enum: ['kitchen', 'garden', 'cellar'] }, minItems: 1 },
      confidence: { type: 'number', minimum: 0, maximum: 1 },
      clear: { type: 'boolean' },
    },
    required: ['act', 'areas', 'confidence', 'clear'],
  },
};
const ACK: ToolDefinition = {
  name: 'probe_ack',
  description: 'Acknowledges.',
  inputSchema: { type: 'object', properties: {} },
};

describe('a call that is ordered', () => {
  it('is made when the single tool offered is ordered, with enums filled by what they mean', () => {
    const made = reply(
      [
        told(
          'Classify this with one call of the tool: please repair the broken pump in the cellar and the garden.',
        ),
      ],
      [CLASSIFY],
    );
    expect(made.calls.map((call) => call.name)).toEqual(['record_reading']);
    expect(argsOf(made)).toEqual({
      act: 'modify',
      areas: ['garden', 'cellar'],
      confidence: 0.5,
      clear: false,
    });
  });

  it('is made for a tool named among others, and no second time in the turn', () => {
    const order = told('Now call probe_ack once.');
    expect(reply([order], [READ, ACK]).calls).toEqual([{ name: 'probe_ack', argsText: '{}' }]);
    const after = reply([order, called('1', 'probe_ack', {}), resulted('1', 'probe_ack', 'ok')], [READ, ACK]);
    expect(after.calls).toEqual([]);
  });

  it('is not made beyond the horizon, where prose from the end of the prompt comes instead', () => {
    const made = reply([told('Filler. The last words are these. Now call probe_ack once.')], [READ, ACK], {
      beyondHorizon: true,
    });
    expect(made.calls).toEqual([]);
    expect(made.text).toContain('The last words are these.');
  });

  it('is not made when tool use is switched off', () => {
    expect(reply([told('Now call probe_ack once.')], [ACK], { toolChoice: { kind: 'none' } }).calls).toEqual(
      [],
    );
  });

  it('is made when the choice names the tool, whatever the directive says', () => {
    const made = reply([told('Good morning.')], [READ, ACK], {
      toolChoice: { kind: 'named', name: 'probe_ack' },
    });
    expect(made.calls.map((call) => call.name)).toEqual(['probe_ack']);
  });
});

describe('text that is not visible', () => {
  const question = told('In store.md, what is the humidity of the vault?');
  const digest = 'Headings: Vault, Roof. 900 lines.\n[evidence:e12 store.md 48,000 bytes]';
  const earlier = [
    told('Open store.md please'),
    called('1', 'read', { path: 'store.md' }),
    resulted('1', 'read', digest),
  ];

  it('is recalled by the id an earlier digest names', () => {
    const made = reply([...earlier, answered('It has two headings.'), question], [READ, RECALL]);
    expect(made.calls.map((call) => call.name)).toEqual(['recall']);
    expect(argsOf(made)).toEqual({ id: 'e12' });
  });

  it('is recalled by the exact call that a window of this turn spells out', () => {
    const window =
      'Roof notes.\n\n… lines 40-800 left out; recall({"id":"e3","range":{"from":40,"to":800}}) brings them …';
    const made = reply(
      [question, called('1', 'read', { path: 'store.md' }), resulted('1', 'read', window)],
      [READ, RECALL],
    );
    expect(argsOf(made)).toEqual({ id: 'e3', range: { from: 40, to: 800 } });
  });

  it('is not recalled when what is visible answers', () => {
    const full = `The humidity of the vault is 41 percent.\n${digest}`;
    const made = reply(
      [question, called('1', 'read', { path: 'store.md' }), resulted('1', 'read', full)],
      [READ, RECALL],
    );
    expect(made.calls).toEqual([]);
    expect(made.text).toContain('41 percent');
  });

  it('is asked for by words when earlier text says that a summary hides it', () => {
    const packet = told(
      '[Turns 1 to 9 are summarised here. recall({query}) reaches them.] They spoke of roofs.',
    );
    const made = reply([packet, answered('Understood.'), told('What did the mason charge?')], [RECALL]);
    expect(argsOf(made)).toEqual({ query: 'mason charge' });
  });

  it('is recalled by the id a summary lists for the turn that asked about it', () => {
    const summary = told(
      [
        '<context_summary>',
        'Turns 1 to 3 are summarised here and not shown.',
        '- T2 (completed): In store.md, what is the humidity of the vault?',
        '- T1 (completed): In roof.md, what are the tiles made of?',
        'Evidence; recall({"id": …}) returns it:',
        '- e12: read in T2',
        '- e4: read in T1',
        '</context_summary>',
      ].join('\n'),
    );
    const made = reply([summary, question], [READ, RECALL]);
    expect(argsOf(made)).toEqual({ id: 'e12' });
  });

  it('brings the answer once the recall has returned it', () => {
    const made = reply(
      [
        ...earlier,
        answered('It has two headings.'),
        question,
        called('2', 'recall', { id: 'e12' }),
        resulted('2', 'recall', 'The humidity of the vault is 43 percent.'),
      ],
      [READ, RECALL],
    );
    expect(made.calls).toEqual([]);
    expect(made.text).toContain('43 percent');
  });
});

describe('a conversation without tools', () => {
  it('is answered from what a person said earlier, the newest word first', () => {
    const made = reply([
      told('The gate code is 1188.'),
      answered('Noted.'),
      told('Correction, the gate code is 2299.'),
      answered('Noted.'),
      told('What is the gate code?'),
    ]);
    expect(made.text).toMatch(/^Correction, the gate code is 2299/);
  });

  it('is not answered from the question itself', () => {
    expect(reply([told('What is the gate code?')]).text).toMatch(/^I could not find that/);
  });

  it('takes the directive behind leading sections and before a control note', () => {
    const made = reply([
      told('The gate code is 2299.'),
      answered('Noted.'),
      told(
        '<turn_context>\nutc: 10:00\n</turn_context>\n<thread>\nWhat is the roof made of?\n</thread>\nWhat is the gate code?',
      ),
      answered('Hm.'),
      told('[empty-step] Answer the directive.'),
    ]);
    expect(made.text).toContain('2299');
  });

  it('acknowledges what is told and not asked', () => {
    expect(reply([told('The gate code is 2299.')]).text).toBe('Noted: The gate code is 2299.');
  });

  it('is summarised by its own sentences within the length asked for', () => {
    const body = Array.from(
      { length: 40 },
      (_, at) => `Turn ${at} approved order ${at * 17} of the depot.`,
    ).join('\n');
    const made = reply([told(body)], [], {}, ['Summarise the conversation in at most 30 words.']);
    expect(made.text.split(/\s+/).length).toBeLessThanOrEqual(30);
    expect(body).toContain(made.text.split('. ')[0]);
  });
});

describe('pictures', () => {
  // Headers only: a 64 by 48 PNG and a 300 by 200 GIF.
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452000000400000003008060000', 'hex').toString(
    'base64',
  );
  const gif = Buffer.concat([Buffer.from('GIF89a'), Buffer.from([44, 1, 200, 0])]).toString('base64');

  it('are described by media type and size', () => {
    const made = reply([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What dimensions do these images have?' },
          { type: 'image', mediaType: 'image/png', data: png },
          { type: 'image', mediaType: 'image/gif', data: gif },
        ],
      },
    ]);
    expect(made.text).toContain('image/png, 64 pixels wide and 48 pixels high');
    expect(made.text).toContain('image/gif, 300 pixels wide and 200 pixels high');
  });
});

describe('seeded behaviour', () => {
  const talk = [
    told('The gate code is 2299.'),
    answered('Noted: all of it.'),
    told('What is the gate code?'),
  ];

  it('drifts to its previous final text as often as the rate says', () => {
    const keys = Array.from({ length: 400 }, (_, at) => `key ${at}`);
    const drifted = keys.filter(
      (key) => reply(talk, [], { key, habits: { repeatAnswer: 0.25 } }).text === 'Noted: all of it.',
    );
    expect(drifted.length).toBeGreaterThan(60);
    expect(drifted.length).toBeLessThan(140);
    expect(reply(talk, [], { habits: { repeatAnswer: 1 } }).text).toBe('Noted: all of it.');
    expect(reply(talk, [], { habits: {} }).text).toContain('2299');
  });

  it('may say nothing but thoughts', () => {
    const made = reply(talk, [], { habits: { thinkingOnly: 1 } });
    expect(made).toMatchObject({ text: '', calls: [] });
    expect(made.thinking).not.toBe('');
  });

  it('thinks aloud only when asked to', () => {
    expect(reply(talk).thinking).toBeNull();
    expect(reply(talk, [], { thinksAloud: true }).thinking).not.toBeNull();
  });
});

describe('an ordered call whose values were stated before', () => {
  const TICKET: ToolDefinition = {
    name: 'file_ticket',
    description: 'Files a ticket.',
    inputSchema: {
      type: 'object',
      properties: {
        dueDate: { type: 'string' },
        owner: { type: 'string' },
        room: { type: 'string', enum: ['cellar', 'attic'] },
        badge: { type: 'string' },
      },
      required: ['dueDate', 'owner', 'room'],
    },
  };
  const order = told('Now call file_ticket for the cellar.');

  it('takes them from wherever they stand, by the name of the property, the latest word last', () => {
    const made = reply(
      [
        told('The due date was 2031-01-02, and the badge number is b-17. The owner: "Ida Holm".'),
        answered('Noted.'),
        told('No: the due date is 2031-02-03.'),
        answered('Noted.'),
        order,
      ],
      [READ, TICKET],
    );
    expect(argsOf(made)).toEqual({
      dueDate: '2031-02-03',
      owner: 'Ida Holm',
      room: 'cellar',
      badge: 'b-17',
    });
  });

  it('takes no word that is no value, and leaves out what nobody stated and nothing demands', () => {
    const made = reply([told('The badge is old.'), answered('Noted.'), order], [READ, TICKET]);
    expect(argsOf(made)).not.toHaveProperty('badge');
  });
});
