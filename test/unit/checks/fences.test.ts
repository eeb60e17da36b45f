import { describe, expect, it } from 'vitest';
import { malformedFence, repeatedFences } from '../../../src/checks/fences.ts';
import { BUILTIN_CARDS, createCards } from '../../../src/context/cards/index.ts';
import { type PresentContext, presentCall } from '../../../src/context/cards/present.ts';
import type { JsonObject } from '../../../src/ledger/json.ts';
import type { Presentation } from '../../../src/ledger/presentation.ts';

const cards = createCards(BUILTIN_CARDS);
const fresh: PresentContext = { id: 'p1', earlier: [], evidence: [] };
const copper = { title: 'Copper', value: 4.1 };

function fence(value: JsonObject): string {
  return `\`\`\`card\n${JSON.stringify(value)}\n\`\`\``;
}

function made(args: JsonObject): Presentation {
  const call = { name: 'emit_metric_card', args, id: 'c', step: 1, index: 0 };
  const presented = presentCall(cards, call, fresh);
  if (presented.kind !== 'presented') throw new Error(presented.kind);
  return presented.presentation;
}

describe('malformed fences', () => {
  it('CHK-06 a fence that makes a card, and a text without any, have no fault', () => {
    expect(malformedFence(cards, `So:\n${fence({ type: 'metric', ...copper })}`)).toBeNull();
    expect(malformedFence(cards, 'So it is.\n```json\n{"a":\n```')).toBeNull();
  });

  it.each([
    ['never closed', '```card\n{"type":"metric"', /never closed/],
    ['no JSON', '```card\n{"type": metric}\n```', /one JSON object/],
    ['no type', '```card\n{"title":"Copper"}\n```', /"type" must be a string/],
    ['an unknown type', fence({ type: 'gauge', title: 'x' }), /no card of type "gauge"/],
    ['a member missing', fence({ type: 'metric', title: 'Copper' }), /value: found nothing/],
  ])('CHK-06 the fault of a fence is told: %s', (_, text, fault) => {
    expect(malformedFence(cards, text)).toMatch(fault);
  });

  it('CHK-06 the first faulty fence is told, behind one that is right', () => {
    const text = `${fence({ type: 'metric', ...copper })}\n${fence({ type: 'metric' })}`;
    expect(malformedFence(cards, text)).toMatch(/type metric does not fit/);
  });
});

describe('repeated fences', () => {
  const text = `${fence({ type: 'metric', value: 4.1, title: 'Copper' })}\n${fence({ type: 'metric', title: 'Tin', value: 2 })}`;

  it('CHK-06 a fence that repeats the payload of a call is counted, whatever the order of its members', () => {
    expect(repeatedFences(cards, text, [made(copper)])).toBe(1);
    expect(repeatedFences(cards, `${text}\n${text}`, [made(copper)])).toBe(2);
  });

  it('CHK-06 a fence of its own, and one that repeats a fence, are none', () => {
    expect(repeatedFences(cards, text, [])).toBe(0);
    expect(repeatedFences(cards, text, [made({ title: 'Zinc', value: 3 })])).toBe(0);
    const byFence: Presentation = { ...made(copper), source: { kind: 'fence', step: 1 } };
    expect(repeatedFences(cards, text, [byFence])).toBe(0);
  });
});
