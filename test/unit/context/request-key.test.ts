import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/context/request.ts';
import { type KeyedRequest, requestKey } from '../../../src/context/request-key.ts';

const REQUEST: ChatRequest = {
  system: 'You read files.',
  tools: [{ name: 'read', description: 'Reads a file.', inputSchema: { type: 'object', properties: {} } }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is in a.md?' },
        { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', text: 'I must look.', signature: 's1', signedBy: 'anthropic' },
        { type: 'tool_call', id: 't1s1c0', name: 'read', args: { path: 'a.md', lines: [1, 20] } },
      ],
    },
    {
      role: 'user',
      content: [{ type: 'tool_result', callId: 't1s1c0', name: 'read', content: 'Eels.', isError: false }],
    },
  ],
  maxTokens: 900,
};
const KEYED: KeyedRequest = {
  tenant: 'a',
  provider: 'openai',
  endpoint: 'http://one.test/v1',
  model: 'm-1',
  request: REQUEST,
};

type Data = string | number | boolean | null | undefined | readonly Data[] | { readonly [key: string]: Data };

describe('the key of a request', () => {
  it('CST-02 starts with the tenant, and is that of no other one', () => {
    const key = requestKey(KEYED);
    expect(key.tenant).toBe('a');
    expect(key.digest).toMatch(/^[0-9a-f]{64}$/u);
    expect(requestKey({ ...KEYED, tenant: 'b' }).digest).not.toBe(key.digest);
  });

  it('CST-02 changes with every single value of all that is asked: messages, tools and their schemas, results, arguments, limits', () => {
    const paths = leaves(KEYED as unknown as Data);
    const keys = paths.map((path) => requestKey(changed(KEYED, path)).digest);
    expect(paths.length).toBeGreaterThan(30);
    expect(new Set([requestKey(KEYED).digest, ...keys]).size).toBe(paths.length + 1);
  });

  it('CST-02 changes when anything is left out, added, or said in another order', () => {
    const [question, call, result] = REQUEST.messages;
    if (question === undefined || call === undefined || result === undefined) throw new Error('no messages');
    const others: readonly ChatRequest[] = [
      { ...REQUEST, messages: [question, call] },
      { ...REQUEST, messages: [question, result, call] },
      { ...REQUEST, messages: [...REQUEST.messages, question] },
      { ...REQUEST, tools: [] },
      { ...REQUEST, tools: [...REQUEST.tools, ...REQUEST.tools] },
    ];
    const keys = [REQUEST, ...others].map((request) => requestKey({ ...KEYED, request }).digest);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('CST-02 changes with a parameter that no request has yet', () => {
    const reference = requestKey(KEYED).digest;
    fc.assert(
      fc.property(
        fc
          .string()
          .filter((name) => !['cache', 'continues', '__proto__', ...Object.keys(REQUEST)].includes(name)),
        fc.jsonValue(),
        (name, value) => {
          const request = { ...REQUEST, [name]: value };
          expect(requestKey({ ...KEYED, request }).digest).not.toBe(reference);
        },
      ),
    );
  });

  it('CST-02 does not change with the order of an object’s members, nor with one that is undefined', () => {
    const reference = requestKey(KEYED).digest;
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat()), (numbers) => {
        const shuffled = reordered(KEYED as unknown as Data, numbers) as unknown as KeyedRequest;
        expect(requestKey(shuffled).digest).toBe(reference);
      }),
    );
  });

  it('CST-02 does not change with how the request travels: its cache hints and what it continues', () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.nat()), fc.nat(), (name, breakpoints, from) => {
        const cache = { key: name, breakpoints };
        const continues = { responseId: name, from, callIds: {} };
        for (const travel of [{ cache }, { continues }, { cache, continues }])
          expect(requestKey({ ...KEYED, request: { ...REQUEST, ...travel } })).toEqual(requestKey(KEYED));
      }),
    );
  });

  it('CST-02 moves no character from one part to the next', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (one, two) => {
        const split = requestKey({ ...KEYED, provider: one, endpoint: two }).digest;
        expect(requestKey({ ...KEYED, provider: one + two, endpoint: '' }).digest).not.toBe(split);
        expect(requestKey({ ...KEYED, provider: '', endpoint: one + two }).digest).not.toBe(split);
      }),
    );
  });
});

type Path = readonly (string | number)[];

function leaves(value: Data, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([name, member]) => leaves(member, [...path, name]));
}

function changed(keyed: KeyedRequest, path: Path): KeyedRequest {
  const copy: unknown = structuredClone(keyed);
  let holder = copy as Record<string | number, unknown>;
  for (const name of path.slice(0, -1)) holder = holder[name] as Record<string | number, unknown>;
  const last = path.at(-1) ?? '';
  const value = holder[last];
  if (typeof value === 'number') holder[last] = value + 1;
  else if (typeof value === 'boolean') holder[last] = !value;
  else holder[last] = `${String(value)}+`;
  return copy as KeyedRequest;
}

function reordered(value: Data, numbers: Iterator<number>): Data {
  if (Array.isArray(value)) return value.map((item: Data) => reordered(item, numbers));
  if (typeof value !== 'object' || value === null) return value;
  const members = [...Object.entries(value), ['absent', undefined] as const].map(
    ([name, member]): readonly [number, string, Data] => [
      Number(numbers.next().value),
      name,
      reordered(member, numbers),
    ],
  );
  members.sort(([one], [two]) => one - two);
  return Object.fromEntries(members.map(([, name, member]) => [name, member]));
}
