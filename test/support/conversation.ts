/**
 * Sessions for tests and benches, written by the functions that production writes with, many turns to a commit and
 * without a queue: cards, presentations, links and terms are what a session that ran would have.
 */
import { randomUUID } from 'node:crypto';
import { escapeMarkers } from '../../src/context/assemble/markers.ts';
import { digestResult } from '../../src/context/evidence/digest.ts';
import { windowResult } from '../../src/context/evidence/window.ts';
import type { SessionRef } from '../../src/db/contract.ts';
import { readLexically } from '../../src/intent/reading.ts';
import type { AssistantBlock } from '../../src/ledger/blocks.ts';
import { evidenceId } from '../../src/ledger/ids.ts';
import type { JsonObject } from '../../src/ledger/json.ts';
import type { Outcome, RecordDraft } from '../../src/ledger/kinds.ts';
import { type Additions, addTo } from '../../src/runtime/additions.ts';
import { type ClosedTurn, closeTurn } from '../../src/runtime/close.ts';
import { CommitBuilder } from '../../src/runtime/commit-builder.ts';
import type { Engine } from '../../src/runtime/engine.ts';
import { answerInHop } from '../../src/runtime/in-hop.ts';
import { createSession, type SessionConfig } from '../../src/runtime/sessions.ts';

/** Turns that one commit writes. */
const TURNS_A_COMMIT = 40;

/** A call of a tool with what it returned; `result` null leaves it unanswered. */
export interface ToolSaid {
  readonly tool: string;
  readonly args: JsonObject;
  readonly result: string | null;
  readonly isError?: boolean;
  readonly files?: readonly { readonly kind: 'read' | 'wrote'; readonly path: string }[];
}

/** A call of the tool of a card, answered as it is in production. */
export interface CardSaid {
  readonly card: string;
  readonly payload: JsonObject;
}

export type CallSaid = ToolSaid | CardSaid;

/** A reply that called, or that was empty and sent back. */
export type StepSaid =
  | { readonly prose: string; readonly thinking?: string; readonly calls: readonly CallSaid[] }
  | { readonly empty: true };

export interface TurnSaid {
  readonly asked: string;
  readonly steps?: readonly StepSaid[];
  /** null: it ended before it answered. */
  readonly answer: string | null;
  readonly outcome?: Outcome;
}

export const SIMPLE_CONFIG: SessionConfig = {
  leg: 'scripted',
  policy: { name: 'plan', options: {} },
  tools: null,
  system: '',
  metadata: {},
};

export interface Conversation {
  readonly ref: SessionRef;
  readonly head: string;
  /** Writes closed turns, oldest first, and returns them as the close made them. */
  write(turns: readonly TurnSaid[]): Promise<readonly ClosedTurn[]>;
}

/** Opens a session; its head must stay free of turns from elsewhere while turns are written. */
export async function openConversation(
  engine: Engine,
  tenant: string,
  config: Partial<SessionConfig> = {},
): Promise<Conversation> {
  const ref = { tenant, session: randomUUID() };
  const head = randomUUID();
  await createSession(engine, ref, head, { ...SIMPLE_CONFIG, ...config });
  return {
    ref,
    head,
    write: async (turns) => {
      const closed: ClosedTurn[] = [];
      for (let at = 0; at < turns.length; at += TURNS_A_COMMIT)
        closed.push(...(await writeTurns(engine, ref, head, turns.slice(at, at + TURNS_A_COMMIT))));
      return closed;
    },
  };
}

async function writeTurns(
  engine: Engine,
  ref: SessionRef,
  head: string,
  turns: readonly TurnSaid[],
): Promise<readonly ClosedTurn[]> {
  const state = await engine.store.loadSession(ref, null);
  if (state === null) throw new Error(`there is no session ${ref.session}`);
  const builder = new CommitBuilder(state.session);
  const closed = turns.map((turn) => writeTurn(engine, builder, head, turn));
  const result = await engine.commit(builder.build());
  if (result !== 'applied') throw new Error(`turns were not written: ${result}`);
  return closed;
}

