/** The shapes of requests and answers, as the server's own schemas state them. Types only: no code of the server. */
import type { z } from 'zod';
import type * as capacities from '../api/capacity-schemas.ts';
import type * as checkpoints from '../api/checkpoint-schemas.ts';
import type * as contexts from '../api/context-schemas.ts';
import type { TurnEventType } from '../api/event-table.ts';
import type * as headSchemas from '../api/head-schemas.ts';
import type * as lineages from '../api/lineage-schemas.ts';
import type * as schemas from '../api/schemas.ts';
import type * as transcripts from '../api/transcript-schemas.ts';
import type * as usages from '../api/usage-schemas.ts';
import type * as explanations from '../api/why-schema.ts';
import type { Json } from '../ledger/json.ts';

export type NewSession = schemas.NewSession;
export type NewFork = lineages.NewFork;
export type Cleared = z.infer<typeof lineages.cleared>;
export type Session = z.infer<typeof schemas.session>;
/** With what its calls came to. */
export type CostedSession = z.infer<typeof schemas.costedSession>;
export type Head = z.infer<typeof headSchemas.head>;
export type Anchor = z.infer<typeof headSchemas.anchor>;
export type CheckedOut = z.infer<typeof headSchemas.checkedOut>;
export type ImportedCheckpoint = z.infer<typeof checkpoints.importedCheckpoint>;
export type Turn = z.infer<typeof schemas.turn>;
export type Signal = schemas.Signal;
export type Replay = z.infer<typeof schemas.replayed>;
export type Rebuild = z.infer<typeof schemas.rebuild>;
export type Verdict = z.infer<typeof schemas.verdict>;
export type StuckTurn = z.infer<typeof schemas.stuckTurn>;
export type Why = explanations.Why;
export type DryPlan = z.infer<typeof contexts.dryPlan>;
export type PlanFor = Partial<z.infer<typeof contexts.planQuery>>;
export type SessionContext = z.infer<typeof contexts.sessionContext>;
export type SentRequest = z.infer<typeof contexts.sentRequest>;
export type Recalled = z.infer<typeof contexts.recalled>;
export type TranscriptPage = Partial<z.infer<typeof transcripts.transcriptQuery>>;
export type TranscriptIndex = z.infer<typeof transcripts.transcriptIndex>;
export type TranscriptItems = z.infer<typeof transcripts.transcriptItems>;
export type TranscriptPart = TranscriptItems['items'][number]['messages'][number]['parts'][number];
export type TranscriptGrep = z.input<typeof transcripts.transcriptGrep>;
export type TranscriptFound = z.infer<typeof transcripts.transcriptFound>;
export type NewEviction = z.infer<typeof transcripts.newEviction>;
export type Evicted = z.infer<typeof transcripts.evicted>;
export type Compacted = z.infer<typeof contexts.compacted>;
export type Presentation = z.infer<typeof contexts.presentation>;
export type PresentationsPage = Partial<z.infer<typeof contexts.presentationsQuery>>;
export type Presentations = {
  readonly presentations: readonly Presentation[];
  /** null on the last page. */
  readonly next_cursor: string | null;
};
export type Feedback = z.infer<typeof contexts.newFeedback>;
export type Link = z.infer<typeof contexts.newRetraction>;
export type LegInfo = z.infer<typeof capacities.leg>;
export type Profile = z.infer<typeof capacities.profile>;
export type BegunProbe = z.infer<typeof capacities.begunProbe>['probe'];
/** `reason` says why none began. */
export type ProbeAnswer = { readonly probe: BegunProbe } | z.infer<typeof capacities.noProbe>;
export type UsageQuery = Partial<z.infer<typeof usages.usageQuery>>;
export type UsageReport = z.infer<typeof usages.usageReport>;
export type TurnInput = schemas.NewTurn['input'];

export type TurnOptions = Omit<schemas.NewTurn, 'input'> & {
  /** The same key with the same body is the same turn. One is made when left out. */
  readonly idempotencyKey?: string;
};

/** `id` is a record's number for a durable event, `<seq>.<attempt>.<n>` for a live one, '' for a state. */
export interface TurnEvent {
  readonly id: string;
  /** A newer server may send types this client does not know. */
  readonly type: TurnEventType | (string & {});
  readonly data: Readonly<Record<string, Json>>;
}
