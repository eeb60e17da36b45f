/** A request that was sent, made again from the records and held against the digest its receipt names. */
import { z } from 'zod';
import { ASSEMBLER_VERSION } from '../context/assemble/assemble.ts';
import type { ChatRequest } from '../context/request.ts';
import type { RawRecord, SessionRef, Store } from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { type BodyOf, parseBody } from '../ledger/kinds.ts';
import type { PlanBody, RequestBuilder } from './request.ts';
import { sessionPlan } from './session-plan.ts';
import type { SessionConfigs } from './sessions.ts';
import { findPrefix } from './stored-prefix.ts';
import { foldRecords } from './turn-cache.ts';

export interface SentDeps {
  readonly store: Store;
  readonly requests: Pick<RequestBuilder, 'assemble'>;
  readonly configs: Pick<SessionConfigs, 'get'>;
}

/** A turn in the session that is asked about. */
export interface SentPlace {
  readonly turn: string;
  readonly head: string;
}

export interface SentRequest {
  readonly receipt: BodyOf<'work-receipt'>;
  /** Of the assembler that made the request. */
  readonly assembler: number;
  /** null where it cannot be made again here, for the reason in `notice`. */
  readonly rebuilt: { readonly request: ChatRequest; readonly digest: string; readonly bytes: number } | null;
  /** Whether the bytes are those that were sent; null where that cannot be told. */
  readonly same: boolean | null;
  readonly notice: string | null;
}

const LOST = {
  erased: 'Records of the turn were erased: its requests cannot be made again.',
  unanswered: 'The prefix it was sent with had grown, and is kept only with an answer: none came.',
  cleared: 'The session was cleared after it: what the request carried is not read any more.',
} as const;

interface Sent {
  readonly receipt: BodyOf<'work-receipt'>;
  readonly plan: PlanBody;
  /** What the turn had recorded when the step was sent. */
  readonly before: readonly RawRecord[];
}

/**
 * null where the step sent nothing that a plan was kept for: the turn has no such step, or never got an answer.
 *
 * @throws TurnwrightError `ledger_corrupt` where the records do not hold a request.
 */
export async function rebuildSent(
  deps: SentDeps,
  ref: SessionRef,
  { turn, head }: SentPlace,
  step: number,
): Promise<SentRequest | null> {
  const records = await deps.store.turnRecords(ref, turn);
  try {
    const sent = sentAt(records, step);
    if (sent === null) return null;
    const { receipt, plan } = sent;
    const assembled = await assembleAgain(deps, ref, head, sent);
    const { assembler } = plan;
    if (typeof assembled === 'string')
      return { receipt, assembler, rebuilt: null, same: null, notice: LOST[assembled] };
    const rebuilt = {
      request: assembled.request,
      digest: assembled.requestDigest,
      bytes: assembled.requestBytes,
    };
    if (assembler !== ASSEMBLER_VERSION) {
      const notice = `The request was made by assembler version ${assembler}; this is version ${ASSEMBLER_VERSION}, whose bytes may differ.`;
      return { receipt, assembler, rebuilt, same: null, notice };
    }
    const same = rebuilt.digest === receipt.requestDigest && rebuilt.bytes === receipt.requestBytes;
    return { receipt, assembler, rebuilt, same, notice: null };
  } catch (cause) {
    throw readable(cause) ? cause : unreadable(turn, cause);
  }
}

/** The answered request of the step; of a step that never got an answer, the last one. */
function sentAt(records: readonly RawRecord[], step: number): Sent | null {
  let last: Sent | null = null;
  let plan: PlanBody | null = null;
  for (const [at, record] of records.entries()) {
    if (record.kind === 'context-plan') plan = bodyOf('context-plan', record);
    if (record.kind !== 'work-receipt') continue;
    const receipt = bodyOf('work-receipt', record);
    if (plan === null || receipt === null || receipt.purpose !== 'step' || receipt.step !== step) continue;
    last = { receipt, plan, before: records.slice(0, at) };
    if (receipt.settlement === 'answered') return last;
  }
  return last;
}

/** A string says why it cannot be done. */
async function assembleAgain(
  { store, requests, configs }: SentDeps,
  ref: SessionRef,
  head: string,
  { receipt, plan, before }: Sent,
) {
  if (before.some(isErased)) return 'erased';
  // A turn's prefix may have grown since its plan.
  const digest = receipt.prefixDigest ?? plan.prefixDigest;
  const [config, prefix] = await Promise.all([configs.get(ref), findPrefix(store, ref, digest)]);
  if (prefix === null) return 'unanswered';
  const { maxTokens, workContract } = sessionPlan(config);
  const open = foldRecords(before);
  const [state, at] = await Promise.all([store.loadSession(ref, null), store.turnAt(ref, head, open.number)]);
  if (state === null || at === null) return 'cleared';
  const { epoch } = state.session;
  return requests.assemble({ ref, head, epoch, open, plan, prefix, maxTokens, workContract });
}

/** An erased body is null, whatever its type says. */
function isErased({ body }: RawRecord): boolean {
  return (body as string | null) === null;
}

function bodyOf<K extends 'context-plan' | 'work-receipt'>(kind: K, record: RawRecord): BodyOf<K> | null {
  return isErased(record) ? null : parseBody(kind, JSON.parse(record.body));
}

/** Errors that say by themselves what is wrong. */
function readable(cause: unknown): boolean {
  return !(cause instanceof SyntaxError || cause instanceof TypeError || cause instanceof z.ZodError);
}

function unreadable(turn: string, cause: unknown): TurnwrightError {
  return new TurnwrightError(
    'ledger_corrupt',
    `The records of turn ${turn}, or of the turns it carried, do not hold a request: they were altered. Run \`turnwright session verify\`.`,
    { cause },
  );
}
