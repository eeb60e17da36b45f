/** The requests that measure a model, and when they are sent. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { prefixOf } from '../../../src/context/assemble/prefix.ts';
import { weighMessages } from '../../../src/context/assemble/weigh.ts';
import { cacheRequest, judgeCache } from '../../../src/context/capacity/cache-rung.ts';
import { isLocalLeg, probeDue } from '../../../src/context/capacity/due.ts';
import { probeCodes, probeRequest, readProbeReply } from '../../../src/context/capacity/filler.ts';
import { metadataProfile } from '../../../src/context/capacity/metadata.ts';
import type { CapacityProfile } from '../../../src/context/capacity/profile.ts';
import type { ChatMessage, ChatRequest } from '../../../src/context/request.ts';
import type { AssistantBlock } from '../../../src/ledger/blocks.ts';
import { canonicalJson, type Json } from '../../../src/ledger/json.ts';

const UNIT = 4;

function weigh({ system, tools, messages }: ChatRequest): number {
  return prefixOf(system, tools).bytes + weighMessages(messages);
}

function textOf(message: ChatMessage | undefined): string {
  return (message?.content ?? [])
    .map((block) => (block.type === 'text' ? block.text : block.type === 'tool_result' ? block.content : ''))
    .join('');
}

function questionsOf({ messages }: ChatRequest): readonly string[] {
  return messages.slice(0, -1).flatMap((message, at) => (at % UNIT === 0 ? [textOf(message)] : []));
}

describe('a probe request', () => {
  const size = { targetTokens: 8_000, tokensPerByte: 0.25, seed: 'seed' };

  it('CAP-05 F2 has the target size by the bytes of the whole request, within one unit and never above', () => {
    const leastBytes = probeRequest({ ...size, targetTokens: 1 }).requestBytes;
    fc.assert(
      fc.property(
        fc.integer({ min: 2_000, max: 40_000 }),
        fc.double({ min: 0.15, max: 0.5, noNaN: true }),
        fc.string({ maxLength: 8 }),
        (targetTokens, tokensPerByte, seed) => {
          const { request, requestBytes } = probeRequest({ targetTokens, tokensPerByte, seed });
          const tokens = requestBytes * tokensPerByte;
          const units = (request.messages.length - 1) / UNIT;
          const largestUnitBytes = Math.max(
            ...Array.from({ length: units }, (_, at) =>
              weighMessages(request.messages.slice(at * UNIT, (at + 1) * UNIT)),
            ),
          );
          expect(requestBytes).toBe(weigh(request));
          expect(tokens).toBeLessThanOrEqual(Math.max(targetTokens, 1.2 * leastBytes * tokensPerByte));
          expect(tokens + 1.2 * largestUnitBytes * tokensPerByte).toBeGreaterThan(targetTokens);
          if (units > 3) expect(tokens).toBeLessThanOrEqual(targetTokens);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('CAP-05 smaller than its fixed part is the fixed part and three units', () => {
    const least = probeRequest({ ...size, targetTokens: 1 });
    expect(least).toEqual(probeRequest({ ...size, targetTokens: 500 }));
    expect(least.request.messages).toHaveLength(3 * UNIT + 1);
    expect(least.requestBytes * 0.25).toBeLessThan(1_000);
  });

  it('CAP-05 has the shape of turns: question, lookup, two pages with an evidence line, an answer', () => {
    const { request } = probeRequest(size);
    const { messages } = request;
    expect((messages.length - 1) % UNIT).toBe(0);
    for (let at = 0; at < messages.length - 1; at += UNIT) {
      const [question, call, result, reply] = messages.slice(at, at + UNIT);
      expect([question, call, result, reply].map((message) => message?.role)).toEqual([
        'user',
        'assistant',
        'user',
        'assistant',
      ]);
      const [asked] = call?.content ?? [];
      const [found] = result?.content ?? [];
      expect(asked).toMatchObject({ type: 'tool_call', name: 'lookup', args: { query: expect.any(String) } });
      expect(found).toMatchObject({
        type: 'tool_result',
        callId: asked?.type === 'tool_call' ? asked.id : '',
      });
      const [list = '', tag] = textOf(result).split('\n');
      expect(JSON.parse(list)).toEqual([
        { title: expect.any(String), url: expect.stringMatching(/^https:/) },
        { title: expect.any(String), url: expect.stringMatching(/^https:/) },
      ]);
      expect(tag).toMatch(/^\[evidence:e\d+\]$/);
      const words = textOf(reply).split(' ').length;
      expect(words).toBeGreaterThanOrEqual(25);
      expect(words).toBeLessThanOrEqual(35);
    }
    expect(request.tools.map(({ name }) => name)).toEqual(['lookup', 'probe_ack']);
    const ids = messages.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool_call' ? [block.id] : [])),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('CAP-05 is the same bytes each time, and other bytes with another seed', () => {
    const first = canonicalJson(probeRequest(size));
    expect(canonicalJson(probeRequest({ ...size }))).toBe(first);
    expect(canonicalJson(probeRequest({ ...size, seed: 'other' }))).not.toBe(first);
    const questions = questionsOf(probeRequest(size).request).map((text) =>
      text.replace(/^Question \d+/, ''),
    );
    expect(new Set(questions).size).toBeGreaterThan(0.9 * questions.length);
  });

  it('CAP-05 names a code at the end of the first, a middle and the last question, and asks for all three', () => {
    for (const targetTokens of [1, 1_500, 30_000]) {
      const { request } = probeRequest({ ...size, targetTokens });
      const codes = probeCodes(size.seed);
      const questions = questionsOf(request);
      const at = (name: string, code: string) =>
        questions.findIndex((text) => text.endsWith(` The ${name} code is ${code}.`));
      const middle = at('middle', codes.middle);
      expect(at('head', codes.head)).toBe(0);
      expect(at('tail', codes.tail)).toBe(questions.length - 1);
      expect(Math.abs(middle - (questions.length - 1) / 2)).toBeLessThanOrEqual(0.5);
      expect(textOf(request.messages.at(-1))).toMatch(/call probe_ack once/i);
      const inputSchema = request.tools[1]?.inputSchema;
      expect(inputSchema?.required).toEqual(['head', 'middle', 'tail']);
    }
    const codes = Object.values(probeCodes(size.seed));
    expect(new Set(codes).size).toBe(3);
    for (const code of codes) expect(code).toMatch(/^[a-z]+-\d{4}$/);
  });

  it('CAP-05 carries no cache hints, and leaves room for the codes', () => {
    const { request } = probeRequest(size);
    expect(request.cache).toBeUndefined();
    expect(request.maxTokens).toBe(96);
  });
});

describe('a probe reply', () => {
  const codes = { head: 'heron-1000', middle: 'amber-2000', tail: 'cobalt-3000' };
  const call = (name: string, args: Json): AssistantBlock => ({ type: 'tool_call', id: 'c', name, args });
  const none = { head: false, middle: false, tail: false };

  it('CAP-05 followed when any call is probe_ack, whatever it carries', () => {
    const all = readProbeReply({ content: [call('lookup', {}), call('probe_ack', codes)] }, codes);
    expect(all).toEqual({ followed: true, echoed: { head: true, middle: true, tail: true } });
    for (const args of [null, {}, 'heron-1000', { head: 'heron' }])
      expect(readProbeReply({ content: [call('probe_ack', args)] }, codes)).toEqual({
        followed: true,
        echoed: none,
      });
    const text: AssistantBlock = { type: 'text', text: 'probe_ack heron-1000' };
    expect(readProbeReply({ content: [text, call('lookup', codes)] }, codes)).toEqual({
      followed: false,
      echoed: none,
    });
  });

  it('CAP-05 tells which codes came back', () => {
    const part = { head: codes.tail, middle: codes.middle, tail: codes.tail };
    expect(readProbeReply({ content: [call('probe_ack', part)] }, codes).echoed).toEqual({
      head: false,
      middle: true,
      tail: true,
    });
  });
});

describe('the cache rung', () => {
  const seen = (cacheReadTokens: number | null, firstTokenMs: number | null, failed = false) => ({
    cacheReadTokens,
    firstTokenMs,
    failed,
  });
  const cacheOf = (...pair: Parameters<typeof judgeCache>) => judgeCache(...pair).cache;

  it('CAP-06 believes the provider’s count on the second request', () => {
    expect(cacheOf(seen(0, 900), seen(3_000, 900))).toBe('provider-reported');
    expect(cacheOf(seen(3_000, 900), seen(0, 900))).toBe('none');
  });

  it('CAP-06 takes five times sooner for a kept prompt, and anything less for none', () => {
    expect(cacheOf(seen(null, 1_000), seen(null, 200))).toBe('prefix-stable');
    expect(cacheOf(seen(null, 1_000), seen(null, 201))).toBe('none');
    expect(cacheOf(seen(null, 0), seen(null, 0))).toBe('none');
    expect(cacheOf(seen(null, 1_000), seen(null, null))).toBe('none');
    expect(cacheOf(seen(null, null), seen(null, 0))).toBe('none');
  });

  it('CAP-06 knows nothing when a request failed', () => {
    expect(cacheOf(seen(null, null, true), seen(3_000, 10))).toBe('unknown');
    const { cache, rung } = judgeCache(seen(0, 900), seen(3_000, 10, true));
    expect([cache, rung.verdict]).toEqual(['unknown', 'failed']);
  });

  it('CAP-06 notes both latencies', () => {
    const { signals, rung } = judgeCache(seen(null, 1_234), seen(null, 56));
    expect(signals.join()).toMatch(/1234 ms.*56 ms/);
    expect(rung).toMatchObject({ kind: 'cache', verdict: 'read' });
  });

  it('CAP-06 sends some 4,000 tokens that the ladder did not send, all of them to be kept', () => {
    const { request, requestBytes } = cacheRequest(0.25, 'seed');
    expect(requestBytes * 0.25).toBeGreaterThan(4_096);
    expect(requestBytes * 0.25).toBeLessThanOrEqual(4_400);
    expect(requestBytes).toBe(weigh(request));
    expect(request.cache?.breakpoints).toEqual([request.messages.length - 1]);
    const ladder = probeRequest({ targetTokens: 4_400, tokensPerByte: 0.25, seed: 'seed' }).request;
    expect(textOf(request.messages[0])).not.toBe(textOf(ladder.messages[0]));
    expect(cacheRequest(0.25, 'seed')).toEqual(cacheRequest(0.25, 'seed'));
  });
});

describe('when a model is measured', () => {
  const HOUR = 3_600_000;
  const NOW = 1_000 * HOUR;

  function probed(change: Partial<CapacityProfile> = {}, agoMs = 0): CapacityProfile {
    const profile = metadataProfile({
      operatorWindow: null,
      operatorMaxOutput: null,
      providerWindow: 32_768,
      providerMaxOutput: null,
      catalogueWindow: null,
      catalogueMaxOutput: null,
      metadataDigest: 'd1',
      probedAtMs: NOW - agoMs,
    });
    const rung = { kind: 'horizon', targetTokens: 4_000, verdict: 'followed' } as const;
    return { ...profile, provenance: { ...profile.provenance, rungs: [rung] }, ...change };
  }

  const due = (profile: CapacityProfile, change: Partial<Parameters<typeof probeDue>[0]> = {}) =>
    probeDue({ profile, isLocal: true, hosted: 'off', nowMs: NOW, metadataDigest: 'd1', ...change });

  it('CAP-03 a model known by metadata alone is due, however fresh', () => {
    const { provenance } = probed();
    const rungs = [{ kind: 'metadata', targetTokens: null, verdict: 'read' }] as const;
    expect(due(probed({ provenance: { ...provenance, rungs } }))).toBe('unmeasured');
    expect(due(probed({ provenance: { ...provenance, rungs: [] } }))).toBe('unmeasured');
    expect(due(probed())).toBeNull();
  });

  it('CAP-03 a measure is stale after a day for a local model and a week for a hosted one', () => {
    const hosted = { isLocal: false, hosted: 'full' } as const;
    expect(due(probed({}, 24 * HOUR))).toBeNull();
    expect(due(probed({}, 24 * HOUR + 1))).toBe('stale');
    expect(due(probed({}, 7 * 24 * HOUR), hosted)).toBeNull();
    expect(due(probed({}, 7 * 24 * HOUR + 1), hosted)).toBe('stale');
  });

  it('CAP-03 a clock that went backwards makes nothing stale', () => {
    expect(due(probed({}, -900 * HOUR))).toBeNull();
  });

  it('CAP-03 a model described otherwise, or in need of it, is due again', () => {
    expect(due(probed(), { metadataDigest: 'd2' })).toBe('metadata-changed');
    expect(due(probed(), { metadataDigest: null })).toBeNull();
    expect(due(probed({ needsReprobe: true }))).toBe('needs-reprobe');
  });

  it('CAP-08 a hosted model is measured only where the operator says full', () => {
    const wanting = probed({ needsReprobe: true });
    expect(due(wanting, { isLocal: false, hosted: 'off' })).toBeNull();
    expect(due(wanting, { isLocal: false, hosted: 'full' })).toBe('needs-reprobe');
    expect(due(wanting, { isLocal: true, hosted: 'off' })).toBe('needs-reprobe');
  });

  it('CAP-03 a model is local when it is Ollama’s or its address is the machine itself', () => {
    const at = (baseUrl?: string) => isLocalLeg({ provider: 'compatible', baseUrl });
    expect(isLocalLeg({ provider: 'ollama' })).toBe(true);
    expect(isLocalLeg({ provider: 'ollama', baseUrl: 'http://10.0.0.9:11434' })).toBe(true);
    for (const host of ['localhost', 'LOCALHOST', 'llm.localhost', '127.0.0.1', '127.3.2.1', '[::1]'])
      expect([host, at(`http://${host}:8000/v1`)]).toEqual([host, true]);
    expect(at('http://[::ffff:127.0.0.1]/v1')).toBe(true);
    for (const url of [
      'https://api.example.com/v1',
      'http://localhost.example.com',
      'http://notlocalhost',
      'http://127.0.0.1.example.com',
      'http://128.0.0.1',
      'https://example.com/?at=localhost',
      'no address',
    ])
      expect([url, at(url)]).toEqual([url, false]);
    expect(at()).toBe(false);
  });
});
