/**
 * A directive that a call of a tool gives to a session of its own. Per call: absent → its session made → its turn
 * accepted → ended. The ids follow from the call, so that whoever runs it, and however often, goes on where it stood.
 * Nothing waits in between: the call looks, goes back to its queue, and looks again.
 */
import type { Claim, SessionRef } from '../db/contract.ts';
import { type ChildIds, childIds } from '../ledger/child-ids.ts';
import { type BodyOf, parseBody } from '../ledger/kinds.ts';
import { finalAnswer, toolCalls } from '../ledger/view.ts';
import type { TurnContext, TurnInput } from '../machines/turn-context.ts';
import type { Delegated, Delegation } from '../tools/contract.ts';
import { acceptTurn } from './accept.ts';
import type { Engine } from './engine.ts';
import { forkSession } from './fork.ts';
import { passes } from './outage.ts';
import { depthOf, MAX_DEPTH } from './session-plan.ts';
import { createSession, type SessionConfig } from './sessions.ts';
import { foldRecords } from './turn-cache.ts';

/** What one turn may keep busy beside itself: about as many calls as a model sends in one step and keeps apart. */
const MAX_CHILDREN = 8;
/** A short answer is there by the second look; a long one is no later for a look every five seconds. */
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 5_000;
/** Each look waits longer than the one before: about a fifth of the time that has passed. */
const DELAY_GROWTH = 1.25;
/** Names the one turn that a child is given, whoever gives it. */
const KEY = 'delegated';

/** The call that asks. */
export interface AskingCall {
  readonly claim: Claim;
  readonly step: number;
  readonly index: number;
  readonly tool: string;
}

export function delegationOf(engine: Engine, call: AskingCall): Delegation {
  return {
    ask: async (directive, inherit) => {
      const ids = childIds(placeOf(call));
      try {
        return await ask(engine, call, ids, { directive, inherit });
      } catch (error) {
        // What storage is away for now is no answer: the call looks again.
        if (passes(error)) return pending(call, ids);
        throw error;
      }
    },
  };
}

interface Asked {
  readonly directive: string;
  readonly inherit: boolean;
}

async function ask(engine: Engine, call: AskingCall, ids: ChildIds, asked: Asked): Promise<Delegated> {
  const { store } = engine;
  const child: SessionRef = { tenant: call.claim.loaded.session.tenant, session: ids.session };
  const loaded = await store.load({ ...child, actor: ids.turn });
  if (loaded === null) {
    const config = await engine.configs.get(call.claim.loaded.session);
    const reason = refusal(config, call);
    if (reason !== null) return { kind: 'refused', reason };
    await makeSession(engine, call, ids, { config, inherit: asked.inherit });
    await acceptDirective(engine, call, ids, asked.directive);
    return pending(call, ids);
  }
  if (loaded.turn?.status !== 'closed') return pending(call, ids);
  const view = foldRecords(await store.turnRecords(child, ids.turn));
  if (view.closed === null) throw new Error(`turn ${ids.turn} is closed and has no record of it`);
  const { outcome, reason } = view.closed;
  return { kind: 'ended', session: ids.session, outcome, reason, answer: finalAnswer(view) };
}

/** `dispatch` counts the looks, so the delay grows with the age of the child and needs no clock. */
function pending({ claim }: AskingCall, { session }: ChildIds): Delegated {
  const grown = FIRST_DELAY_MS * DELAY_GROWTH ** (claim.call.dispatch - 1);
  return { kind: 'pending', session, delayMs: Math.min(LONGEST_DELAY_MS, Math.ceil(grown)) };
}

function refusal(config: SessionConfig, call: AskingCall): string | null {
  if (depthOf(config) >= MAX_DEPTH)
    return `This session is ${MAX_DEPTH} delegations deep already, and no session may be deeper.`;
  if (callsBefore(call) >= MAX_CHILDREN)
    return `This turn has delegated ${MAX_CHILDREN} directives already, and may delegate no more.`;
  return null;
}

/** Calls of the tool that the turn made before this one. In issue order, so that of calls made at once the same ones are refused wherever they run. */
function callsBefore({ claim, step, index, tool }: AskingCall): number {
  return claim.records
    .filter(({ kind }) => kind === 'assistant-message')
    .map(({ body }) => JSON.parse(body) as BodyOf<'assistant-message'>)
    .flatMap((message) =>
      toolCalls(message.content).map(({ name }, at) => ({ name, step: message.step, at })),
    )
    .filter((one) => one.name === tool && (one.step < step || (one.step === step && one.at < index))).length;
}

interface NewChild {
  /** Of the session that asks. */
  readonly config: SessionConfig;
  readonly inherit: boolean;
}

async function makeSession(
  engine: Engine,
  call: AskingCall,
  { session, head }: ChildIds,
  { config, inherit }: NewChild,
): Promise<void> {
  const { tenant, session: parent, turn } = placeOf(call);
  const child: SessionRef = { tenant, session };
  const delegated = { session: parent, turn, depth: depthOf(config) + 1 };
  const settings: SessionConfig = { ...config, metadata: {}, delegated };
  try {
    if (!inherit) await createSession(engine, child, head, settings);
    else {
      const from = call.claim.loaded.turn?.head;
      const request = { session, head, settings: () => settings, ...(from === undefined ? {} : { from }) };
      await forkSession(engine, { tenant, session: parent }, request);
    }
  } catch (error) {
    // It may be there already: made by another worker that runs the call, or by one that died before the turn.
    if ((await engine.store.loadSession(child, null)) === null) throw error;
  }
}

async function acceptDirective(
  engine: Engine,
  call: AskingCall,
  { session, turn }: ChildIds,
  directive: string,
): Promise<void> {
  const { tenant } = placeOf(call);
  const { loaded } = call.claim;
  const { context } = JSON.parse(loaded.actor.snapshot) as { readonly context: TurnContext };
  const { stepBudget, deadlineMs, escalate } = context;
  const limits: Omit<TurnInput, 'weak'> = { stepBudget, deadlineMs, escalate };
  await acceptTurn(
    engine,
    { tenant, session },
    {
      turn,
      input: [{ type: 'text', text: directive }],
      mode: 'enqueue',
      priority: loaded.turn?.priority ?? 0,
      idempotencyKey: KEY,
      ...(await budgetOf(engine, call)),
      limits,
    },
  );
}

/** What the calls of the asking turn may come to bounds those of the other as well. */
async function budgetOf(engine: Engine, call: AskingCall): Promise<Pick<BodyOf<'turn-accepted'>, 'budget'>> {
  const { tenant, session, turn } = placeOf(call);
  const records = await engine.store.turnRecords({ tenant, session }, turn);
  const accepted = records.find(({ kind }) => kind === 'turn-accepted');
  if (accepted === undefined) return {};
  const { budget } = parseBody('turn-accepted', JSON.parse(accepted.body));
  return budget === undefined ? {} : { budget };
}

function placeOf({ claim, step, index }: AskingCall) {
  const { session, actor } = claim.loaded;
  const { tenant, session: id } = session;
  return { tenant, session: id, turn: actor.turn ?? actor.actor, step, index };
}
