/**
 * The result of a call that the client made. Per call: awaited → answered, once, in the commit that tells the turn's
 * machine. A result that comes again changes nothing, and another one for the same call is refused.
 */
import type { ActorRef, Loaded, RawRecord } from '../db/contract.ts';
import type { ToolCallBlock } from '../ledger/blocks.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { toolChild } from '../ledger/ids.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import { foldTurn, type TurnView, toolCalls } from '../ledger/view.ts';
import type { TurnContext } from '../machines/turn-context.ts';
import type { Engine } from './engine.ts';
import { refuseUnmoved } from './steer.ts';
import { recordToolResult, type ToolResult } from './tool-record.ts';

const MAX_RACES = 50;
/** States of a turn in which it may await a result. */
const AWAITING: ReadonlySet<unknown> = new Set(['tooling', 'waiting']);

export interface ClientResult {
  /** As the call has it, such as `t3s1c0`, or as `turn.waiting` lists it, such as `tool-1-0`. */
  readonly callId: string;
  readonly content: string;
  /** The call failed: the model may mend it. */
  readonly isError: boolean;
}

/**
 * @throws TurnwrightError `call_not_found`, `call_answered` when the call has another result, `turn_not_waiting` when it
 * awaits none from a client, `turn_closed`, `turn_parked` or `turn_elsewhere`. Nothing is written then.
 */
export async function takeClientResult(engine: Engine, ref: ActorRef, result: ClientResult): Promise<void> {
  for (let race = 0; race < MAX_RACES; race++) {
    if (await takeOnce(engine, ref, result)) return;
    await engine.clock.sleep(race);
  }
  throw new TurnwrightError('busy', `Session ${ref.session} has too many writers at once. Try again.`);
}

/** False when somebody else wrote to the session meanwhile. */
async function takeOnce(engine: Engine, ref: ActorRef, result: ClientResult): Promise<boolean> {
  const loaded = await engine.store.load(ref);
  if (loaded === null) throw new TurnwrightError('turn_not_found', `There is no turn ${ref.actor}.`);
  const records = await engine.store.turnRecords(ref, ref.actor);
  const turn = foldTurn(records.map((record) => ({ ...record, body: JSON.parse(record.body) as unknown })));
  const found = findCall(turn, result.callId);
  if (found === null) throw callNotFound(ref.actor, result.callId);
  const { step, index, call } = found;
  const given: ToolResult = { status: result.isError ? 'error' : 'ok', content: result.content };
  if (found.answer !== undefined) {
    if (isSame(found.answer, given, records)) return true;
    throw callAnswered(ref.actor, found.answer);
  }
  refuseUnawaited(ref.actor, loaded, turn, found);
  const delivered = await engine.attempt(ref, {
    id: `client~${step}~${index}`,
    event: { type: 'turn.client-result', step, index, failed: result.isError },
    loaded,
    records,
    orNothing: true,
    additions: (takeEvidence) =>
      recordToolResult({ turnId: turn.turnId, step, index, call }, given, takeEvidence()),
  });
  refuseUnmoved(delivered, ref.actor);
  return delivered === 'applied';
}

interface FoundCall {
  readonly step: number;
  readonly index: number;
  readonly call: ToolCallBlock;
  readonly answer: BodyOf<'tool-result'> | undefined;
}

function findCall(turn: TurnView, callId: string): FoundCall | null {
  for (const { step, content, results } of turn.steps) {
    const calls = toolCalls(content);
    const index = calls.findIndex(({ id }, at) => id === callId || toolChild(step, at) === callId);
    const call = calls[index];
    if (call !== undefined) return { step, index, call, answer: results.get(index) };
  }
  return null;
}

/** Of a long result the record beside it holds the whole. */
function isSame(
  { status, content, windowed, evidence }: BodyOf<'tool-result'>,
  given: ToolResult,
  records: readonly RawRecord[],
): boolean {
  if (status !== given.status) return false;
  if (!windowed) return content === given.content;
  return records.some((record) => {
    if (record.kind !== 'evidence-body') return false;
    const whole = JSON.parse(record.body) as BodyOf<'evidence-body'>;
    return whole.evidence === evidence && whole.content === given.content;
  });
}

function refuseUnawaited(turnId: string, { actor }: Loaded, turn: TurnView, found: FoundCall): void {
  if (actor.status === 'done') {
    const outcome = turn.closed?.outcome;
    throw new TurnwrightError(
      'turn_closed',
      `Turn ${turnId} has ended${outcome === undefined ? '' : ` ${outcome}`}; it takes no result any more.`,
      outcome === undefined ? {} : { details: { outcome } },
    );
  }
  if (actor.status === 'parked') refuseUnmoved('parked', turnId);
  const { value, context } = JSON.parse(actor.snapshot) as {
    readonly value: unknown;
    // A turn of an older version has no such member.
    readonly context: Partial<Pick<TurnContext, 'step' | 'awaited'>>;
  };
  const awaited = AWAITING.has(value) ? (context.awaited ?? []) : [];
  if (context.step === found.step && awaited.includes(found.index)) return;
  const calls = awaited.map((index) => toolChild(context.step ?? 0, index));
  const wanted = calls.length === 0 ? 'no call of its client' : calls.join(', ');
  throw new TurnwrightError(
    'turn_not_waiting',
    `Turn ${turnId} does not wait for the result of ${found.call.id} (${found.call.name}); it waits for ${wanted}.`,
    { details: { calls } },
  );
}

function callNotFound(turnId: string, callId: string): TurnwrightError {
  return new TurnwrightError(
    'call_not_found',
    `Turn ${turnId} has no call ${JSON.stringify(callId)}. The event turn.waiting lists those it waits for.`,
  );
}

function callAnswered(turnId: string, { callId, name, status }: BodyOf<'tool-result'>): TurnwrightError {
  return new TurnwrightError(
    'call_answered',
    `Call ${callId} (${name}) of turn ${turnId} has another result already, with the status ${status}; the first one stands.`,
    { details: { status } },
  );
}
