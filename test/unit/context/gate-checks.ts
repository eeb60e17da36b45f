/** What every request of a session is held to, read from its bytes and from the ledger, not from its plan. */
import { expect } from 'vitest';
import { renderFull } from '../../../src/context/assemble/full-record.ts';
import { rendered } from '../../../src/context/assemble/weigh.ts';
import type { ChatRequest } from '../../../src/context/request.ts';
import { cardLine } from '../../../src/context/turn-card.ts';
import { byteLength, canonicalJson } from '../../../src/ledger/json.ts';
import { type TurnView, toolCalls } from '../../../src/ledger/view.ts';
import { recallTool } from '../../../src/tools/builtins/recall.ts';
import type { Conversation } from '../../support/conversation.ts';
import type { OneProcess } from '../../support/one-process.ts';
import {
  allText,
  evidenceOf,
  hiddenIn,
  metric,
  occurrences,
  type Projection,
  projectionOf,
  resultsIn,
  textsOf,
} from './gate-sample.ts';

const RECALLED = 20;

/** A session with an open turn. */
export interface GateSession {
  readonly process: OneProcess;
  readonly conversation: Conversation;
  /** Oldest first, from turn 1 on. */
  readonly closed: readonly TurnView[];
  readonly directives: readonly string[];
  readonly directive: string;
  readonly turn: string;
}

function projected({ directives, directive }: GateSession, request: ChatRequest): Projection {
  return projectionOf(request, directives, directive);
}

/** `leftOut`: turns that the plan names nowhere, as it says itself. */
export function expectEachTurnOnce(session: GateSession, request: ChatRequest, leftOut: number): void {
  const { shown } = projected(session, request);
  const none = [...shown.values()].filter((as) => as[0] === 'none').length;
  for (const as of shown.values()) expect(as.length).toBe(1);
  expect(none).toBe(isAfterReset(request) ? shown.size : leftOut);
}

function isAfterReset({ messages }: ChatRequest): boolean {
  return allText(messages).includes('<handoff>');
}

/** Each result of the ledger is verbatim, a digest with its id, on a card's line, or in the range of a packet that recall reaches into. */
export async function expectNothingCut(session: GateSession, request: ChatRequest): Promise<void> {
  const { closed, process, conversation } = session;
  const { shown, whole, cardLines, open, packet } = projected(session, request);
  if (isAfterReset(request)) return;
  for (const turn of closed) {
    const [as] = shown.get(turn.number) ?? [];
    const results = evidenceOf(turn).filter(({ evidence }) => evidence !== null);
    if (as === 'full') {
      const messages = whole.get(turn.number) ?? [];
      const text = resultsIn(messages)
        .map(({ content }) => content)
        .join('\n');
      for (const { evidence } of results) expect(text).toContain(`[evidence:${evidence}`);
      const longOnes = results.filter(({ content, status }) => status === 'ok' && content.length > 4_000);
      if (longOnes.length > 0) expect(text).not.toContain(hiddenIn(turn.number));
      expect(canonicalJson(messages)).toBe(canonicalJson(renderFull(turn)));
    } else if (as === 'card') {
      for (const { evidence } of results)
        expect(cardLines.get(turn.number)).toMatch(new RegExp(`\\b${evidence}\\b`, 'u'));
    } else if (as === 'packet') {
      expect(packet?.text).toContain(`T${packet?.from} to T${packet?.to}`);
      const memory = await process.memory(conversation.ref, session.turn);
      const query = { query: `matter m${turn.number}q`, limit: RECALLED };
      const context = { signal: new AbortController().signal, root: '/', idempotencyKey: 'k', memory };
      const { content } = await recallTool.run(query, context);
      expect(content).toContain(`T${turn.number}: `);
    }
  }
  const recorded = evidenceOf(await process.view(conversation.ref, session.turn));
  for (const { callId, content } of resultsIn(open))
    expect(recorded.some((result) => result.callId === callId && result.content === content)).toBe(true);
}

/** Steps of one turn, in order. */
export function expectAppendOnly(steps: readonly ChatRequest[]): void {
  for (const [at, request] of steps.entries()) {
    const next = steps[at + 1];
    if (next === undefined) return;
    expect(next.system).toBe(request.system);
    expect(canonicalJson(next.tools)).toBe(canonicalJson(request.tools));
    if (isAfterReset(next) && !isAfterReset(request)) continue;
    const before = request.messages.map((message) => canonicalJson(message));
    expect(next.messages.slice(0, before.length).map((message) => canonicalJson(message))).toEqual(before);
    expect(next.messages.length).toBeGreaterThan(before.length);
  }
}

export function expectUnique(session: GateSession, request: ChatRequest): void {
  const names = request.tools.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const { description } of request.tools) expect(request.system).not.toContain(description);
  const { shown, open } = projected(session, request);
  const tail = textsOf(open[0] ?? { role: 'user', content: [] })[0] ?? '';
  const thread = /<thread>\n([\s\S]*?)\n<\/thread>/u.exec(tail)?.[1] ?? '';
  const history = request.messages.slice(0, request.messages.length - open.length);
  const pieces = allText(
    history.filter((message) => !textsOf(message).join('').startsWith('<context_summary')),
  );
  for (const [number, [as]] of shown) {
    const about = session.directives[number - 1] ?? '';
    if (as === 'full' || as === 'card') expect(thread).not.toContain(about);
    expect(occurrences(pieces, about)).toBe(as === 'full' || as === 'card' ? 1 : 0);
    expect(occurrences(pieces, String(metric(number).title))).toBeLessThanOrEqual(cardCalls(session, number));
  }
  expect(occurrences(allText(open), session.directive)).toBe(1);
}

/** A card stands once for each call that made or repeated it, and never once more for a fence that repeats it. */
function cardCalls({ closed }: GateSession, number: number): number {
  const turn = closed[number - 1];
  const calls = turn?.steps.flatMap(({ content }) => toolCalls(content)) ?? [];
  return Math.max(1, calls.filter(({ name }) => name === 'emit_metric_card').length);
}

/** What the planner counts a turn as is what the turn weighs in a request. */
export function expectWeighed({ closed }: GateSession): void {
  for (const turn of closed) {
    const { card } = turn.closed ?? {};
    if (card === undefined) throw new Error(`turn ${turn.number} has no card`);
    expect(card.fullBytes).toBe(rendered(renderFull(turn)).bytes);
    expect(card.cardBytes).toBe(byteLength(cardLine(card)) + 1);
  }
}
