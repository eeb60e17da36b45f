/** Turns for tests of what eviction renders and names: folded from the bodies of their records. */
import type { BodyOf, RecordKind } from '../../../../src/ledger/kinds.ts';
import { foldTurn, type TurnView } from '../../../../src/ledger/view.ts';

export type Written = {
  [Kind in RecordKind]: { readonly kind: Kind; readonly body: BodyOf<Kind> };
}[RecordKind];

export function text(value: string) {
  return { type: 'text' as const, text: value };
}

export function call(name: string, args: Readonly<Record<string, string>> = {}) {
  return { type: 'tool_call' as const, id: `c-${name}`, name, args };
}

/** Step `step` is item `step + 10`; the prompt of every turn here is item 10. */
export function said(
  step: number,
  ...content: BodyOf<'assistant-message'>['content']
): Extract<Written, { kind: 'assistant-message' }> {
  return { kind: 'assistant-message', body: { item: step + 10, step, content, finish: 'stop' } };
}

export function result(step: number, index: number, content: string): Written {
  const rest = { status: 'ok', evidence: `e${index}`, windowed: false } as const;
  return { kind: 'tool-result', body: { step, index, callId: `c-${index}`, name: 'look', content, ...rest } };
}

export function steering(value: string): Written {
  return { kind: 'steering', body: { input: [text(value)], asked: { digest: 'd' } } };
}

export function turnOf(
  input: BodyOf<'turn-accepted'>['input'],
  written: readonly Written[] = [],
  { begun = true } = {},
): TurnView {
  const asked = { mode: 'enqueue', priority: 0, asked: { digest: 'd' } } as const;
  const opening: readonly Written[] = [
    { kind: 'turn-accepted', body: { number: 1, input, ...asked } },
    ...(begun
      ? [{ kind: 'turn-context', body: { item: 10, utc: '2026-01-05', timezone: 'UTC' } } as const]
      : []),
  ];
  return foldTurn(
    [...opening, ...written].map((record, at) => ({
      ...record,
      seq: at + 1,
      class: 'protocol',
      turnId: 't',
    })),
  );
}
