/**
 * The events of a turn's stream, made of its records. Events of records are durable and numbered by them; live ones
 * are lost when nobody follows.
 */
import type { Json, JsonObject } from '../ledger/json.ts';
import { type BodyOf, isKnownKind, type RecordKind } from '../ledger/kinds.ts';
import { toolCalls, visibleText } from '../ledger/view.ts';
import { type EventEntry, TURN_EVENTS, type TurnEventType } from './event-table.ts';

export interface TurnEvent {
  readonly id: string;
  readonly type: TurnEventType;
  readonly data: Json;
}

/** The kinds of records that are events. */
export const EVENT_KINDS: readonly RecordKind[] = [
  ...new Set(Object.values<EventEntry>(TURN_EVENTS).flatMap(sourcesOf)),
];

function sourcesOf({ source, alsoFrom = [] }: EventEntry): readonly RecordKind[] {
  return source === 'live' ? alsoFrom : [source, ...alsoFrom];
}

/** The event a record is; null for one that tells a follower nothing. */
export function eventOf(record: {
  readonly seq: number;
  readonly kind: string;
  readonly turnId: string | null;
  readonly body: unknown;
}): TurnEvent | null {
  if (!isKnownKind(record.kind)) return null;
  const read = READERS[record.kind]?.(record.body, record.turnId) ?? null;
  return read === null ? null : { id: String(record.seq), ...read };
}

type Reading = Pick<TurnEvent, 'type' | 'data'>;
type Reader = (body: unknown, turn: string | null) => Reading | null;

function reader<K extends RecordKind>(
  _kind: K,
  read: (body: BodyOf<K>, turn: string | null) => Reading | null,
): Reader {
  return (body, turn) => read(body as BodyOf<K>, turn);
}

const READERS: Readonly<Partial<Record<RecordKind, Reader>>> = {
  'turn-accepted': reader('turn-accepted', ({ number, mode }, turn) => ({
    type: 'turn.accepted',
    data: { turn, number, mode },
  })),
  reading: reader('reading', ({ source, act, domains, confidence }) => ({
    type: 'turn.reading',
    data: { source, act, domains, confidence },
  })),
  'context-plan': reader('context-plan', (plan) => ({
    type: 'turn.plan',
    data: {
      policy: plan.policy,
      runs: plan.runs,
      ...(plan.packet === null ? {} : { packet: packetData(plan.packet) }),
      promoted: plan.promoted.map(({ number }) => number),
      degraded: plan.degraded,
      budget_tokens: plan.budgetTokens,
      spent_tokens: plan.spentTokens,
      left_out: plan.leftOut,
    },
  })),
  'capacity-feedback': reader('capacity-feedback', (feedback) => {
    if (feedback.reason !== 'over-length') return null;
    const { leg, reason, rejectedTokens, limitTokens } = feedback;
    return {
      type: 'turn.recovering',
      data: {
        leg,
        reason,
        rejected_tokens: rejectedTokens,
        ...(limitTokens === undefined ? {} : { limit_tokens: limitTokens }),
      },
    };
  }),
  'route-fallback': reader('route-fallback', ({ step, from, to, code }) => ({
    type: 'step.fallback',
    data: { step, from, to, code },
  })),
  'call-retrying': reader('call-retrying', ({ child, attempt, code, delayMs }) => ({
    type: 'step.retrying',
    data: { child, attempt, code, delay_ms: delayMs },
  })),
  'assistant-message': reader('assistant-message', ({ step, finish, content }) => ({
    type: 'step.completed',
    data: {
      step,
      finish,
      text: visibleText(content),
      tool_calls: toolCalls(content).map(({ id, name }, index) => ({ index, id, name })),
    },
  })),
  'check-fired': reader('check-fired', ({ step, check, verdict, reasons }) => ({
    type: 'check.fired',
    data: { step, check, verdict, ...(reasons === undefined ? {} : { reasons }) },
  })),
  nudge: reader('nudge', ({ step, check }) => ({
    type: 'step.discarded',
    data: { step, reason: check },
  })),
  statement: reader('statement', ({ step, check, text }) => ({
    type: 'turn.stated',
    data: { step, check, text },
  })),
  'surface-grown': reader('surface-grown', ({ step, by, tools, skills, server }) => ({
    type: 'surface.grown',
    data: {
      step,
      by,
      tools,
      ...(skills === undefined ? {} : { skills }),
      ...(server === undefined ? {} : { server: server.name }),
    },
  })),
  misread: reader('misread', ({ step, tool, act, domains }) => ({
    type: 'surface.misread',
    data: { step, tool, act, domains },
  })),
  packet: reader('packet', (packet) => ({
    type: 'context.compacted',
    data: { by: 'packet', ...packetData(packet) },
  })),
  evicted: reader('evicted', ({ from, to, note, author }) => ({
    type: 'context.evicted',
    data: { from, to, by: author, noted: note !== null },
  })),
  reset: reader('reset', ({ behind, throughStep, quality }) => ({
    type: 'context.compacted',
    data: { by: 'handoff', behind, through_step: throughStep, quality },
  })),
  'compaction-failed': reader('compaction-failed', ({ purpose, from, to, code }) => ({
    type: 'context.compacted',
    data: { by: purpose, ...(purpose === 'packet' ? { from, to } : {}), failed: code },
  })),
  'prefix-changed': reader('prefix-changed', ({ from, to, part, bytes }) => ({
    type: 'prefix.changed',
    data: { from, to, part, bytes },
  })),
  presentation: reader('presentation', ({ presentation: id, type, title, payload }) => ({
    type: 'presentation',
    data: { id, type, title, payload },
  })),
  'tool-result': reader('tool-result', ({ step, index, name, status, evidence, windowed }) => ({
    type: 'tool.completed',
    data: { step, index, name, status, evidence, windowed },
  })),
  'turn-steered': reader('turn-steered', ({ step, upTo }) => ({
    type: 'turn.steered',
    data: { step, messages: upTo },
  })),
  'turn-waiting': reader('turn-waiting', ({ for: question, calls }) => ({
    type: 'turn.waiting',
    data: { for: question, calls },
  })),
  'turn-decided': reader('turn-decided', ({ for: question, decision }) => ({
    type: 'turn.decided',
    data: { for: question, decision },
  })),
  'actor-parked': reader('actor-parked', ({ reason }) => ({ type: 'turn.parked', data: { reason } })),
  'turn-closed': reader('turn-closed', ({ outcome, reason, steps }) => ({
    type: `turn.${outcome}`,
    data: { outcome, reason, steps },
  })),
};

function packetData({
  from,
  to,
  quality,
}: Pick<BodyOf<'packet'>, 'from' | 'to' | 'quality'>): Readonly<Record<string, Json>> {
  return { from, to, quality };
}

export function isClosing(type: TurnEventType): boolean {
  return TURN_EVENTS[type].source === 'turn-closed';
}

/** One event as server-sent text. An event without an id leaves the client's place where it was. */
export function renderEvent(event: Omit<TurnEvent, 'id'> & { readonly id: string | null }): string {
  const id = event.id === null ? '' : `id: ${event.id}\n`;
  return `${id}event: ${event.type}\ndata: ${JSON.stringify(event.data satisfies Json | JsonObject)}\n\n`;
}
