/** The requests a session sent, rebuilt from its ledger, and what its prefix caches must have held of each. */
import { expect } from 'vitest';
import type { ChatMessage, ChatRequest } from '../../../src/context/request.ts';
import type { SessionRef, Store } from '../../../src/db/contract.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';
import { type BodyOf, parseBody } from '../../../src/ledger/kinds.ts';
import { visibleText } from '../../../src/ledger/view.ts';
import type { RequestBuilder } from '../../../src/runtime/request.ts';
import { storedPrefix } from '../../../src/runtime/stored-prefix.ts';
import { foldRecords } from '../../../src/runtime/turn-cache.ts';
import type { SimModel } from '../../../src/sim/index.ts';
import { prefixTokens, segmentsOf } from '../../../src/sim/prompt.ts';

/** One model call of a turn, with what was billed for it. */
export interface Sent {
  readonly turn: number;
  readonly step: number;
  readonly request: ChatRequest;
  readonly prefixDigest: string;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly directive: string;
}

interface Reading {
  readonly store: Store;
  readonly requests: RequestBuilder;
}

/** Every answered step of a head, oldest first; each is held to the digest that its receipt has. */
export async function sentRequests(
  { store, requests }: Reading,
  ref: SessionRef,
  head: string,
): Promise<readonly Sent[]> {
  const all: Sent[] = [];
  const epoch = (await store.loadSession(ref, null))?.session.epoch ?? 0;
  for (let number = 1; ; number++) {
    const turn = (await store.turnAt(ref, head, number))?.turn ?? null;
    if (turn === null) return all;
    const records = await store.turnRecords(ref, turn);
    let plan: BodyOf<'context-plan'> | null = null;
    let receipt: BodyOf<'work-receipt'> | null = null;
    const before: (typeof records)[number][] = [];
    for (const record of records) {
      if (record.kind === 'context-plan') plan = parseBody('context-plan', JSON.parse(record.body));
      if (record.kind === 'work-receipt') receipt = parseBody('work-receipt', JSON.parse(record.body));
      if (record.kind === 'assistant-message' && plan !== null && receipt?.usage) {
        const open = foldRecords(before);
        const prefix = await storedPrefix(store, ref, receipt.prefixDigest ?? '');
        const bare = { maxTokens: null, workContract: null };
        const request = { ref, head, epoch, open, plan, prefix, ...bare };
        const assembled = await requests.assemble(request);
        expect(assembled.requestDigest, `T${number} step ${receipt.step}`).toBe(receipt.requestDigest);
        const { inputTokens, cacheReadTokens, cacheWriteTokens } = receipt.usage;
        all.push({
          turn: number,
          step: receipt.step,
          request: assembled.request,
          prefixDigest: prefix.digest,
          promptTokens: inputTokens + cacheReadTokens + cacheWriteTokens,
          cachedTokens: cacheReadTokens,
          directive: visibleText(open.input),
        });
      }
      before.push(record);
    }
  }
}

export interface CacheReport {
  /** Pairs of requests whose prefix is another: they owe each other nothing. */
  readonly growths: number;
  readonly withinTurn: number;
  readonly acrossTurns: number;
  /** Of what later turns' first requests sent, the part that was cached; 0 to 1. */
  readonly cachedAcrossShare: number;
}

/**
 * Within a turn a step finds in the cache what the step before it sent, save the tail; a new turn finds the prefix.
 *
 * @throws AssertionError naming the piece in which the two requests differ first.
 */
export function expectCached(sent: readonly Sent[], model: SimModel): CacheReport {
  let [growths, withinTurn, acrossTurns, cached, prompt] = [0, 0, 0, 0, 0];
  const directives = new Map(sent.map(({ turn, directive }) => [turn, directive]));
  for (const [at, next] of sent.entries()) {
    const before = sent[at - 1];
    if (before === undefined) continue;
    if (before.prefixDigest !== next.prefixDigest) {
      growths += 1;
      continue;
    }
    const owner = firstDifference(before.request, next.request, directives);
    const where = `T${next.turn} step ${next.step} after T${before.turn} step ${before.step}, which differ first in: ${owner}`;
    if (before.turn === next.turn) {
      withinTurn += 1;
      expect(next.cachedTokens, where).toBeGreaterThanOrEqual(
        before.promptTokens - tailTokens(before, model),
      );
    } else {
      acrossTurns += 1;
      cached += next.cachedTokens;
      prompt += next.promptTokens;
      expect(next.cachedTokens, where).toBeGreaterThanOrEqual(prefixSize(next.request, model));
    }
  }
  return { growths, withinTurn, acrossTurns, cachedAcrossShare: prompt === 0 ? 0 : cached / prompt };
}

function prefixSize({ system, tools }: ChatRequest, model: SimModel): number {
  return prefixTokens(segmentsOf({ system: [system], tools, messages: [] }).at(-1), model);
}

/** The tail is the first text of the directive's message, where the message has another behind it. */
function tailTokens({ request, directive }: Sent, model: SimModel): number {
  const own = request.messages.find(({ content }) =>
    content.some((block) => block.type === 'text' && block.text === directive),
  );
  const [tail] = own?.content ?? [];
  if (tail?.type !== 'text' || tail.text === directive) return 0;
  return prefixTokens(
    segmentsOf({ system: [], tools: [], messages: [{ role: 'user', content: [tail] }] }).at(-1),
    model,
  );
}

/** The piece that holds the first byte in which `after` does not go on as `before` did. `directives` are by turn number. */
export function firstDifference(
  before: ChatRequest,
  after: ChatRequest,
  directives: ReadonlyMap<number, string>,
): string {
  if (canonicalJson(before.tools) !== canonicalJson(after.tools)) return 'prefix (tools)';
  if (before.system !== after.system) return 'prefix (system)';
  const owners = ownersOf(after.messages, directives);
  for (const [at, message] of before.messages.entries()) {
    const now = after.messages[at];
    if (now === undefined) return `${ownersOf(before.messages, directives)[at]}, which is gone`;
    if (canonicalJson(now) !== canonicalJson(message)) return owners[at] ?? 'nothing';
  }
  return owners[before.messages.length] ?? 'nothing';
}

/** By message: packet, handoff, cards, `full T<n>`, `open turn`. */
function ownersOf(
  messages: readonly ChatMessage[],
  directives: ReadonlyMap<number, string>,
): readonly string[] {
  const turns = new Map([...directives].map(([number, text]) => [text, number]));
  let owner = 'nothing';
  return messages.map((message) => {
    const texts = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
    const [first = ''] = texts;
    const number = message.role === 'user' ? turns.get(first) : undefined;
    if (first.startsWith('<context_summary')) owner = 'packet';
    else if (first.startsWith('<handoff')) owner = 'handoff';
    else if (first.startsWith('<turn_cards')) owner = 'cards';
    else if (first.startsWith('<turn_context')) owner = 'open turn';
    else if (number !== undefined && owner !== 'open turn') owner = `full T${number}`;
    return owner;
  });
}
