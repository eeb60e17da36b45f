/** What the gates look at: sessions in memory, the request of their open turn, and what that request shows of each turn. */
import fc from 'fast-check';
import { z } from 'zod';
import { buildPrefix, type Prefix } from '../../../src/context/assemble/prefix.ts';
import { metadataProfile } from '../../../src/context/capacity/metadata.ts';
import type { CapacityProfile } from '../../../src/context/capacity/profile.ts';
import type { ChatMessage, ChatRequest } from '../../../src/context/request.ts';
import type { Claim, SessionRef } from '../../../src/db/contract.ts';
import type { JsonObject } from '../../../src/ledger/json.ts';
import type { TurnView } from '../../../src/ledger/view.ts';
import type { PreparedRequest } from '../../../src/runtime/request.ts';
import { sessionPlan } from '../../../src/runtime/session-plan.ts';
import type { SessionConfig } from '../../../src/runtime/sessions.ts';
import { foldRecords } from '../../../src/runtime/turn-cache.ts';
import { defineTool } from '../../../src/tools/define.ts';
import {
  type CallSaid,
  type Conversation,
  SIMPLE_CONFIG,
  type TurnSaid,
} from '../../support/conversation.ts';
import { type OneProcess, SCRIPTED_TOKENS_PER_BYTE } from '../../support/one-process.ts';

export const TENANT = '01890000-0000-7000-8000-0000000000ff';

/** A ratio that calls have shown, so that a turn which does not fit is known to. */
export function measured(horizonTokens: number, change: Partial<CapacityProfile> = {}): CapacityProfile {
  const base = metadataProfile({
    operatorWindow: 4 * horizonTokens,
    operatorMaxOutput: 512,
    providerWindow: null,
    providerMaxOutput: null,
    catalogueWindow: null,
    catalogueMaxOutput: null,
    metadataDigest: null,
    probedAtMs: 1,
  });
  return {
    ...base,
    horizon: { tokens: horizonTokens, confidence: 0.9, lastConfirmedMs: 1 },
    tokensPerByte: { value: SCRIPTED_TOKENS_PER_BYTE, samples: 3 },
    outputReserve: 512,
    ...change,
  };
}

export const asked = (number: number, about: string): string =>
  `In matter m${number}q, what does the record say about ${about}?`;

/** What only the whole result holds: no digest shows the middle of a long text. */
const hidden = (number: number): string => `hidden${number}middle`;

function longResult(number: number, lines: number): string {
  const line = (at: number) => `line ${at} of the log of matter m${number}q says that all was well`;
  const all = Array.from({ length: lines }, (_, at) => line(at));
  all.splice(Math.floor(lines / 2), 0, hidden(number));
  return `exit code: 0\n${all.join('\n')}`;
}

export const hiddenIn = hidden;

export const metric = (number: number): JsonObject => ({
  title: `Figure of matter m${number}q`,
  value: number * 7,
  unit: 'bar',
});

const fenceOf = (payload: JsonObject): string =>
  `\`\`\`card\n${JSON.stringify({ type: 'metric', ...payload })}\n\`\`\``;

export const TURN_KINDS = [
  'prose',
  'tool',
  'card',
  'fence',
  'twice',
  'error',
  'empty',
  'cancelled',
  'failed',
] as const;
export type TurnKind = (typeof TURN_KINDS)[number];

export interface TurnChoice {
  readonly kind: TurnKind;
  readonly about: string;
  readonly lines: number;
  readonly words: number;
}

export const turnChoice: fc.Arbitrary<TurnChoice> = fc.record({
  kind: fc.constantFrom(...TURN_KINDS),
  about: fc.constantFrom('the harbour', 'the orchard', 'an old violin', 'granite', 'the ferry timetable'),
  lines: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constantFrom(1_200)),
  words: fc.integer({ min: 3, max: 400 }),
});

