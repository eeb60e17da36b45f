/** What a route looks up, or the refusal that names what is missing. Another tenant's is missing too. */
import type { SessionRef } from '../db/contract.ts';
import type { KeyHolder } from '../db/keys.ts';
import { findTurn, findTurnWithRecords, type TurnRow } from '../db/queries/find-turn.ts';
import { readSession, type SessionRow } from '../db/queries/read-sessions.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { Leg } from '../providers/contract.ts';
import { turnAnswer } from './answers.ts';
import type { ApiContext, Call } from './contract.ts';
import { noSuchLeg } from './session-config.ts';

export async function theSession(
  { services }: ApiContext,
  { caller, id }: Pick<Call, 'caller' | 'id'>,
): Promise<SessionRow> {
  const row = await readSession(services.pool, caller.tenant, id);
  if (row === null) throw sessionNotFound(id);
  return row;
}

export async function theTurn({ services }: ApiContext, { caller, id }: Call): Promise<TurnRow> {
  const row = await findTurn(services.pool, caller.tenant, id);
  if (row === null) throw turnNotFound(id);
  return row;
}

/** Of the `:leg` of the path. */
export function theLeg({ services }: ApiContext, { inPath: { leg = '' } }: Pick<Call, 'inPath'>): Leg {
  const { legs } = services.config;
  const found = legs.find(({ name }) => name === leg);
  if (found === undefined) throw new LegNotFound('unknown_leg', noSuchLeg(leg, legs));
  return found;
}

/** A path to a leg leads nowhere, where a body that names it is wrong. */
class LegNotFound extends TurnwrightError {
  override get status(): number {
    return 404;
  }
}

/** `{ turn }` as every route shows it. */
export async function shownTurn({ services }: ApiContext, tenant: string, turn: string) {
  const found = await findTurnWithRecords(services.pool, tenant, turn);
  if (found === null) throw turnNotFound(turn);
  return { turn: turnAnswer(found) };
}

export function sessionNotFound(id: string): TurnwrightError {
  return new TurnwrightError(
    'session_not_found',
    `There is no session ${id}. GET /v1/sessions lists those there are.`,
  );
}

export function turnNotFound(id: string): TurnwrightError {
  return new TurnwrightError(
    'turn_not_found',
    `There is no turn ${id}. POST /v1/sessions/:id/turns makes one.`,
  );
}

export function refOf(tenant: string, row: { readonly session: string }): SessionRef {
  return { tenant, session: row.session };
}

/** Whether the key may see what was said to a model and by it. */
export function readsContent({ scopes }: KeyHolder): boolean {
  return scopes.includes('content');
}
