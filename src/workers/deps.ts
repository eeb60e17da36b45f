/** What every worker is given. Built once a process, by `src/app`. */

import type { Loaded } from '../db/contract.ts';
import type { ProbeFlightStore } from '../db/probe-flights.ts';
import type { Bus } from '../queues/bus.ts';
import type { BoundLeg, ModelCalls } from '../runtime/model-calls.ts';
import type { ProbeWatch } from '../runtime/probe-watch.ts';
import type { Probes } from '../runtime/probes.ts';
import type { Profiles } from '../runtime/profiles.ts';
import type { RateLimiter } from '../runtime/rate-limiter.ts';
import type { RequestBuilder } from '../runtime/request.ts';
import type { SessionConfigs } from '../runtime/sessions.ts';
import type { SideCallHost } from '../runtime/side-call.ts';
import type { SummariesAhead } from '../runtime/summaries-ahead.ts';
import type { TurnCache } from '../runtime/turn-cache.ts';
import type { TurnVectors } from '../runtime/turn-vectors.ts';
import type { Outbound, SessionMemory } from '../tools/contract.ts';
import type { StopCondition } from '../tools/stop-condition.ts';
import type { ToolSurface } from '../tools/surface.ts';
import type { IntentSettings } from './intent.ts';

export interface WorkerDeps {
  readonly host: SideCallHost;
  readonly configs: SessionConfigs;
  readonly profiles: Profiles;
  readonly requests: RequestBuilder;
  readonly ahead: SummariesAhead;
  /** Left out where no embedding leg is configured. */
  readonly vectors?: TurnVectors;
  /** What the tools of a turn may read of the past. */
  readonly memory: (loaded: Pick<Loaded, 'session' | 'turn'>) => SessionMemory;
  /** Every call to a model goes through it. */
  readonly calls: ModelCalls;
  /** What else is asked of a provider goes through this. */
  readonly limiter: RateLimiter;
  readonly probes: Probes;
  readonly watch: ProbeWatch;
  readonly flights: ProbeFlightStore;
  readonly turns: TurnCache;
  readonly surface: ToolSurface;
  /** The operator's own conditions of an end. */
  readonly conditions?: readonly StopCondition[];
  readonly bus: Bus;
  /** The folder that file tools are confined to. */
  readonly root: string;
  readonly newId: () => string;
  /** null for a leg the configuration no longer names. */
  readonly leg: (name: string) => BoundLeg | null;
  /** The leg that a side call of a session on this leg is made on. */
  readonly sideLeg: (purpose: SidePurpose, boundTo: string) => BoundLeg | null;
  readonly intent: IntentSettings;
  /** Left out where tools reach nothing. */
  readonly outbound?: Outbound;
}

export type SidePurpose = 'summary' | 'intent';
