/** A session's stable prefix: pinned for a turn by its plan, changed by a deploy at a turn's start only, and recorded. */
import {
  buildPrefix,
  type Prefix,
  type PrefixChange,
  prefixChange,
  prefixOf,
} from '../context/assemble/prefix.ts';
import type { SessionHead, Store } from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { type BodyOf, parseBody, type RecordDraft } from '../ledger/kinds.ts';
import type { TurnView } from '../ledger/view.ts';
import type { ToolSurface } from '../tools/surface.ts';
import { isOffered } from './session-plan.ts';
import type { SessionConfig } from './sessions.ts';

/** Built once a process: settings and tools do not change under a running one. */
const known = new WeakMap<SessionConfig, Prefix>();

export function sessionPrefix(config: SessionConfig, surface: ToolSurface): Prefix {
  const found = known.get(config);
  if (found !== undefined) return found;
  const tools = surface.all().filter((tool) => isOffered(config, tool));
  const prefix = buildPrefix(config.system, tools);
  known.set(config, prefix);
  return prefix;
}

export interface StepPrefix {
  readonly prefix: Prefix;
  /** What the step that pins it writes: the prefix itself where the session has not got it, and what changed. */
  readonly drafts: readonly RecordDraft[];
  /** The index among the drafts of the prefix itself; null where it was stored before. */
  readonly stored: number | null;
  readonly pins: boolean;
}

type Reading = Pick<Store, 'prefix'>;

/** A turn that was planned keeps the prefix it was planned with, whatever this process would build. */
export async function stepPrefix(
  store: Reading,
  session: SessionHead,
  open: TurnView,
  built: Prefix,
): Promise<StepPrefix> {
  const pinned = open.plan?.prefixDigest ?? null;
  if (pinned !== null) {
    const prefix = pinned === built.digest ? built : await storedPrefix(store, session, pinned);
    return { prefix, drafts: [], stored: null, pins: false };
  }
  if (session.prefix === built.digest) return { prefix: built, drafts: [], stored: null, pins: false };
  const drafts: RecordDraft[] = [];
  const turnId = open.turnId;
  if (session.prefix !== null) {
    const change = prefixChange(await storedPrefix(store, session, session.prefix), built);
    if (change !== null)
      drafts.push({ kind: 'prefix-changed', turnId, body: changed(session.prefix, built, change) });
  }
  const again = session.prefix !== null && (await store.prefix(session, built.digest)) !== null;
  if (again) return { prefix: built, drafts, stored: null, pins: true };
  const { digest, system, tools } = built;
  drafts.push({
    kind: 'prefix',
    turnId,
    body: { digest, system, tools: tools.map((tool) => ({ ...tool })) },
  });
  return { prefix: built, drafts, stored: drafts.length - 1, pins: true };
}

/** @throws TurnwrightError `ledger_corrupt` when the session does not hold it any more. */
export async function storedPrefix(
  store: Reading,
  ref: Pick<SessionHead, 'tenant' | 'session'>,
  digest: string,
): Promise<Prefix> {
  const body = await store.prefix(ref, digest);
  if (body === null)
    throw new TurnwrightError('ledger_corrupt', `Session ${ref.session} does not hold the prefix ${digest}.`);
  const { system, tools } = parseBody('prefix', JSON.parse(body));
  return prefixOf(system, tools);
}

function changed(from: string, to: Prefix, { part, bytes }: PrefixChange): BodyOf<'prefix-changed'> {
  return { from, to: to.digest, part, bytes };
}
