import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deterministicPacket } from '../../../src/context/packet/deterministic.ts';
import { packetText } from '../../../src/context/packet/frame.ts';
import { handoffRequest, packetRequest } from '../../../src/context/packet/request.ts';
import type { ChatMessage, ChatRequest, ToolDefinition } from '../../../src/context/request.ts';
import type { Json } from '../../../src/ledger/json.ts';
import { type MindInput, think } from '../../../src/sim/mind/mind.ts';
import { cardOf } from '../context/packet/cards.ts';
import { Tally } from '../ledger/sample.ts';

const RECALL: ToolDefinition = {
  name: 'recall',
  description: 'Returns a stored result by its evidence id, a turn by its number, or what matches a query.',
  inputSchema: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'Evidence id.' },
      turn: { type: 'integer', description: 'Number of an earlier turn.' },
      query: { type: 'string', description: 'Words to look for in earlier turns.' },
    },
  },
};
const SEARCH: ToolDefinition = {
  name: 'find_text',
  description: 'Searches the contents of files for a regular expression; returns path:line: text.',
  inputSchema: {
    type: 'object',
    properties: { pattern: { type: 'string', description: 'Regular expression to look for in the lines.' } },
    required: ['pattern'],
  },
};

function told(text: string): ChatMessage {
  return { role: 'user', content: [{ type: 'text', text }] };
}

function section(tag: string, content: string): ChatMessage {
  return told(`<${tag}>\n${content}\n</${tag}>`);
}

function input(messages: readonly ChatMessage[], tools: readonly ToolDefinition[]): MindInput {
  return {
    prompt: { system: ['You keep records.'], tools, messages },
    key: String(messages.length),
    seed: 1,
    beyondHorizon: false,
    toolChoice: { kind: 'auto' },
    parallelCalls: true,
    thinksAloud: false,
    habits: {},
  };
}

interface Run {
  readonly answer: string;
  readonly calls: readonly Json[];
}

