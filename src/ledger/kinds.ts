/**
 * Every kind of record, with the shape of its body. `protocol` records decide what a request carries and
 * refuse a replay when unknown; `display` and `forensic` ones inform people and may be skipped.
 */
import { z } from 'zod';
import { assistantBlock, inputBlock, json } from './blocks.ts';
import { contextPlan, packetQuality } from './context-plan.ts';
import { ITEM_RECORDS, itemEntry, lastMeasure } from './items.ts';
import { CHECKS, checkFired, JUDGING_RECORDS } from './judging.ts';
import { OUTCOMES } from './outcomes.ts';
import { presentation } from './presentation.ts';
import { reading } from './reading.ts';
import { misread, SURFACE_RECORDS } from './surface.ts';
import { LINK_KINDS, turnCard } from './turn-card.ts';
import { workReceipt } from './work-receipt.ts';

export const RECORD_CLASSES = ['protocol', 'display', 'forensic'] as const;
export type RecordClass = (typeof RECORD_CLASSES)[number];

export { CHECKS, type Check, type Verdict } from './judging.ts';
export { OUTCOMES, type Outcome } from './outcomes.ts';
export { CALL_PURPOSES, type CallPurpose } from './work-receipt.ts';

/** How a session chooses what its requests carry. */
export const POLICIES = ['plan', 'evict'] as const;
export type Policy = (typeof POLICIES)[number];

export const TURN_MODES = ['enqueue', 'steer', 'interrupt', 'reject'] as const;
export type TurnMode = (typeof TURN_MODES)[number];

/**
 * What a waiting turn needs from outside: consent to a call, what to do about one whose outcome is unknown, or the
 * result of one that the client makes itself.
 */
export const WAITING_FOR = ['approval', 'outcome', 'client'] as const;
export type WaitingFor = (typeof WAITING_FOR)[number];

export const DECISIONS = ['approve', 'deny', 'rerun', 'report'] as const;
export type Decision = (typeof DECISIONS)[number];

export const TOOL_STATUSES = [
  'ok',
  'error',
  'invalid_args',
  'unknown_tool',
  'timeout',
  'too_many_calls',
  'denied',
  'outcome_unknown',
  /** A check kept the call from being made. */
  'withheld',
] as const;
export type ToolStatus = (typeof TOOL_STATUSES)[number];

const count = z.int().nonnegative();

const data = z.record(z.string(), json);

/** No call is made that would pass it. */
const costBudget = z.strictObject({ microUsd: count.exactOptional(), tokens: count.exactOptional() });

/** What a producer sent: its idempotency key, if it gave one, and the digest that tells another body from the same. */
const asked = z.strictObject({ key: z.string().optional(), digest: z.string() });

const PROTOCOL = {
  'session-created': z.strictObject({
    leg: z.string(),
    ladder: z.array(z.string()).optional(),
    policy: z.strictObject({ name: z.enum(POLICIES), options: data }),
    tools: z.array(z.string()).nullable(),
    system: z.string(),
    /** What the session is bound to do; every turn's tail says it. */
    workContract: z.string().optional(),
    locale: z.string().optional(),
    timezone: z.string().optional(),
    metadata: data,
    /** Of all its turns together. */
    budget: costBudget.exactOptional(),
    /** The turn that made the session to have a directive done in it, and how many such turns stand above its own. */
    delegated: z.strictObject({ session: z.uuid(), turn: z.uuid(), depth: count }).exactOptional(),
  }),
  'head-moved': z.strictObject({ head: z.uuid() }),
  'session-archived': z.strictObject({}),
  'turn-accepted': z.strictObject({
    number: count,
    input: z.array(inputBlock).min(1),
    mode: z.enum(TURN_MODES),
    priority: count,
    asked,
    metadata: data.optional(),
    budget: costBudget.exactOptional(),
    retryOf: z.uuid().optional(),
    /** It was held elsewhere, and came with the session's history. */
    imported: z.literal(true).exactOptional(),
  }),
  /** The turn begins; its prompt is an item from here on. */
  'turn-context': z.strictObject({
    item: count,
    utc: z.string(),
    timezone: z.string(),
    locale: z.string().optional(),
  }),
  reading,
  /** A message for the running turn; a model reads it once a `turn-steered` record took it up. */
  steering: z.strictObject({ input: z.array(inputBlock).min(1), asked }),
  /** From step `step` on, requests carry the first `upTo` steering messages. */
  'turn-steered': z.strictObject({ step: count, upTo: count }),
  'context-plan': contextPlan,
  'assistant-message': z.strictObject({
    item: count,
    step: count,
    content: z.array(assistantBlock),
    finish: z.enum(['stop', 'tool_calls', 'length', 'content_filter', 'other']),
    /** Where a provider keeps the reply, under its own ids of the calls: the turn's next step on the leg may continue it. */
    kept: z
      .strictObject({ leg: z.string(), responseId: z.string(), callIds: z.array(z.string()) })
      .exactOptional(),
  }),
  'tool-result': z.strictObject({
    step: count,
    index: count,
    callId: z.string(),
    name: z.string(),
    status: z.enum(TOOL_STATUSES),
    /** null for what was answered without a job: its content says all there is. */
    evidence: z.string().nullable(),
    content: z.string(),
    /** True when `content` is a window and an `evidence-body` record holds the whole. */
    windowed: z.boolean(),
    /** Of a windowed result: the whole as closed turns show it, and its shape in words. */
    digest: z.string().optional(),
    shape: z.string().optional(),
    /** Files the call read or wrote. */
    files: z.array(z.strictObject({ kind: z.enum(['read', 'wrote']), path: z.string() })).optional(),
  }),
  'evidence-body': z.strictObject({ evidence: z.string(), content: z.string() }),
  ...ITEM_RECORDS,
  ...JUDGING_RECORDS,
  ...SURFACE_RECORDS,
  presentation,
  packet: z.strictObject({ from: count, to: count, text: z.string(), quality: packetQuality }),
  /** Turns up to `behind`, and the steps of this turn up to `throughStep`, leave the requests: `text` stands for them. */
  reset: z.strictObject({ behind: count, throughStep: count, text: z.string(), quality: packetQuality }),
  /** A link that a person or a better reading took back. */
  'link-retracted': z.strictObject({
    turn: count,
    kind: z.enum(LINK_KINDS),
    to: z.string(),
    reason: z.string(),
  }),
  /** The profile a leg is bound by from here on; `probedAt` in ms since 1970. */
  'capacity-probe': z.strictObject({ leg: z.string(), probedAt: count, profile: data }),
  /** What calls taught of a leg: a prompt it refused, or sizes that moved by more than a twentieth. */
  'capacity-feedback': z.discriminatedUnion('reason', [
    z.strictObject({
      leg: z.string(),
      reason: z.literal('over-length'),
      rejectedTokens: count,
      limitTokens: count.exactOptional(),
    }),
    z.strictObject({
      leg: z.string(),
      reason: z.literal('observed'),
      tokensPerByte: z.number(),
      horizonTokens: count,
    }),
    /** An instruction was missed near the horizon. */
    z.strictObject({
      leg: z.string(),
      reason: z.literal('missed-instruction'),
      check: z.enum(CHECKS),
      requestTokens: count,
      horizonTokens: count,
    }),
  ]),
  'turn-vector': z.strictObject({ turn: z.uuid(), model: z.string(), vector: z.base64() }),
  'turn-closed': z.strictObject({
    outcome: z.enum(OUTCOMES),
    reason: z.string(),
    steps: count,
    /** Left out where a turn was closed without one: it then gets a provisional card when it is read. */
    card: turnCard.optional(),
    /** Its items, oldest first. Left out where it never began. */
    items: z.array(itemEntry).exactOptional(),
    /** Where its requests stood to the model's window. Left out where none was answered. */
    measure: lastMeasure.exactOptional(),
  }),
  erased: z.strictObject({ seq: count, digest: z.string() }),
} as const;