export function turnSaid(number: number, { kind, about, lines, words }: TurnChoice): TurnSaid {
  const question = asked(number, about);
  const answer = `Matter m${number}q: ${Array.from({ length: words }, (_, at) => `word${at % 9}`).join(' ')}.`;
  const lookup: CallSaid = {
    tool: 'lookup',
    args: { matter: `m${number}q` },
    result: longResult(number, lines),
    ...(number % 3 === 0 ? { files: [{ kind: 'read' as const, path: `notes/${about}.md` }] } : {}),
  };
  const card: CallSaid = { card: 'metric', payload: metric(number) };
  const looks = { prose: `Looking into m${number}q.`, thinking: 'Hm.', calls: [lookup] };
  switch (kind) {
    case 'prose':
      return { asked: question, answer };
    case 'tool':
      return { asked: question, steps: [looks], answer };
    case 'card':
      return { asked: question, steps: [looks, { prose: '', calls: [card] }], answer: 'The card shows it.' };
    case 'fence':
      return { asked: question, steps: [looks], answer: `It is so:\n\n${fenceOf(metric(number))}` };
    case 'twice':
      return {
        asked: question,
        steps: [{ prose: '', calls: [lookup, card, card] }],
        answer: `As shown:\n\n${fenceOf(metric(number))}\n\nand again\n\n${fenceOf(metric(number))}`,
      };
    case 'error': {
      const failed = { ...lookup, result: `no matter m${number}q is on file`, isError: true };
      return { asked: question, steps: [{ prose: '', calls: [failed, lookup] }], answer };
    }
    case 'empty':
      return { asked: question, steps: [looks, { empty: true }], answer };
    case 'cancelled':
      return {
        asked: question,
        steps: [{ ...looks, calls: [lookup, { ...lookup, result: null }] }],
        answer: null,
        outcome: 'cancelled',
      };
    case 'failed':
      return { asked: question, steps: [looks, { empty: true }], answer: null, outcome: 'failed' };
  }
}

/** The fixture: closed turns of prose, tools and cards in turn. */
export function fixture(turns: number): readonly TurnSaid[] {
  const kinds = ['prose', 'tool', 'card'] as const;
  return Array.from({ length: turns }, (_, at) => {
    const kind = kinds[at % kinds.length] ?? 'prose';
    return turnSaid(at + 1, { kind, about: 'the harbour', lines: 40, words: 260 });
  });
}

export interface Preparing {
  readonly profile: CapacityProfile;
  readonly prefix: Prefix;
  readonly packetless?: boolean;
  readonly workContract?: string | null;
  readonly options?: SessionConfig['policy']['options'];
}

/** The request of a turn's next step as its worker would prepare it; nothing is written. */
export async function prepareOpen(
  { engine, requests }: Pick<OneProcess, 'engine' | 'requests'>,
  ref: SessionRef,
  turn: string,
  { profile, prefix, packetless = false, workContract = null, options }: Preparing,
): Promise<PreparedRequest> {
  const loaded = await engine.store.load({ ...ref, actor: turn });
  const place = loaded?.turn;
  if (loaded === null || place == null) throw new Error(`there is no turn ${turn}`);
  const call = { child: 'step-1', src: 'step', input: '{}', attempt: 1, dispatch: 1 };
  const claim: Claim = {
    call: { ...call, fence: 1, token: 1, started: false, deaths: 0 },
    loaded,
    records: await engine.store.turnRecords(ref, turn),
    whole: true,
    toPlan: await engine.store.toPlan(ref, place.head, engine.indexes.knownTo(ref.session)),
  };
  return requests.prepare({
    claim,
    open: foldRecords(claim.records),
    place,
    prefix,
    profile,
    ...sessionPlan({ ...SIMPLE_CONFIG, policy: { name: 'plan', options: options ?? {} } }),
    packetless,
    workContract,
  });
}

/** @throws Error for anything but a request. */
export async function requestOf(
  process: Pick<OneProcess, 'engine' | 'requests'>,
  ref: SessionRef,
  turn: string,
  preparing: Preparing,
): Promise<Extract<PreparedRequest, { kind: 'request' }>> {
  const prepared = await prepareOpen(process, ref, turn, { packetless: true, ...preparing });
  if (prepared.kind !== 'request') throw new Error(`not a request: ${prepared.kind}`);
  return prepared;
}