/** Drives one directive to its answer; `answers` is what recall returns for its arguments. */
function ask(
  before: readonly ChatMessage[],
  directive: string,
  answers: (args: { readonly id?: string; readonly turn?: number; readonly query?: string }) => string,
  tools: readonly ToolDefinition[] = [RECALL],
): Run {
  const messages: ChatMessage[] = [...before, told(directive)];
  const calls: Json[] = [];
  for (let step = 0; step < 8; step += 1) {
    const reply = think(input(messages, tools));
    const [call] = reply.calls;
    if (call === undefined) return { answer: reply.text, calls };
    const args = JSON.parse(call.argsText) as Record<string, Json>;
    calls.push(args);
    const id = `c${step}`;
    const content = call.name === 'recall' ? answers(args) : 'No line matches.';
    messages.push(
      { role: 'assistant', content: [{ type: 'tool_call', id, name: call.name, args }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', callId: id, name: call.name, content, isError: false }],
      },
    );
  }
  return { answer: '', calls };
}

/** Made-up words: consonant and vowel pairs, so that none is an English function word. */
const word = fc
  .array(fc.tuple(fc.constantFrom(...'bdfgklmnprstvz'), fc.constantFrom(...'aeiou')), {
    minLength: 3,
    maxLength: 3,
  })
  .map((pairs) => pairs.flat().join(''));

interface Past {
  readonly subject: string;
  readonly trait: string;
  readonly value: number;
}

/** Facts of earlier turns, one each, about distinct subjects. */
const pasts: fc.Arbitrary<readonly Past[]> = fc
  .record({
    words: fc.uniqueArray(word, { minLength: 16, maxLength: 16 }),
    values: fc.uniqueArray(fc.integer({ min: 100_000, max: 999_999 }), { minLength: 3, maxLength: 8 }),
  })
  .map(({ words, values }) =>
    values.map((value, at) => ({ subject: words[2 * at] ?? '', trait: words[2 * at + 1] ?? '', value })),
  );

const question = ({ trait, subject }: Past): string => `What is the ${trait} of ${subject}?`;
const statement = ({ trait, subject, value }: Past): string => `The ${trait} of ${subject} is ${value}.`;
const recalledTurn = (number: number, fact: Past, answer: string): string =>
  `T${number}, of an earlier time:\nuser: ${question(fact)}\nassistant: ${answer}`;

const NONE_FOUND = 'No turn fits these words. The closed turns are 1 to 8: recall({"turn":8}) opens one.';
const RUNS = { numRuns: 120 };

describe('turns that are summarised and not shown', () => {
  it('are searched by the words of the directive, and the turn that is found is opened and answers', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(pasts, fc.nat(), (all, pick) => {
        const at = pick % all.length;
        const target = all[at];
        if (target === undefined) return;
        const frame = { from: 1, to: all.length, evidence: { lines: [], complete: true } };
        const packet = section('context_summary', packetText({ ...frame, summary: 'They measured things.' }));
        const run = ask([packet], question(target), ({ query, turn }) => {
          if (query !== undefined)
            return [
              ...all.map((one, index) => `T${index + 1}: ${question(one)} — nothing called — “It is …”`),
              'recall({"turn":1}) opens a turn.',
            ].join('\n');
          const fact = all[(turn ?? 0) - 1];
          return fact === undefined
            ? 'There is no such turn.'
            : recalledTurn(turn ?? 0, fact, statement(fact));
        });
        expect(run.calls).toEqual([{ query: `${target.trait} ${target.subject}` }, { turn: at + 1 }]);
        expect(run.answer).toContain(String(target.value));
        tally.count({ first: at === 0, later: at > 0 });
      }),
      RUNS,
    );
    tally.report('turns found by words');
  });

  it('are opened at once where a line of the packet names what was asked', () => {
    fc.assert(
      fc.property(pasts, (all) => {
        const [target] = all;
        if (target === undefined) return;
        const cards = all
          .map((fact, at) => cardOf(at + 1, { asked: question(fact), did: [], narration: '' }))
          .toReversed();
        const text = deterministicPacket({ from: 1, to: all.length, cards, maxBytes: 4_000 });
        const run = ask([section('context_summary', text)], question(target), () =>
          recalledTurn(1, target, statement(target)),
        );
        expect(run.calls).toEqual([{ turn: 1 }]);
        expect(run.answer).toContain(String(target.value));
      }),
      RUNS,
    );
  });

  it('are not searched when no text says that anything is hidden, or no such tool is offered', () => {
    const aside = told('The tool recall({"id":"e1"}) brings results back.');
    expect(ask([aside], 'What did the mason charge?', () => '').calls).toEqual([]);
    expect(ask([told('The roof is made of slate.')], 'What did the mason charge?', () => '').calls).toEqual(
      [],
    );
    const packet = section(
      'context_summary',
      packetText({ from: 1, to: 8, summary: null, evidence: { lines: [], complete: true } }),
    );
    expect(ask([packet], 'What did the mason charge?', () => '', []).calls).toEqual([]);
  });

  it('are searched by what is asked, not by the blank that stands in the packet, also where the words agree', () => {
    const packet = section(
      'context_summary',
      packetText({ from: 1, to: 8, summary: null, evidence: { lines: [], complete: true } }),
    );
    const run = ask([packet], 'Which record keeps the vault and its crates whole?', () => NONE_FOUND);
    expect(run.calls[0]).toEqual({ query: 'record keeps vault crates whole' });
  });

  it('are opened as the search ranks them, though their lines share no word with what is asked', () => {
    const packet = section(
      'context_summary',
      packetText({ from: 1, to: 8, summary: null, evidence: { lines: [], complete: true } }),
    );
    const run = ask([packet], 'What did the mason charge?', ({ turn }) =>
      turn === undefined
        ? 'T4: How much was it in the end? — nothing called — “It was …”\nrecall({"turn":4}) opens a turn.'
        : '[history: turn 4 as it was recorded.]\nuser: How much was it?\nassistant: The mason did charge 318 EUR.',
    );
    expect(run.calls).toEqual([{ query: 'mason charge' }, { turn: 4 }]);
    expect(run.answer).toContain('318 EUR');
  });

  it('give way to the other tools when the past holds nothing', () => {
    const packet = section(
      'context_summary',
      packetText({ from: 1, to: 8, summary: null, evidence: { lines: [], complete: true } }),
    );
    const run = ask([packet], 'What did the mason charge?', () => NONE_FOUND, [RECALL, SEARCH]);
    expect(run.calls[0]).toEqual({ query: 'mason charge' });
    expect(run.calls[1]).toHaveProperty('pattern');
    expect(run.answer).toMatch(/could not find/u);
  });
});

