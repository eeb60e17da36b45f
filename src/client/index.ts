export { SERVER_UNREACHABLE, TurnwrightApiError } from './api-error.ts';
export type {
  Compacted,
  DryPlan,
  Feedback,
  LegInfo,
  Link,
  NewSession,
  PlanFor,
  Presentation,
  Presentations,
  PresentationsPage,
  Rebuild,
  Recalled,
  Replay,
  SentRequest,
  Session,
  SessionContext,
  Signal,
  StuckTurn,
  Turn,
  TurnEvent,
  TurnInput,
  TurnOptions,
  Verdict,
  Why,
} from './contract.ts';
export type { Fetch } from './http.ts';
export type { FollowOptions, TurnHandle } from './turn-handle.ts';
export { Turnwright, type TurnwrightOptions } from './turnwright.ts';
