/** What every worker is given. Built once a process, by `src/app`. */
import type { Loaded } from '../db/contract.ts';
import type { Leg, Provider } from '../providers/contract.ts';
import type { Bus } from '../queues/bus.ts';
import type { Profiles } from '../runtime/profiles.ts';
import type { RateLimiter } from '../runtime/rate-limiter.ts';
import type { RequestBuilder } from '../runtime/request.ts';
import type { SessionConfigs } from '../runtime/sessions.ts';
import type { SideCallHost } from '../runtime/side-call.ts';
import type { SummariesAhead } from '../runtime/summaries-ahead.ts';
import type { TurnCache } from '../runtime/turn-cache.ts';
import type { SessionMemory } from '../tools/contract.ts';
import type { ToolSurface } from '../tools/surface.ts';

export interface BoundLeg {
  readonly leg: Leg;
  readonly provider: Provider;
}

export interface WorkerDeps {
  readonly host: SideCallHost;
  readonly configs: SessionConfigs;
  readonly profiles: Profiles;
  readonly requests: RequestBuilder;
  readonly ahead: SummariesAhead;
  /** What the tools of a turn may read of the past. */
  readonly memory: (loaded: Pick<Loaded, 'session' | 'turn'>) => SessionMemory;
  /** Every call to a provider goes through it. */
  readonly limiter: RateLimiter;
  readonly turns: TurnCache;
  readonly surface: ToolSurface;
  readonly bus: Bus;
  /** The folder that file tools are confined to. */
  readonly root: string;
  readonly newId: () => string;
  /** null for a leg the configuration no longer names. */
  readonly leg: (name: string) => BoundLeg | null;
}
