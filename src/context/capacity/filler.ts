/**
 * Requests of a chosen size for measuring a model. They are shaped like the turns it will see, since inert prose of the
 * same size asks less of it, and the same input gives the same bytes, so that samples differ by the model alone.
 */
import { blake3Hex } from '../../ledger/chain.ts';
import { byteLength } from '../../ledger/json.ts';
import { prefixOf } from '../assemble/prefix.ts';
import { weighMessages } from '../assemble/weigh.ts';
import type { ChatMessage, ChatReply, ChatRequest, ToolDefinition, UserMessage } from '../request.ts';

const CANARIES = ['head', 'middle', 'tail'] as const;
type Canary = (typeof CANARIES)[number];

/** One unit holds each code. */
const FEWEST_UNITS = CANARIES.length;
/** Three codes as JSON arguments take some fifty tokens, more where digits are tokens of their own. */
const REPLY_TOKENS = 96;

/** One for each hexadecimal digit of a digest. */
const VOCABULARY = [
  'heron',
  'copper',
  'harbour',
  'lantern',
  'meadow',
  'granite',
  'willow',
  'saffron',
  'compass',
  'orchard',
  'glacier',
  'amber',
  'juniper',
  'cobalt',
  'thistle',
  'falcon',
] as const;

const SYSTEM =
  'You answer questions with the tools you are given. When you are asked to call a tool, call it and write no text.';

const TOOLS: readonly ToolDefinition[] = [
  {
    name: 'lookup',
    description: 'Looks up pages about a subject.',
    inputSchema: {
      type: 'object',
      properties: { query: { type: 'string', description: 'Words to look for.' } },
      required: ['query'],
    },
  },
  {
    name: 'probe_ack',
    description: 'Confirms that the conversation was read.',
    inputSchema: {
      type: 'object',
      properties: {
        head: { type: 'string', description: 'The head code.' },
        middle: { type: 'string', description: 'The middle code.' },
        tail: { type: 'string', description: 'The tail code.' },
      },
      required: [...CANARIES],
    },
  },
];

const ASK = userText(
  'Call probe_ack once now, with the head code, the middle code and the tail code that the questions above name.',
);

export type ProbeCodes = Readonly<Record<Canary, string>>;

export interface ProbeSize {
  /** Of the whole request. */
  readonly targetTokens: number;
  /** Above 0. */
  readonly tokensPerByte: number;
  readonly seed: string;
}

export interface ProbeRequest {
  readonly request: ChatRequest;
  /** UTF-8 bytes of system text, tools and messages, as every request is weighed. */
  readonly requestBytes: number;
}

/**
 * The largest request of whole units that stays within the target; a target smaller than the fixed part and three
 * units gives these.
 */
export function probeRequest({ targetTokens, tokensPerByte, seed }: ProbeSize): ProbeRequest {
  const { system, tools, bytes: prefixBytes } = prefixOf(SYSTEM, TOOLS);
  const sentences = sentencesOf(probeCodes(seed));
  const units: Unit[] = [];
  let requestBytes = prefixBytes + weighMessages([ASK]) + byteLength(Object.values(sentences).join(''));
  for (;;) {
    const unit = unitOf(seed, units.length + 1);
    const bytes = requestBytes + weighMessages(messagesOf(unit));
    if (units.length >= FEWEST_UNITS && bytes * tokensPerByte > targetTokens) break;
    units.push(unit);
    requestBytes = bytes;
  }
  const marked = new Map([
    [0, sentences.head],
    [Math.floor((units.length - 1) / 2), sentences.middle],
    [units.length - 1, sentences.tail],
  ]);
  const messages = units.flatMap((unit, at) =>
    messagesOf({ ...unit, question: unit.question + (marked.get(at) ?? '') }),
  );
  return { request: { system, tools, messages: [...messages, ASK], maxTokens: REPLY_TOKENS }, requestBytes };
}

/** What the call of `probe_ack` is to carry. */
export function probeCodes(seed: string): ProbeCodes {
  const code = (name: Canary): string => {
    const hex = blake3Hex(`${seed} code ${name}`);
    return `${wordAt(hex, 0)}-${1_000 + (Number.parseInt(hex.slice(1, 9), 16) % 9_000)}`;
  };
  return { head: code('head'), middle: code('middle'), tail: code('tail') };
}

export interface ProbeReading {
  /** Any call of `probe_ack`, whatever its arguments. */
  readonly followed: boolean;
  /** The codes that came back: one that did not was not read, or not found. */
  readonly echoed: Readonly<Record<Canary, boolean>>;
}

export function readProbeReply(reply: Pick<ChatReply, 'content'>, codes: ProbeCodes): ProbeReading {
  const calls = reply.content.flatMap((block) =>
    block.type === 'tool_call' && block.name === 'probe_ack' ? [block.args] : [],
  );
  const echoed = (name: Canary): boolean =>
    calls.some((args) =>
      Object.entries(args ?? {}).some(([key, value]) => key === name && value === codes[name]),
    );
  return {
    followed: calls.length > 0,
    echoed: { head: echoed('head'), middle: echoed('middle'), tail: echoed('tail') },
  };
}

interface Unit {
  readonly number: number;
  readonly question: string;
  readonly query: string;
  readonly result: string;
  readonly answer: string;
}

/** Of the seed and the number alone, so that a longer request begins with the units of a shorter one. */
function unitOf(seed: string, number: number): Unit {
  const hex = blake3Hex(`${seed} unit ${number}`);
  const word = (at: number): string => wordAt(hex, at);
  const first = `${word(0)} ${word(1)}`;
  const second = `${word(2)} ${word(3)}`;
  const pages = [
    { title: `On the ${first} and its ${word(4)}`, url: `https://${word(5)}.example/${word(6)}/${number}` },
    { title: `A ${second} in the ${word(7)}`, url: `https://${word(8)}.example/${word(9)}/${number}` },
  ];
  return {
    number,
    question: `Question ${number}: how does the ${first} differ from the ${second}?`,
    query: `${first} ${second}`,
    result: `${JSON.stringify(pages)}\n[evidence:e${number}]`,
    answer: `The ${first} stands by the ${word(10)} and keeps its ${word(11)}, while the ${second} follows the ${word(12)}; both pages agree on this, and the second adds a ${word(13)} of ${word(14)}.`,
  };
}

function messagesOf({ number, question, query, result, answer }: Unit): readonly ChatMessage[] {
  const callId = `lookup-${number}`;
  return [
    userText(question),
    { role: 'assistant', content: [{ type: 'tool_call', id: callId, name: 'lookup', args: { query } }] },
    {
      role: 'user',
      content: [{ type: 'tool_result', callId, name: 'lookup', content: result, isError: false }],
    },
    { role: 'assistant', content: [{ type: 'text', text: answer }] },
  ];
}

function sentencesOf(codes: ProbeCodes): Readonly<Record<Canary, string>> {
  const sentence = (name: Canary): string => ` The ${name} code is ${codes[name]}.`;
  return { head: sentence('head'), middle: sentence('middle'), tail: sentence('tail') };
}

function userText(text: string): UserMessage {
  return { role: 'user', content: [{ type: 'text', text }] };
}

function wordAt(hex: string, at: number): string {
  return VOCABULARY[Number.parseInt(hex.charAt(at), 16)] ?? VOCABULARY[0];
}
