/**
 * A session's stable prefix: pinned for a turn by its plan, and recorded. At a turn's start it is made anew, of what this
 * deployment has and what the session loaded before. Inside a turn it only grows, from the prefix that was sent last.
 */
import { type Prefix, prefixChange } from '../context/assemble/prefix.ts';
import type { Claim, RawRecord, SessionHead, SessionRef, Store, TurnPlace } from '../db/contract.ts';
import { formsAsked } from '../intent/forms.ts';
import { lexiconFor } from '../intent/lexicon/index.ts';
import { needOf } from '../intent/need.ts';
import { scannedText } from '../intent/scanned.ts';
import type { Domain } from '../ledger/domains.ts';
import { type BodyOf, parseBody, type RecordDraft } from '../ledger/kinds.ts';
import { type TurnView, visibleText } from '../ledger/view.ts';
import { admittedTools, cardTypesOf, type ToolSurface } from '../tools/surface.ts';
import { surfaceTerms } from './session-plan.ts';
import { grownPrefix, loadedNames, type Start, sessionPrefix } from './session-prefix.ts';
import type { SessionConfig } from './sessions.ts';
import { storedPrefix } from './stored-prefix.ts';

export interface StepPrefix {
  readonly prefix: Prefix;
  /** Names of its tools that are not part of every request of the session. */
  readonly loaded: readonly string[];
  /** What the step that pins it writes: the prefix itself where the session has not got it, and what changed. */
  readonly drafts: readonly RecordDraft[];
  /** The index among the drafts of the prefix itself; null where it was stored before. */
  readonly stored: number | null;
  readonly pins: boolean;
}

/** What the prefixes of a session are made of beside its records. */
export interface PrefixParts {
  readonly config: SessionConfig;
  readonly surface: ToolSurface;
  /** One of the session's legs searches tools itself. */
  readonly searches: boolean;
}

type Reading = Pick<Store, 'prefix' | 'closings'>;
type Place = Pick<TurnPlace, 'head' | 'number'>;

/** Domains of a turn that nobody has read: what helps to find one's bearings. */
const BEARINGS: readonly Domain[] = ['filesystem', 'memory'];

/** The prefix of a claimed step, and what its commit writes of it. */
export async function stepPrefix(
  store: Reading,
  { loaded: { session }, records }: Claim,
  { place, open }: { readonly place: Place; readonly open: TurnView },
  parts: PrefixParts,
): Promise<StepPrefix> {
  const sent = sentDigest(records);
  if (sent === null) {
    const prefix = await turnPrefix(store, session, { place, open }, parts);
    return pinned(store, session, { from: session.prefix, prefix, turnId: open.turnId }, parts.surface);
  }
  const base = await storedPrefix(store, session, sent);
  const prefix = open.growths.length === 0 ? base : grownPrefix(base, open.growths, parts);
  return pinned(store, session, { from: sent, prefix, turnId: open.turnId }, parts.surface);
}

/** The prefix that a turn would start with now. */
export async function turnPrefix(
  store: Reading,
  session: SessionHead,
  { place, open }: { readonly place: Place; readonly open: TurnView },
  { config, surface, searches }: PrefixParts,
): Promise<Prefix> {
  const before = session.prefix === null ? null : await storedPrefix(store, session, session.prefix);
  const called = await calledBefore(store, session, place, before, surface);
  return sessionPrefix(config, surface, { before, called, searches, ...wantedBy(open, config, surface) });
}

/** The digest that the turn was sent last; null before its plan. What its growths added stands in a change behind it. */
function sentDigest(records: readonly RawRecord[]): string | null {
  let digest: string | null = null;
  for (const { kind, body } of records) {
    if (kind === 'context-plan') digest = parseBody('context-plan', JSON.parse(body)).prefixDigest;
    if (kind === 'prefix-changed' && digest !== null)
      digest = parseBody('prefix-changed', JSON.parse(body)).to;
  }
  return digest;
}

async function pinned(
  store: Reading,
  session: SessionHead,
  {
    from,
    prefix,
    turnId,
  }: { readonly from: string | null; readonly prefix: Prefix; readonly turnId: string },
  surface: ToolSurface,
): Promise<StepPrefix> {
  const loaded = loadedNames(prefix, surface);
  if (from === prefix.digest) return { prefix, loaded, drafts: [], stored: null, pins: false };
  const drafts: RecordDraft[] = [];
  if (from !== null) {
    const change = prefixChange(await storedPrefix(store, session, from), prefix);
    const body = { from, to: prefix.digest, part: change?.part ?? '', bytes: change?.bytes ?? 0 };
    drafts.push({ kind: 'prefix-changed', turnId, body });
  }
  const isStored = from !== null && (await store.prefix(session, prefix.digest)) !== null;
  if (isStored) return { prefix, loaded, drafts, stored: null, pins: true };
  drafts.push({ kind: 'prefix', turnId, body: bodyOf(prefix) });
  return { prefix, loaded, drafts, stored: drafts.length - 1, pins: true };
}

function bodyOf({ digest, system, tools, deferred, skills, servers }: Prefix): BodyOf<'prefix'> {
  return {
    digest,
    system,
    tools: tools.map((tool) => ({ ...tool })),
    ...(deferred === undefined ? {} : { deferred: deferred.map((tool) => ({ ...tool })) }),
    ...(skills === undefined ? {} : { skills: [...skills] }),
    ...(servers === undefined
      ? {}
      : { servers: servers.map(({ tools: seen, ...listing }) => ({ ...listing, tools: [...seen] })) }),
  };
}

function wantedBy(
  open: TurnView,
  config: SessionConfig,
  surface: ToolSurface,
): Pick<Start, 'domains' | 'cards'> {
  const types = cardTypesOf(admittedTools(surface, surfaceTerms(config)));
  return {
    domains: open.reading === null ? BEARINGS : needOf(open.reading),
    cards: formsAsked(
      scannedText(visibleText(open.input), open.reading?.pasted ?? []),
      types,
      lexiconFor(config.locale ?? null),
    ),
  };
}

/**
 * What the turn before used of the tools that a provider searches by itself: it expanded them for that turn, and they
 * are loaded from the next one on.
 */
async function calledBefore(
  store: Pick<Store, 'closings'>,
  session: SessionRef,
  { head, number }: Place,
  before: Prefix | null,
  surface: ToolSurface,
): Promise<readonly string[]> {
  const deferred = new Set((before?.deferred ?? []).map(({ name }) => name));
  if (deferred.size === 0 || number <= 1) return [];
  const [closing] = await store.closings(session, head, number - 1, number - 1);
  const card = closing?.body == null ? undefined : parseBody('turn-closed', JSON.parse(closing.body)).card;
  if (card === undefined) return [];
  const shown = new Set(card.presentations.map(({ type }) => type));
  const emitters = surface.all().filter((tool) => cardTypesOf([tool]).some((type) => shown.has(type)));
  const used = [...card.did.map(({ tool }) => tool), ...emitters.map(({ name }) => name)];
  return used.filter((name) => deferred.has(name));
}