/** A prefix of about so many tokens: its own sentences, a tool, and a filler. */
export function prefixOfTokens(tokens: number): Prefix {
  const tool = {
    name: 'lookup',
    description: 'Looks a matter up.',
    inputSchema: { type: 'object', properties: { matter: { type: 'string' } } },
  };
  const bare = buildPrefix('-', [tool]);
  const missing = Math.floor(tokens / SCRIPTED_TOKENS_PER_BYTE) - bare.bytes;
  return buildPrefix('-'.repeat(Math.max(1, missing + 1)), [tool]);
}

export type Shown = 'full' | 'card' | 'packet' | 'none';

export interface Projection {
  /** By turn number, from what the request says and not from its plan. */
  readonly shown: ReadonlyMap<number, readonly Shown[]>;
  /** Messages of a whole turn, by its number. */
  readonly whole: ReadonlyMap<number, readonly ChatMessage[]>;
  readonly cardLines: ReadonlyMap<number, string>;
  readonly packet: { readonly from: number; readonly to: number; readonly text: string } | null;
  /** The message of the open turn's directive and all after it. */
  readonly open: readonly ChatMessage[];
}

/** Reads a request as someone who knows the directives of the closed turns, 1 first, and of the open one. */
export function projectionOf(
  { messages }: ChatRequest,
  directives: readonly string[],
  open: string,
): Projection {
  const at = messages.findLastIndex((message) => textsOf(message).includes(open));
  const history = messages.slice(0, at);
  const numbers = new Map(directives.map((text, index) => [text, index + 1]));
  const whole = new Map<number, ChatMessage[]>();
  const cardLines = new Map<number, string>();
  let packet: Projection['packet'] = null;
  let current: ChatMessage[] | null = null;
  for (const message of history) {
    const texts = textsOf(message);
    const joined = texts.join('');
    const number = message.role === 'user' ? numbers.get(joined) : undefined;
    if (number !== undefined) {
      current = [message];
      whole.set(number, [...(whole.get(number) ?? []), ...current]);
      continue;
    }
    const summary = /^<context_summary turns="(\d+)-(\d+)">\n/u.exec(joined);
    if (summary !== null) packet = { from: Number(summary[1]), to: Number(summary[2]), text: joined };
    else if (joined.startsWith('<turn_cards>\n')) {
      for (const line of joined.split('\n')) {
        const label = /^T(\d+)(?: \(\w+\))?: /u.exec(line)?.[1];
        if (label !== undefined) cardLines.set(Number(label), line);
      }
    } else if (current !== null) {
      const [last] = [...whole.keys()].slice(-1);
      if (last !== undefined) whole.set(last, [...(whole.get(last) ?? []), message]);
    }
  }
  const shown = new Map<number, Shown[]>();
  for (let number = 1; number <= directives.length; number++) {
    const as: Shown[] = [];
    for (const message of history)
      if (numbers.get(textsOf(message).join('')) === number && message.role === 'user') as.push('full');
    if (cardLines.has(number)) as.push('card');
    if (as.length === 0 && packet !== null && packet.from <= number && number <= packet.to) as.push('packet');
    shown.set(number, as.length === 0 ? ['none'] : as);
  }
  return { shown, whole, cardLines, packet, open: messages.slice(at) };
}

export function textsOf(message: ChatMessage): readonly string[] {
  return message.content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
}

export function resultsIn(messages: readonly ChatMessage[]) {
  return messages.flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'tool_result' ? [block] : [])),
  );
}

export function allText(messages: readonly ChatMessage[]): string {
  return JSON.stringify(messages);
}

export function occurrences(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** Every result of a turn with the id of its evidence. */
export function evidenceOf(turn: TurnView) {
  return turn.steps.flatMap(({ results }) => [...results.values()]);
}

export async function viewsOf(process: OneProcess, { ref, head }: Conversation, count: number) {
  const views: TurnView[] = [];
  for (let number = 1; number <= count; number++) {
    const id = (await process.engine.store.turnAt(ref, head, number))?.turn ?? null;
    if (id !== null) views.push(await process.view(ref, id));
  }
  return views;
}

export const lookupTool = defineTool({
  name: 'lookup',
  description: 'Looks a matter up.',
  input: z.strictObject({ number: z.int(), lines: z.int() }),
  effect: 'read',
  run: ({ number, lines }) => Promise.resolve(longResult(number, lines)),
});
