/** Every event of a turn's stream: what it means, what it carries, and the kind of record it is read from. */
import type { RecordKind } from '../ledger/kinds.ts';

export interface EventEntry {
  readonly meaning: string;
  /** Members of `data`, in words. */
  readonly data: string;
  /** Durable: the record it comes from. Live: a frame of the bus. */
  readonly source: RecordKind | 'live';
  /** Other records that tell the same. */
  readonly alsoFrom?: readonly RecordKind[];
}

export const TURN_EVENTS = {
  'turn.accepted': {
    meaning: 'The directive is stored; the turn will end, whatever happens to any process.',
    data: 'turn, number, mode',
    source: 'turn-accepted',
  },
  'turn.reading': {
    meaning: 'The directive was read: by its words at once, by a classifier where they leave it unclear.',
    data: 'source, act, domains, confidence',
    source: 'reading',
  },
  'turn.plan': {
    meaning: 'The history the turn carries was chosen.',
    data: 'policy, runs, packet {from, to, quality}?, promoted [numbers], degraded, budget_tokens, spent_tokens, left_out',
    source: 'context-plan',
  },
  'turn.recovering': {
    meaning: 'The provider refused the prompt as too long; the turn is planned again, smaller.',
    data: 'leg, reason, rejected_tokens, limit_tokens?',
    source: 'capacity-feedback',
  },
  'step.started': {
    meaning: 'A model call began.',
    data: 'step, attempt, leg',
    source: 'live',
  },
  'step.delta': {
    meaning: 'A piece of the reply, as it is written. Pieces may be missing; step.completed holds the whole.',
    data: 'step, attempt, text',
    source: 'live',
  },
  'step.discarded': {
    meaning:
      'The reply will not stand: drop what was shown of it. Its provider failed (with attempt), or a check sent it back.',
    data: 'step, attempt, reason',
    source: 'live',
    alsoFrom: ['nudge'],
  },
  'step.retrying': {
    meaning: 'A call failed and is tried again after a delay.',
    data: 'child, attempt, code, delay_ms',
    source: 'call-retrying',
  },
  'step.fallback': {
    meaning: 'A leg gave no answer, and the same request went to the next of the ladder.',
    data: 'step, from, to, code',
    source: 'route-fallback',
  },
  'step.completed': {
    meaning: 'A model call ended with a reply.',
    data: 'step, finish, text, tool_calls [{index, id, name}]',
    source: 'assistant-message',
  },
  'check.fired': {
    meaning:
      'A check of the reply had a finding, and what followed: redo (the reply goes back), withheld (a card is not shown), refused (the turn ends on the words of the system), noted.',
    data: 'step, check, verdict, reasons',
    source: 'check-fired',
  },
  'turn.stated': {
    meaning: 'The system answers in the place of the model: the reply of the step does not stand.',
    data: 'step, check, text',
    source: 'statement',
  },
  'surface.grown': {
    meaning: 'Tools, skills or the list of a server join the requests from the next step on.',
    data: 'step, by (found, named, called, activated or listed), tools, skills, server',
    source: 'surface-grown',
  },
  'surface.misread': {
    meaning: 'The model used a tool that the reading of the directive had not loaded.',
    data: 'step, tool, act, domains',
    source: 'misread',
  },
  'context.compacted': {
    meaning:
      'A summary stands for what leaves the requests: a packet for older turns, a handoff for those and for the steps of a turn that outgrew its model. With failed, none could be written, and the turn goes on with what is made without a model.',
    data: 'by (packet or handoff); of a packet from, to, quality; of a handoff behind, through_step, quality; instead of quality: failed',
    source: 'packet',
    alsoFrom: ['reset', 'compaction-failed'],
  },
  'context.evicted': {
    meaning:
      'Items left the requests: the model took them out, the harness, or an operator. They stay in the transcript.',
    data: 'from, to (numbers of items), by (model, harness or operator), noted',
    source: 'evicted',
  },
  'prefix.changed': {
    meaning:
      'System text or tools are other than before, so what follows the first difference is sent uncached.',
    data: 'from, to, part, bytes',
    source: 'prefix-changed',
  },
  presentation: {
    meaning: 'The turn shows a card.',
    data: 'id, type, title, payload',
    source: 'presentation',
  },
  'tool.started': { meaning: 'A tool call began.', data: 'step, index, name', source: 'live' },
  'tool.completed': {
    meaning: 'A tool call has its result.',
    data: 'step, index, name, status, evidence, windowed',
    source: 'tool-result',
  },
  'turn.steered': {
    meaning: 'What was said meanwhile is part of the turn from this step on.',
    data: 'step, messages',
    source: 'turn-steered',
  },
  'turn.waiting': {
    meaning:
      'A person must allow calls (approve or deny) or decide about calls whose outcome is unknown (decide), or the client must make calls (tool_result), by a signal.',
    data: 'for, calls',
    source: 'turn-waiting',
  },
  'turn.decided': {
    meaning: 'A person decided; the turn goes on.',
    data: 'for, decision',
    source: 'turn-decided',
  },
  'turn.parked': {
    meaning: 'No process of this version can move the turn; retry it when one can.',
    data: 'reason',
    source: 'actor-parked',
  },
  'turn.completed': {
    meaning: 'The turn ended with an answer.',
    data: 'outcome, reason, steps',
    source: 'turn-closed',
  },
  'turn.degraded': {
    meaning: 'The turn ended by a budget or a repair that ran out; what was found stands.',
    data: 'outcome, reason, steps',
    source: 'turn-closed',
  },
  'turn.failed': {
    meaning: 'The turn ended without an answer.',
    data: 'outcome, reason, steps',
    source: 'turn-closed',
  },
  'turn.cancelled': {
    meaning: 'The turn was stopped from outside; its records are kept.',
    data: 'outcome, reason, steps',
    source: 'turn-closed',
  },
} as const satisfies Record<string, EventEntry>;

export type TurnEventType = keyof typeof TURN_EVENTS;
