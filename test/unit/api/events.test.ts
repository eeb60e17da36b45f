import { describe, expect, it } from 'vitest';
import { EVENT_KINDS, eventOf, isClosing, renderEvent, TURN_EVENTS } from '../../../src/api/events.ts';
import { OUTCOMES, RECORD_KINDS } from '../../../src/ledger/kinds.ts';

const SECRET = 'the words of a person';

/** A body of each kind that becomes an event, with words where the kind holds words. */
const BODIES: Readonly<Record<string, unknown>> = {
  'turn-accepted': {
    number: 3,
    mode: 'enqueue',
    input: [{ type: 'text', text: SECRET }],
    metadata: { a: SECRET },
  },
  reading: { source: 'lexical', act: 'answer', domains: ['web'], confidence: 0.5 },
  'context-plan': {
    assembler: 1,
    policy: 'plan',
    runs: [{ from: 1, to: 2, fidelity: 'full' }],
    budgetTokens: 10,
    spentTokens: 5,
    leftOut: 0,
    prefixDigest: 'd',
    rejections: 0,
    profile: { note: SECRET },
  },
  'assistant-message': {
    step: 2,
    finish: 'tool_calls',
    content: [
      { type: 'thinking', text: SECRET },
      { type: 'text', text: 'Let me look.' },
      { type: 'tool_call', id: 't1s2c0', name: 'read', args: { path: SECRET } },
    ],
  },
  'tool-result': {
    step: 2,
    index: 0,
    callId: 't1s2c0',
    name: 'read',
    status: 'ok',
    evidence: 'e1',
    content: SECRET,
    windowed: true,
  },
  'check-fired': { step: 2, check: 'empty-step', verdict: 'redo' },
  'call-retrying': { child: 'step-2', attempt: 1, code: 'rate_limited', delayMs: 500 },
  'capacity-feedback': { leg: 'a', reason: 'over-length', rejectedTokens: 9, limitTokens: 8 },
  packet: { from: 1, to: 8, text: SECRET, quality: 'model' },
  'actor-parked': { actor: 'x', reason: 'unknown state' },
  'turn-steered': { step: 3, upTo: 2 },
  'turn-waiting': { for: 'outcome', calls: ['tool-2-0'] },
  'turn-decided': { for: 'outcome', decision: 'rerun' },
  'turn-closed': { outcome: 'degraded', reason: 'step_budget', steps: 4 },
};

const of = (kind: string, body = BODIES[kind]) => eventOf({ seq: 7, kind, turnId: 'turn', body });

describe('the table of events', () => {
  it('makes an event of every kind it names as a source, and of no other', () => {
    for (const kind of RECORD_KINDS)
      expect([kind, of(kind, BODIES[kind] ?? {}) !== null]).toEqual([kind, EVENT_KINDS.includes(kind)]);
    expect(of('a-kind-of-tomorrow', {})).toBeNull();
  });

  it('lists every event it makes, under the source it is made from', () => {
    for (const kind of EVENT_KINDS) {
      const event = of(kind);
      expect(event?.id).toBe('7');
      expect(TURN_EVENTS[event?.type ?? 'turn.plan'].source).toBe(kind);
    }
  });

  it('closes a stream with each outcome’s own event and no other', () => {
    for (const outcome of OUTCOMES) {
      const event = of('turn-closed', { outcome, reason: 'r', steps: 1 });
      expect(event?.type).toBe(`turn.${outcome}`);
      expect(isClosing(event?.type ?? 'turn.plan')).toBe(true);
    }
    const closing = Object.keys(TURN_EVENTS).filter((type) => isClosing(type as keyof typeof TURN_EVENTS));
    expect(closing).toHaveLength(OUTCOMES.length);
  });

  it('carries the reply, and neither directives, thinking, arguments, results nor packets', () => {
    for (const kind of EVENT_KINDS) expect([kind, JSON.stringify(of(kind))]).not.toContain(SECRET);
    for (const kind of EVENT_KINDS) expect(JSON.stringify(of(kind)).includes(SECRET)).toBe(false);
    expect(of('assistant-message')?.data).toEqual({
      step: 2,
      finish: 'tool_calls',
      text: 'Let me look.',
      tool_calls: [{ index: 0, id: 't1s2c0', name: 'read' }],
    });
  });

  it('writes an event on lines no text can break out of', () => {
    const text = 'one\n\nid: 99\nevent: turn.completed\rtwo';
    const written = renderEvent({ id: '7', type: 'step.delta', data: { text } });
    expect(written.split('\n')).toHaveLength(5);
    expect(written.startsWith('id: 7\nevent: step.delta\ndata: {')).toBe(true);
    expect(written.endsWith('}\n\n')).toBe(true);
    expect(written).not.toContain('\r');
    expect(renderEvent({ id: null, type: 'turn.waiting', data: {} })).not.toContain('id:');
  });
});
