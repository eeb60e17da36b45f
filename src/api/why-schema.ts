/** What `why` answers: sentences, and the facts they are made of. */
import { z } from 'zod';
import { OUTCOMES } from '../ledger/kinds.ts';
import { TURN_STATES } from './turn-state.ts';

const count = z.int().nonnegative();
const seconds = z.number();
const time = z.iso.datetime();

/** `lost`: queued, and no row hands it over. */
const CALL_PLACES = ['running', 'handed_over', 'held_back', 'delayed', 'lost'] as const;

const worker = z.strictObject({
  id: z.uuid(),
  host: z.string().nullable(),
  pid: z.int().nullable(),
  silent_seconds: seconds.nullable().describe('Since its last heartbeat; null when its row is gone.'),
  alive: z.boolean(),
});

const call = z.strictObject({
  child: z.string(),
  kind: z.string().describe('step, tool, summary or intent.'),
  pool: z.string(),
  pool_slots: count.describe('Live slots of the pool in the deployment.'),
  status: z.enum(['queued', 'running']),
  place: z.enum(CALL_PLACES),
  attempt: count,
  max_attempts: count.nullable(),
  fence: count.describe('How often workers took it up.'),
  dispatch: count.describe('How often it was handed over.'),
  since: time.nullable().describe('When it began to run, or to wait where it is.'),
  since_seconds: seconds.nullable(),
  due_in_seconds: seconds.nullable().describe('Of a delayed call.'),
  rows_before: count.nullable().describe('Of a call held back: rows of this tenant before it in the pool.'),
  rate_limited: z.boolean(),
  waits_for: z.string().nullable().describe('What a delayed call of a tool waits for.'),
  worker: worker.nullable(),
  last_error: z.string().nullable(),
});

export const why = z.strictObject({
  turn: z.uuid(),
  sentences: z.array(z.string()).min(1),
  stuck: z
    .strictObject({ cause: z.string(), reason: z.string(), action: z.string(), stuck_seconds: seconds })
    .nullable(),
  facts: z.strictObject({
    session: z.uuid(),
    head: z.uuid(),
    number: count,
    state: z.enum(TURN_STATES),
    phase: z.string(),
    phase_means: z.string().nullable(),
    waiting_for: z.string().nullable().describe('What a waiting turn needs a person for.'),
    machine: z.string(),
    machine_version: count,
    outcome: z.enum(OUTCOMES).nullable(),
    reason: z.string().nullable(),
    parked_reason: z.string().nullable(),
    accepted_at: time,
    started_at: time.nullable(),
    closed_at: time.nullable(),
    changed_at: time,
    changed_seconds: seconds.describe('Since its machine changed last.'),
    steps: z.strictObject({ begun: count, counted: count, budget: count.nullable() }),
    calls: z.array(call),
    timers: z.array(z.strictObject({ name: z.string(), due_at: time, due_in_seconds: seconds })),
    events: z.array(
      z.strictObject({ id: z.string(), type: z.string(), received_at: time, waiting_seconds: seconds }),
    ),
    behind: z
      .strictObject({ turn: z.uuid(), number: count, state: z.enum(TURN_STATES), phase: z.string() })
      .nullable()
      .describe('What its head runs while it waits its place.'),
    waiting_before: count.describe('Accepted turns that start before it.'),
    last_error: z
      .strictObject({
        child: z.string(),
        attempt: count,
        from: z.enum(['call', 'receipt']),
        message: z.string(),
      })
      .nullable(),
  }),
});

export type Why = z.infer<typeof why>;
export type WhyFacts = Why['facts'];
export type CallFact = WhyFacts['calls'][number];
