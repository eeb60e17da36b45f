/** Asks the turns one after another over HTTP and follows each by its events. */

import type { Services } from '../../app/services.ts';
import type { TurnEvent, TurnHandle, Turnwright } from '../../client/index.ts';
import type { SessionRef } from '../../db/index.ts';
import type { Json } from '../../ledger/json.ts';
import { items } from './figures.ts';
import { stepReceipt } from './ledger.ts';
import type { Progress } from './progress.ts';
import type { Questions } from './questions.ts';

export interface TurnReport {
  readonly id: string;
  readonly number: number;
  readonly input: string;
  readonly outcome: string;
  readonly reason: string;
  readonly steps: number;
  readonly tools: readonly string[];
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly ms: number;
  readonly answer: string | null;
  /** Something older left its requests while it ran. */
  readonly overflown: boolean;
  /** Calls a person consented to. */
  readonly consents: number;
}

export interface Conversation {
  readonly client: Turnwright;
  readonly services: Pick<Services, 'store' | 'engine'>;
  readonly ref: SessionRef;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** Asks on until older turns no longer fit the window, then about one that left it. */
export async function askUntilOverflown(
  conversation: Conversation,
  { first, more, last }: Questions,
): Promise<readonly TurnReport[]> {
  const reports = [...(await askAll(conversation, first))];
  for (const input of more) {
    if (reports.some((report) => report.overflown)) break;
    reports.push(await ask(conversation, input, reports.length + 1));
  }
  reports.push(await ask(conversation, last, reports.length + 1));
  return reports;
}

export async function askAll(
  conversation: Conversation,
  inputs: readonly string[],
): Promise<readonly TurnReport[]> {
  const reports: TurnReport[] = [];
  for (const [index, input] of inputs.entries()) reports.push(await ask(conversation, input, index + 1));
  return reports;
}

async function ask(conversation: Conversation, input: string, number: number): Promise<TurnReport> {
  const { client, ref, progress, signal } = conversation;
  progress.question(number, input);
  const startedMs = performance.now();
  const handle = await client.sessions.turn(ref.session, input, {}, signal);
  const tools: string[] = [];
  let [overflown, consents] = [false, 0];
  for await (const event of handle.events({ signal })) {
    await show(conversation, handle, event);
    if (event.type === 'tool.completed') tools.push(textOf(event.data.name));
    if (event.type === 'context.compacted' || event.type === 'context.evicted') overflown = true;
    if (event.type === 'turn.waiting') consents += 1;
  }
  const ms = performance.now() - startedMs;
  const turn = await handle.get(signal);
  progress.end(turn.outcome ?? turn.state, turn.reason ?? '', ms, turn.answer);
  return {
    id: turn.id,
    number: turn.number,
    input,
    outcome: turn.outcome ?? turn.state,
    reason: turn.reason ?? '',
    steps: turn.steps,
    tools,
    promptTokens: turn.usage.prompt_tokens,
    cachedTokens: turn.usage.cache_read_tokens,
    outputTokens: turn.usage.output_tokens,
    ms: Math.round(ms),
    answer: turn.answer,
    overflown,
    consents,
  };
}

async function show(
  conversation: Conversation,
  handle: TurnHandle,
  { type, data }: TurnEvent,
): Promise<void> {
  const { progress, services, ref } = conversation;
  switch (type) {
    case 'turn.reading':
      if (data.source === 'classifier') {
        progress.pool('intent', `its words were unclear; a classifier reads it as "${textOf(data.act)}"`);
      }
      return;
    case 'context.compacted':
      progress.pool(
        'summary',
        `T${textOf(data.from)} to T${textOf(data.to)} no longer fit: a packet stands for them`,
      );
      return;
    case 'context.evicted':
      progress.pool(
        'step',
        `the ${textOf(data.by)} took ${items(Number(data.from), Number(data.to))} out; the transcript keeps them`,
      );
      return;
    case 'step.completed': {
      const step = Number(data.step);
      const receipt = await stepReceipt(services.store, ref, handle.id, step);
      progress.step(step, calledTools(data.tool_calls), receipt?.usage ?? null);
      return;
    }
    case 'tool.completed':
      progress.pool(
        'tool',
        `${textOf(data.name)} → ${textOf(data.evidence)}${data.status === 'ok' ? '' : ` (${textOf(data.status)})`}`,
      );
      return;
    case 'turn.waiting':
      progress.pool('turn', 'waits for consent to the call, holding no worker; the demo consents');
      await handle.signal({ type: 'approve' });
      return;
    case 'turn.recovering':
      progress.pool('step', 'the provider refused it as too long: planned again, smaller');
      return;
    case 'step.retrying':
      progress.pool('step', `tried again after ${textOf(data.code)}`);
      return;
    default:
      return;
  }
}

function calledTools(calls: Json | undefined): readonly string[] {
  if (!Array.isArray(calls)) return [];
  return calls.flatMap((call: Json) =>
    typeof call === 'object' && call !== null && 'name' in call ? [textOf(call.name)] : [],
  );
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
