/** The answer to one card call or fence: a presentation to record, a repeat of one, or a message for repair. */
import { canonicalJson, type Json } from '../../ledger/json.ts';
import type { Presentation } from '../../ledger/presentation.ts';
import type { CardCheck, CardDefinition } from './define.ts';
import { explainCall, explainFence, quoted } from './explain.ts';
import { FENCE_FAULTS, type Fence } from './fences.ts';
import type { Cards } from './registry.ts';

export interface PresentContext {
  /** `p<n>` the next presentation gets. */
  readonly id: string;
  /** What this turn presented before, oldest first. */
  readonly earlier: readonly Presentation[];
  /** Evidence ids of the turn's results so far that answer no card call, in the order of their calls. */
  readonly evidence: readonly string[];
}

/** `step` and `index` tell calls apart where a provider gave one id twice. */
export interface CardCall {
  readonly name: string;
  readonly args: Json;
  readonly id: string;
  readonly step: number;
  readonly index: number;
}

/** `ack` is the whole result the model sees: it holds the payload already, in its own words. */
export type Presented =
  | { readonly kind: 'presented'; readonly presentation: Presentation; readonly ack: string }
  /** `of` shows the same payload in this turn already: nothing is written. */
  | { readonly kind: 'repeated'; readonly of: string; readonly ack: string }
  | { readonly kind: 'refused'; readonly message: string };

export function presentCall(cards: Cards, call: CardCall, context: PresentContext): Presented {
  const card = cards.byTool(call.name);
  if (card === undefined) {
    const names = cards.all.map(({ tool }) => tool).join(', ') || 'none';
    return refused(`There is no card tool ${quoted(call.name)}. The card tools are: ${names}.`);
  }
  const checked = card.check(call.args);
  if (!checked.ok) return refused(explainCall(card.tool, checked.problems));
  const { id: callId, step, index } = call;
  return present(card, checked, { kind: 'tool-call', callId, step, index }, context);
}

/** A fence counts for the accepted answer only: the caller knows which step's text that is. */
export function presentFence(cards: Cards, fence: Fence, step: number, context: PresentContext): Presented {
  if (fence.kind === 'malformed')
    return refused(`A card fence ${FENCE_FAULTS[fence.fault]}. Correct it and write the answer again.`);
  const card = cards.byType(fence.type);
  if (card === undefined) {
    const types = cards.all.map(({ type }) => type).join(', ') || 'none';
    return refused(`There is no card of type ${quoted(fence.type)}. The types are: ${types}.`);
  }
  const checked = card.check(fence.payload);
  if (!checked.ok) return refused(explainFence(card.type, checked.problems));
  return present(card, checked, { kind: 'fence', step }, context);
}

function present(
  card: CardDefinition,
  checked: Extract<CardCheck, { readonly ok: true }>,
  source: Presentation['source'],
  context: PresentContext,
): Presented {
  const { payload, payloadDigest, title, identity } = checked;
  const twin = context.earlier.find((earlier) => earlier.payloadDigest === payloadDigest);
  if (twin !== undefined) {
    const of = twin.presentation;
    return { kind: 'repeated', of, ack: canonicalJson({ ok: true, presentation: of, repeated: true }) };
  }
  const presentation: Presentation = {
    presentation: context.id,
    source,
    type: card.type,
    schemaVersion: card.schemaVersion,
    title,
    payload,
    payloadDigest,
    digest: identity,
    derivedFrom: [...context.evidence],
  };
  return { kind: 'presented', presentation, ack: canonicalJson({ ok: true, presentation: context.id }) };
}

function refused(message: string): Presented {
  return { kind: 'refused', message };
}
