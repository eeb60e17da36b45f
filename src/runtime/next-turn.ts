/** The turn that comes next, before anybody asked it: planned for its room alone, or for what might be asked. */
import type { AcceptState, SessionRef, Store } from '../db/contract.ts';
import { readLexically } from '../intent/reading.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { type TurnView, unasked } from '../ledger/view.ts';
import type { Leg } from '../providers/contract.ts';
import type { ToolSurface } from '../tools/surface.ts';
import type { Engine } from './engine.ts';
import type { PlanFor } from './planning.ts';
import { turnPrefix } from './prefix.ts';
import type { Profiles } from './profiles.ts';
import { sessionPlan } from './session-plan.ts';
import type { SessionConfigs } from './sessions.ts';

/** What a plan is made of where no claim brings it. */
export interface NextTurnDeps {
  readonly engine: Engine;
  readonly configs: Pick<SessionConfigs, 'get'>;
  readonly profiles: Pick<Profiles, 'bind'>;
  readonly surface: ToolSurface;
}

export interface NextTurn {
  /** null leaves the directive open. */
  readonly text: string | null;
  /** The leg it would run on. */
  readonly leg: Leg;
}

/**
 * What the next turn of the session's live head would be planned from. While a turn runs it stands in its place, since
 * what follows it will carry a turn that has not closed yet. Nothing is written.
 */
export async function nextTurnFor(
  { engine, configs, profiles, surface }: NextTurnDeps,
  ref: SessionRef,
  { text, leg }: NextTurn,
): Promise<PlanFor> {
  const { store, indexes } = engine;
  const { session, openTurn } = await sessionOf(store, ref);
  const head = session.liveHead;
  const [config, profile, toPlan, running] = await Promise.all([
    configs.get(ref),
    profiles.bind(leg, []),
    store.toPlan(ref, head, indexes.knownTo(ref.session)),
    openTurn === null ? null : store.load({ ...ref, actor: openTurn }),
  ]);
  const { options, workContract, locale } = sessionPlan(config);
  const { nowUtc, timezone } = engine.hopContext();
  const bare = unasked(running?.turn?.number ?? session.nextTurn);
  const open = text === null ? bare : asked(bare, text, { utc: nowUtc, timezone }, config.locale);
  const place = { head, number: open.number };
  // Only a provider that searches tools by itself is sent what is not loaded; what that weighs is not counted.
  const prefix = await turnPrefix(store, session, { place, open }, { config, surface, searches: false });
  return {
    ref,
    head,
    epoch: session.epoch,
    toPlan,
    profile,
    options,
    prefix,
    open,
    workContract,
    locale,
  };
}

/** As it stands when it starts. */
function asked(
  turn: TurnView,
  text: string,
  context: NonNullable<TurnView['context']>,
  locale: string | undefined,
): TurnView {
  return { ...turn, input: [{ type: 'text', text }], reading: readLexically(text, locale), context };
}

async function sessionOf(store: Pick<Store, 'loadSession'>, ref: SessionRef): Promise<AcceptState> {
  const state = await store.loadSession(ref, null);
  if (state !== null) return state;
  throw new TurnwrightError(
    'session_not_found',
    `There is no session ${ref.session}. GET /v1/sessions lists those there are.`,
  );
}