function writeTurn(engine: Engine, builder: CommitBuilder, head: string, said: TurnSaid): ClosedTurn {
  const context = engine.hopContext();
  const turn = randomUUID();
  const number = builder.takeTurnNumber();
  const reading = readLexically(said.asked);
  const opening: readonly RecordDraft[] = [
    {
      kind: 'turn-accepted',
      turnId: turn,
      body: {
        number,
        input: [{ type: 'text', text: said.asked }],
        mode: 'enqueue',
        priority: 0,
        asked: { digest: 'd' },
      },
    },
    {
      kind: 'reading',
      turnId: turn,
      body: reading,
    },
    {
      kind: 'turn-context',
      turnId: turn,
      body: { utc: context.nowUtc, timezone: context.timezone },
    },
  ];
  for (const draft of opening) builder.append(head, draft);
  builder.lists.turns.push({ turn, head, number, priority: 0 });
  const place = { head, turn, number };
  const steps = said.steps ?? [];
  for (const [at, step] of steps.entries()) writeStep(engine, builder, place, at + 1, step);
  if (said.answer !== null) {
    const content: readonly AssistantBlock[] = [{ type: 'text', text: said.answer }];
    appendMessage(builder, place, steps.length + 1, content);
  }
  return closeTurn(
    builder,
    context,
    hopOf(builder, place),
    { actor: turn, turn, head, priority: 0 },
    {
      outcome: said.outcome ?? 'completed',
      reason: said.outcome === undefined ? 'answered' : 'said so',
      steps: steps.length + (said.answer === null ? 0 : 1),
    },
  );
}

interface Place {
  readonly head: string;
  readonly turn: string;
  readonly number: number;
}

/** The hop of an event that ends a running turn with nothing behind it; all its records are in the builder. */
function hopOf(builder: CommitBuilder, { turn, head, number }: Place): Parameters<typeof closeTurn>[2] {
  return {
    loaded: {
      session: builder.session,
      actor: {
        actor: turn,
        turn,
        machine: 'turn',
        version: 1,
        revision: 1,
        snapshot: '{}',
        status: 'active',
        openChildren: [],
      },
      turn: { head, number, status: 'running', priority: 0 },
      next: null,
    },
    event: { id: 'written', event: { type: 'written' } },
    records: [],
    config: null,
    items: null,
  };
}

function writeStep(engine: Engine, builder: CommitBuilder, place: Place, step: number, said: StepSaid): void {
  if ('empty' in said) {
    appendMessage(builder, place, step, []);
    builder.append(place.head, { kind: 'nudge', turnId: place.turn, body: { step, check: 'empty-step' } });
    return;
  }
  const id = (index: number) => `t${place.number}s${step}c${index}`;
  const content: AssistantBlock[] = [
    ...(said.thinking === undefined ? [] : [{ type: 'thinking' as const, text: said.thinking }]),
    ...(said.prose === '' ? [] : [{ type: 'text' as const, text: said.prose }]),
    ...said.calls.map((call, index) => ({
      type: 'tool_call' as const,
      id: id(index),
      name: 'card' in call ? toolOfCard(engine, call.card) : call.tool,
      args: 'card' in call ? call.payload : call.args,
    })),
  ];
  appendMessage(builder, place, step, content);
  for (const [index, call] of said.calls.entries()) {
    if ('card' in call || call.result === null) continue;
    addTo(
      builder,
      place.head,
      place.turn,
      resultOf(call, { step, index, callId: id(index) }, place.turn, builder.takeEvidence()),
    );
  }
  const calls = said.calls.flatMap((call, index) => ('card' in call ? [index] : []));
  if (calls.length === 0) return;
  const context = { ...engine.hopContext(), config: SIMPLE_CONFIG, items: null };
  answerInHop(builder, context, [], place, { step, calls, withheld: [], again: false });
}

function toolOfCard(engine: Engine, type: string): string {
  const card = engine.hopContext().cards.byType(type);
  if (card === undefined) throw new Error(`there is no card of type ${type}`);
  return card.tool;
}

function appendMessage(
  builder: CommitBuilder,
  { head, turn }: Place,
  step: number,
  content: readonly AssistantBlock[],
): void {
  const finish = content.some(({ type }) => type === 'tool_call') ? 'tool_calls' : 'stop';
  builder.append(head, {
    kind: 'assistant-message',
    turnId: turn,
    body: { step, content: [...content], finish },
  });
}

/** A result as the worker of its call records it: a window where it is long, and the whole beside it. */
function resultOf(
  { tool, result, isError = false, files }: ToolSaid,
  at: { readonly step: number; readonly index: number; readonly callId: string },
  turnId: string,
  ordinal: number,
): Additions {
  const evidence = evidenceId(ordinal);
  const whole = result ?? '';
  const content = windowResult(whole, { evidenceId: evidence, guard: escapeMarkers });
  const windowed = content !== whole;
  const { text, shape } = digestResult({ evidence, content: whole, isError });
  const drafts: RecordDraft[] = [
    {
      kind: 'tool-result',
      turnId,
      body: {
        ...at,
        name: tool,
        status: isError ? 'error' : 'ok',
        evidence,
        content,
        windowed,
        ...(windowed ? { digest: text, shape } : {}),
        ...(files === undefined ? {} : { files: [...files] }),
      },
    },
  ];
  if (windowed) drafts.push({ kind: 'evidence-body', turnId, body: { evidence, content: whole } });
  return { drafts, evidence: [{ ordinal, tool, draft: drafts.length - 1 }] };
}
