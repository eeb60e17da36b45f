/** What routes that look into a session, or plan its next turn, are built of. Once a process. */
import type { Services } from '../app/services.ts';
import type { HeadIndexes } from '../runtime/head-index.ts';
import type { NextTurnDeps } from '../runtime/next-turn.ts';
import type { Planning } from '../runtime/planning.ts';
import { RequestBuilder } from '../runtime/request.ts';
import type { SessionConfigs } from '../runtime/sessions.ts';
import { SummariesAhead } from '../runtime/summaries-ahead.ts';
import type { TurnCache } from '../runtime/turn-cache.ts';

export interface SessionServices extends NextTurnDeps {
  readonly configs: SessionConfigs;
  readonly store: Services['store'];
  readonly indexes: HeadIndexes;
  readonly turns: TurnCache;
  readonly planning: Planning;
  readonly requests: RequestBuilder;
  readonly ahead: SummariesAhead;
}

export function sessionServices(services: Services): SessionServices {
  const { engine, store, turns, planning, surface, newId } = services;
  return {
    engine,
    store,
    indexes: engine.indexes,
    turns,
    planning,
    surface,
    configs: engine.configs,
    profiles: services.legProfiles,
    requests: new RequestBuilder(planning, turns),
    ahead: new SummariesAhead(engine, planning, newId),
  };
}
