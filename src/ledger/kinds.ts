/**
 * Every kind of record, with the shape of its body. `protocol` records decide what a request carries and
 * refuse a replay when unknown; `display` and `forensic` ones inform people and may be skipped.
 */
import { z } from 'zod';
import { assistantBlock, inputBlock, json } from './blocks.ts';

export const RECORD_CLASSES = ['protocol', 'display', 'forensic'] as const;
export type RecordClass = (typeof RECORD_CLASSES)[number];

export const OUTCOMES = ['completed', 'degraded', 'failed', 'cancelled'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export const TURN_MODES = ['enqueue', 'steer', 'interrupt', 'reject'] as const;
export type TurnMode = (typeof TURN_MODES)[number];

/** What a waiting turn needs a person for: consent to a call, or what to do about one whose outcome is unknown. */
export const WAITING_FOR = ['approval', 'outcome'] as const;
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
] as const;
export type ToolStatus = (typeof TOOL_STATUSES)[number];

const usage = z.strictObject({
  inputTokens: z.number(),
  cacheReadTokens: z.number(),
  cacheWriteTokens: z.number(),
  outputTokens: z.number(),
});

const count = z.int().nonnegative();
const data = z.record(z.string(), json);

/** What a producer sent: its idempotency key, if it gave one, and the digest that tells another body from the same. */
const asked = z.strictObject({ key: z.string().optional(), digest: z.string() });

/** `runs` are turn numbers, both ends included, oldest first: the history a request carries. */
const planRun = z.strictObject({ from: count, to: count, fidelity: z.enum(['full', 'packet']) });

const PROTOCOL = {
  'session-created': z.strictObject({
    leg: z.string(),
    ladder: z.array(z.string()).optional(),
    policy: z.strictObject({ name: z.enum(['plan']), options: data }),
    tools: z.array(z.string()).nullable(),
    system: z.string(),
    locale: z.string().optional(),
    timezone: z.string().optional(),
    metadata: data,
  }),
  'head-created': z.strictObject({ head: z.uuid(), from: z.uuid().nullable(), atSeq: count }),
  'head-moved': z.strictObject({ head: z.uuid() }),
  'session-archived': z.strictObject({}),
  'turn-accepted': z.strictObject({
    number: count,
    input: z.array(inputBlock).min(1),
    mode: z.enum(TURN_MODES),
    priority: count,
    asked,
    metadata: data.optional(),
    retryOf: z.uuid().optional(),
  }),
  'turn-context': z.strictObject({ utc: z.string(), timezone: z.string(), locale: z.string().optional() }),
  reading: z.strictObject({
    source: z.enum(['lexical', 'classifier']),
    act: z.string(),
    domains: z.array(z.string()),
    confidence: z.number(),
  }),
  /** A message for the running turn; a model reads it once a `turn-steered` record took it up. */
  steering: z.strictObject({ input: z.array(inputBlock).min(1), asked }),
  /** From step `step` on, requests carry the first `upTo` steering messages. */
  'turn-steered': z.strictObject({ step: count, upTo: count }),
  'context-plan': z.strictObject({
    assembler: count,
    policy: z.string(),
    runs: z.array(planRun),
    budgetTokens: z.number(),
    spentTokens: z.number(),
    leftOut: count,
    prefixDigest: z.string(),
    /** Over-length refusals the turn had met when it was planned. */
    rejections: count,
    profile: data,
  }),
  'assistant-message': z.strictObject({
    step: count,
    content: z.array(assistantBlock),
    finish: z.enum(['stop', 'tool_calls', 'length', 'content_filter', 'other']),
  }),
  'tool-result': z.strictObject({
    step: count,
    index: count,
    callId: z.string(),
    name: z.string(),
    status: z.enum(TOOL_STATUSES),
    evidence: z.string(),
    content: z.string(),
    /** True when `content` is a window and an `evidence-body` record holds the whole. */
    windowed: z.boolean(),
  }),
  'evidence-body': z.strictObject({ evidence: z.string(), content: z.string() }),
  nudge: z.strictObject({ step: count, check: z.enum(['empty-step']) }),
  packet: z.strictObject({
    from: count,
    to: count,
    text: z.string(),
    quality: z.enum(['deterministic', 'model']),
  }),
  'capacity-probe': z.strictObject({ leg: z.string(), profile: data }),
  'capacity-feedback': z.strictObject({
    leg: z.string(),
    reason: z.enum(['over-length']),
    rejectedTokens: count,
    limitTokens: count.optional(),
  }),
  'turn-closed': z.strictObject({ outcome: z.enum(OUTCOMES), reason: z.string(), steps: count }),
  erased: z.strictObject({ seq: count, digest: z.string() }),
} as const;

const DISPLAY = {
  'check-fired': z.strictObject({ step: count, check: z.string(), verdict: z.string() }),
  'turn-waiting': z.strictObject({ for: z.enum(WAITING_FOR), calls: z.array(z.string()) }),
  'turn-decided': z.strictObject({ for: z.enum(WAITING_FOR), decision: z.enum(DECISIONS) }),
  'call-retrying': z.strictObject({ child: z.string(), attempt: count, code: z.string(), delayMs: count }),
} as const;

const FORENSIC = {
  'work-receipt': z.strictObject({
    child: z.string(),
    step: count,
    purpose: z.enum(['step', 'intent', 'summary', 'probe']),
    leg: z.string(),
    provider: z.string(),
    model: z.string(),
    attempt: count,
    settlement: z.string(),
    /** What the provider said of a failure, credentials removed. */
    problem: z.string().nullable(),
    usage: usage.nullable(),
    requestDigest: z.string(),
    prefixDigest: z.string().nullable(),
    requestBytes: count,
    firstTokenMs: z.number().nullable(),
    totalMs: z.number(),
  }),
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
export type RecordDraft = {
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