describe('lines that stand for turns', () => {
  const cardsOf = (lines: readonly string[]): ChatMessage => section('turn_cards', lines.join('\n'));

  it('lead to the turn whose line is about what is asked, and from there to its evidence', () => {
    fc.assert(
      fc.property(pasts, fc.nat(), (all, pick) => {
        const at = pick % all.length;
        const target = all[at];
        if (target === undefined) return;
        const lines = all.map(
          (one, index) => `T${index + 1}: ${question(one)} — read → e${index + 1} — “It was read …”`,
        );
        const run = ask([cardsOf(lines)], question(target), ({ turn, id }) => {
          if (id === `e${at + 1}`) return `# Notes\n${statement(target)}`;
          return recalledTurn(
            turn ?? 0,
            target,
            `It was read.\nresult: 900 lines [evidence:e${turn} — 9 kB]`,
          );
        });
        expect(run.calls).toEqual([{ turn: at + 1 }, { id: `e${at + 1}` }]);
        expect(run.answer).toContain(String(target.value));
      }),
      RUNS,
    );
  });

  it('answer without a call when the line holds the whole answer, or the fact was told in it', () => {
    fc.assert(
      fc.property(pasts, fc.boolean(), (all, stated) => {
        const [target] = all;
        if (target === undefined) return;
        const line = stated
          ? `T1: ${statement(target)} — nothing called — “Noted.”`
          : `T1: ${question(target)} — nothing called — “${statement(target)}”`;
        const run = ask([cardsOf([line])], question(target), () => '');
        expect(run.calls).toEqual([]);
        expect(run.answer).toContain(String(target.value));
      }),
      RUNS,
    );
  });

  it('do not answer where their words go on unseen', () => {
    const cards = cardsOf([
      'T4: Tell me. — nothing called — “Among all others the price of slate in the yard is …”',
    ]);
    const run = ask([cards], 'What is the price of slate?', () => 'assistant: The price of slate is 71 EUR.');
    expect(run.calls).toEqual([{ turn: 4 }]);
    expect(run.answer).toContain('71 EUR');
  });

  it('are no directive, and their questions and orders are no answers', () => {
    const cards = cardsOf(['T1: List the price of slate. — nothing called — “I could not …”']);
    const run = ask([cards], 'What is the price of slate?', () => 'Nothing stands there.', [RECALL]);
    expect(run.answer).toMatch(/could not find/u);
    const reply = think(input([cards, told('The gate code is 2299.')], []));
    expect(reply.text).toBe('Noted: The gate code is 2299.');
  });

  it('name a shown card by its title, which is not taken for what it says', () => {
    const cards = cardsOf([
      'T4: Show the price of slate as a metric. — nothing called — metric "Price of slate" p2',
    ]);
    const run = ask([cards], 'What is the price of slate?', () => 'assistant: The price of slate is 71 EUR.');
    expect(run.calls).toEqual([{ turn: 4 }]);
    expect(run.answer).toContain('71 EUR');
  });
});

describe('the simulated summariser', () => {
  const ROOMY = { ceilingTokens: 100_000, tokensPerByte: 0.25 };

  function answerTo(request: ChatRequest | null): string {
    if (request === null) throw new Error('there is no request');
    const { system, tools, messages } = request;
    return think({ ...input(messages, tools), prompt: { system: [system], tools, messages } }).text;
  }

  it('keeps figures, names, ids and turns of a packet’s request within its words', () => {
    fc.assert(
      fc.property(pasts, (all) => {
        const cards = all.map((fact, at) =>
          cardOf(at + 9, { asked: question(fact), narration: statement(fact) }),
        );
        const seed = { to: 8, text: 'T3 refused tar because of its price, 17 EUR.' };
        const text = answerTo(packetRequest({ from: 1, to: 8 + all.length, seed, cards }, ROOMY));
        expect(text).toContain('T3 refused tar because of its price, 17 EUR.');
        expect(text).not.toContain('to summarise');
        for (const [at, fact] of all.entries()) {
          const line = text.split('\n').find((one) => one.startsWith(`T${at + 9}: `));
          expect(line).toContain(String(fact.value));
          expect(line).toContain(fact.subject);
          expect(line).toContain(`e${at + 9}`);
        }
        expect(text.split(/\s+/u).length).toBeLessThanOrEqual(400);
      }),
      RUNS,
    );
  });

  it('leaves out whole turns where there are too many, and none of its own headings stands in it', () => {
    const cards = Array.from({ length: 80 }, (_, at) =>
      cardOf(at + 1, {
        asked: `Weigh crate ${at}. Then note it.`,
        narration: `Crate ${at} weighs ${at * 7} kg.`,
      }),
    );
    const text = answerTo(packetRequest({ from: 1, to: 80, seed: null, cards }, ROOMY));
    const lines = text.split('\n');
    expect(lines.length).toBeGreaterThan(10);
    expect(lines.length).toBeLessThan(80);
    for (const line of lines)
      expect(line).toMatch(/^T(\d+): Weigh crate (\d+)\. .* — Crate \2 weighs \d+ kg\.$/u);
  });

  it('keeps the directive and the figures of a handoff’s request, and does not do what it orders', () => {
    const lines = [
      'T1 step 1: read {"path":"a.md"} → e4',
      'The pump costs 318 EUR.',
      'The order was refused by Ana.',
    ];
    const text = answerTo(handoffRequest({ directive: 'Order the pump of hall 7.', lines }, ROOMY));
    for (const kept of ['Order the pump of hall 7.', '318 EUR', 'refused by Ana', 'e4'])
      expect(text).toContain(kept);
    expect(text.split(/\s+/u).length).toBeLessThanOrEqual(300);
  });
});
