/**
 * An operator takes a span out of the requests of a session at rest. What is recorded is the resolved span; the epoch
 * tells every process that what it remembers of the session's requests is stale.
 */
import type { ItemTable } from '../context/evict/contract.ts';
import { type AskedSpan, type Resolved, resolveSpan } from '../context/evict/resolve.ts';
import type { AcceptState, SessionRef } from '../db/contract.ts';
import { type ErrorCode, TurnwrightError } from '../ledger/errors.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import type { Engine } from './engine.ts';
import { withSpan } from './evict-request.ts';
import { commitToSession } from './session-commit.ts';
import { sessionPlan } from './session-plan.ts';

export interface OperatorEvicted {
  readonly evicted: BodyOf<'evicted'>;
  /** The record it stands in. */
  readonly seq: number;
  /** The head as its next request carries it. */
  readonly table: ItemTable;
}

/**
 * null where there is no such session.
 *
 * @throws TurnwrightError `not_evicting`, `turn_running`, `item_not_found`, `nothing_to_evict`, `invalid_request` for a
 * note or ends that cannot be, or `busy`. Nothing is written then.
 */
export function evictByOperator(
  engine: Engine,
  ref: SessionRef,
  asked: AskedSpan,
): Promise<OperatorEvicted | null> {
  return commitToSession(engine, ref, async (builder, state) => {
    const table = await tableAtRest(engine, ref, state);
    const resolved = resolveSpan(table, asked);
    if (!resolved.ok) throw new TurnwrightError(REFUSALS[resolved.reason], resolved.message);
    const { span, note } = resolved;
    const evicted = { from: span.from, to: span.to, note, author: 'operator' } as const;
    const head = state.session.liveHead;
    const seq = builder.append(head, { kind: 'evicted', turnId: null, body: evicted });
    builder.lists.evictions.push({ head, seq, ...evicted });
    builder.epoch += 1;
    return { value: { evicted, seq, table: withSpan(table, evicted) } };
  });
}

const REFUSALS: Readonly<Record<Extract<Resolved, { readonly ok: false }>['reason'], ErrorCode>> = {
  backwards: 'invalid_request',
  note_empty: 'invalid_request',
  note_size: 'invalid_request',
  note_lines: 'invalid_request',
  note_unprintable: 'invalid_request',
  empty: 'item_not_found',
  never_recorded: 'item_not_found',
  open: 'item_open',
  gone: 'nothing_to_evict',
  only_residues: 'nothing_to_evict',
  survivor: 'nothing_to_evict',
};

async function tableAtRest(engine: Engine, ref: SessionRef, { session, openTurn }: AcceptState) {
  const { policy, workContract } = sessionPlan(await engine.configs.get(ref));
  if (policy !== 'evict')
    throw new TurnwrightError(
      'not_evicting',
      `The policy of session ${ref.session} is ${policy}: its plans choose what requests carry, and nothing is evicted. Create a session with the policy evict.`,
    );
  if (openTurn !== null)
    throw new TurnwrightError(
      'turn_running',
      `Turn ${openTurn} runs on the live head of session ${ref.session}. Wait until it has ended, or cancel it, and evict then.`,
      { details: { turn: openTurn } },
    );
  const { liveHead: head, epoch, nextTurn } = session;
  const toPlan = await engine.store.toPlan(ref, head, engine.indexes.knownTo(ref.session));
  const place = { head, epoch, before: nextTurn };
  return (await engine.items.read({ ref, place, open: null, workContract, toPlan })).table;
}