const DISPLAY = {
  'check-fired': checkFired,
  misread,
  /** A leg gave no answer; the same request went to the next. */
  'route-fallback': z.strictObject({ step: count, from: z.string(), to: z.string(), code: z.string() }),
  'turn-waiting': z.strictObject({ for: z.enum(WAITING_FOR), calls: z.array(z.string()) }),
  'turn-decided': z.strictObject({ for: z.enum(WAITING_FOR), decision: z.enum(DECISIONS) }),
  'call-retrying': z.strictObject({ child: z.string(), attempt: count, code: z.string(), delayMs: count }),
  /** `part` is the first that differs: the system text or a tool. `bytes` are sent anew, uncached. */
  'prefix-changed': z.strictObject({ from: z.string(), to: z.string(), part: z.string(), bytes: count }),
  'compaction-failed': z.strictObject({
    purpose: z.enum(['packet', 'handoff']),
    from: count,
    to: count,
    code: z.string(),
    problem: z.string(),
  }),
  'presentation-feedback': z.strictObject({
    presentation: z.string(),
    verdict: z.enum(['helpful', 'unhelpful', 'dismissed']),
    note: z.string().optional(),
  }),
  'presentation-selection': z.strictObject({
    presentation: z.string(),
    selected: z.array(z.string()).min(1),
  }),
} as const;

const FORENSIC = {
  'work-receipt': workReceipt,
  'late-result': z.strictObject({
    child: z.string(),
    fence: count,
    /** With the fence, it names the claim. */
    token: count,
    reason: z.string(),
    digest: z.string(),
    bytes: count,
  }),
  'actor-parked': z.strictObject({ actor: z.string(), reason: z.string() }),
} as const;

const SCHEMAS = { ...PROTOCOL, ...DISPLAY, ...FORENSIC } as const;

export type RecordKind = keyof typeof SCHEMAS;
export type BodyOf<K extends RecordKind> = z.infer<(typeof SCHEMAS)[K]>;
/** Kinds that open an item: its number is minted as they are written, never by who drafts them. */
export const MINTING_KINDS = ['turn-context', 'assistant-message'] as const;
export type MintingKind = (typeof MINTING_KINDS)[number];
/** A record's body before it is written. */
export type DraftBody<K extends RecordKind> = K extends MintingKind ? Omit<BodyOf<K>, 'item'> : BodyOf<K>;
export type RecordDraft = {
  [K in RecordKind]: { readonly kind: K; readonly body: DraftBody<K>; readonly turnId: string | null };
}[RecordKind];
/** A draft whose item has its number. */
export type MintedDraft = {
  [K in RecordKind]: { readonly kind: K; readonly body: BodyOf<K>; readonly turnId: string | null };
}[RecordKind];

export function isKnownKind(kind: string): kind is RecordKind {
  return Object.hasOwn(SCHEMAS, kind);
}

export function classOf(kind: RecordKind): RecordClass {
  if (Object.hasOwn(PROTOCOL, kind)) return 'protocol';
  return Object.hasOwn(DISPLAY, kind) ? 'display' : 'forensic';
}

/** @throws ZodError naming the member that does not fit. */
export function parseBody<K extends RecordKind>(kind: K, value: unknown): BodyOf<K> {
  return SCHEMAS[kind].parse(value) as BodyOf<K>;
}

export const RECORD_KINDS = Object.keys(SCHEMAS) as readonly RecordKind[];
