import { describe, expect, it } from 'vitest';
import { TURN_EVENTS } from '../../../src/api/event-table.ts';
import { EVENT_KINDS, eventOf, isClosing, renderEvent } from '../../../src/api/events.ts';
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
    packet: null,
    degraded: false,
    promoted: [{ number: 2, by: 'link', value: 0.5, path: [SECRET] }],
    continues: null,
    reset: null,
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
  nudge: { step: 2, check: 'stop-gate', reasons: [SECRET] },
  statement: { step: 2, check: 'freshness', text: 'No current value was retrieved.' },
  'surface-grown': { step: 2, by: 'found', tools: ['plot'] },
  misread: { step: 2, tool: 'plot', act: 'answer', domains: [] },
  'route-fallback': { step: 2, from: 'a', to: 'b', code: 'overloaded' },
  'call-retrying': { child: 'step-2', attempt: 1, code: 'rate_limited', delayMs: 500 },
  'capacity-feedback': { leg: 'a', reason: 'over-length', rejectedTokens: 9, limitTokens: 8 },
  packet: { from: 1, to: 8, text: SECRET, quality: 'model' },
  evicted: { from: 3, to: 9, note: SECRET, author: 'model' },
  reset: { behind: 4, throughStep: 2, text: SECRET, quality: 'deterministic' },
  'compaction-failed': { purpose: 'packet', from: 1, to: 8, code: 'auth', problem: SECRET },
  'prefix-changed': { from: 'd1', to: 'd2', part: 'tool read', bytes: 900 },
  presentation: {
    presentation: 'p3',
    source: { kind: 'fence', step: 2 },
    type: 'metric',
    schemaVersion: 1,
    title: 'Humidity',
    payload: { title: 'Humidity', value: '41' },
    payloadDigest: 'd',
    digest: 'Humidity 41',
    derivedFrom: ['e1'],
  },
  'actor-parked': { actor: 'x', reason: 'unknown state' },
  'turn-steered': { step: 3, upTo: 2 },
  'turn-waiting': { for: 'outcome', calls: ['tool-2-0'] },
  'turn-decided': { for: 'outcome', decision: 'rerun' },
  'turn-closed': { outcome: 'degraded', reason: 'step_budget', steps: 4 },
};

const of = (kind: string, body: unknown = BODIES[kind]) => eventOf({ seq: 7, kind, turnId: 'turn', body });

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
      const entry: { source: string; alsoFrom?: readonly string[] } = TURN_EVENTS[event?.type ?? 'turn.plan'];
      expect([entry.source, ...(entry.alsoFrom ?? [])]).toContain(kind);
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

  it('PLN-01 tells of a plan which turns it promoted, by number, and the packet where it has one', () => {
    const bare = {
      policy: 'plan',
      runs: [{ from: 1, to: 2, fidelity: 'full' }],
      promoted: [2],
      degraded: false,
      budget_tokens: 10,
      spent_tokens: 5,
      left_out: 0,
    };
    expect(of('context-plan')).toMatchObject({ type: 'turn.plan', data: bare });
    expect(of('context-plan')?.data).toEqual(bare);
    const packet = { from: 1, to: 8, quality: 'model', bytes: 900, seq: 40 };
    const body = { ...(BODIES['context-plan'] as object), packet, degraded: true };
    expect(of('context-plan', body)?.data).toEqual({
      ...bare,
      degraded: true,
      packet: { from: 1, to: 8, quality: 'model' },
    });
  });

  it('PLN-02 PLN-04 tells one thing of a packet, a handoff and a failure, and what each of them stands for', () => {
    const compacted = (data: unknown) => ({ id: '7', type: 'context.compacted', data });
    expect(of('packet')).toEqual(compacted({ by: 'packet', from: 1, to: 8, quality: 'model' }));
    expect(of('reset')).toEqual(
      compacted({ by: 'handoff', behind: 4, through_step: 2, quality: 'deterministic' }),
    );
    expect(of('compaction-failed')).toEqual(compacted({ by: 'packet', from: 1, to: 8, failed: 'auth' }));
    const handoff = { purpose: 'handoff', from: 0, to: 0, code: 'no_room', problem: SECRET };
    expect(of('compaction-failed', handoff)).toEqual(compacted({ by: 'handoff', failed: 'no_room' }));
  });

  it('ASM-03 tells of another prefix the first part that differs, and EVI-04 of a card all that is shown', () => {
    expect(of('prefix-changed')).toMatchObject({
      type: 'prefix.changed',
      data: { from: 'd1', to: 'd2', part: 'tool read', bytes: 900 },
    });
    expect(of('presentation')?.data).toEqual({
      id: 'p3',
      type: 'metric',
      title: 'Humidity',
      payload: { title: 'Humidity', value: '41' },
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
