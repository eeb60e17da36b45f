/** The plan of an open turn, made of what is known of its head. One function for steps, dry plans and compaction. */
import { renderOpen } from '../context/assemble/open-turn.ts';
import type { Prefix } from '../context/assemble/prefix.ts';
import { NO_TAIL, renderTail, type TailInput } from '../context/assemble/tail.ts';
import { omittedTurns, type PlacedParts, threadLines } from '../context/assemble/thread.ts';
import { type Rendered, rendered } from '../context/assemble/weigh.ts';
import type { CapacityProfile } from '../context/capacity/profile.ts';
import { countedPrefix } from '../context/capacity/tokens.ts';
import { linksOf } from '../context/links/observed.ts';
import { namedTurn, placedStrands, THREAD_TURNS } from '../context/links/strands.ts';
import type { Plan, PlanInput, PlanOptions, PlanRun } from '../context/plan/contract.ts';
import { planTurns } from '../context/plan/plan.ts';
import { queryTerms } from '../context/relevance/terms.ts';
import { continuedTurn } from '../context/relevance/threads.ts';
import type { TurnIndex } from '../context/relevance/turn-index.ts';
import type { SessionRef, ToPlan } from '../db/contract.ts';
import type { Placed } from '../intent/lineage.ts';
import { scannedText } from '../intent/scanned.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import { type TurnView, visibleText } from '../ledger/view.ts';
import type { HeadIndex, HeadIndexes } from './head-index.ts';
import { HeadItemsReader } from './head-items.ts';
import type { HeadAt, TurnCache } from './turn-cache.ts';
import type { TurnVectors } from './turn-vectors.ts';

/** The cards' tags and their message, beside the lines themselves. */
const CARD_BLOCK_BYTES = 64;

export interface PlanFor {
  readonly ref: SessionRef;
  readonly head: string;
  readonly epoch: number;
  /** What a claim read past what is known here; null to look. */
  readonly toPlan: ToPlan | null;
  readonly profile: CapacityProfile;
  readonly options: PlanOptions;
  readonly prefix: Pick<Prefix, 'bytes' | 'digest'>;
  readonly open: TurnView;
  readonly workContract: string | null;
  readonly locale: string | null;
}

export interface Planned extends Pick<GoesOn, 'placed'> {
  readonly plan: Plan;
  readonly input: PlanInput<TurnIndex>;
  readonly known: HeadIndex;
  /** The record of the reset that stands before the history. */
  readonly reset: number | null;
  readonly open: Rendered;
  readonly tail: string | null;
}

export interface GoesOn {
  /** How the parts of the directive stand to earlier threads. */
  readonly placed: readonly Placed[];
  /** The turn whose thread goes on. */
  readonly continues: number | null;
}

export class Planning {
  readonly items: HeadItemsReader;
  readonly #indexes: HeadIndexes;
  readonly #turns: TurnCache;
  /** null where no embedding leg is configured. */
  readonly #vectors: TurnVectors | null;

  constructor(indexes: HeadIndexes, turns: TurnCache, vectors: TurnVectors | null = null) {
    this.items = new HeadItemsReader(indexes, turns);
    this.#indexes = indexes;
    this.#turns = turns;
    this.#vectors = vectors;
  }

  async plan(request: PlanFor): Promise<Planned> {
    const { ref, head, epoch, open, toPlan, workContract } = request;
    const at = { head, epoch };
    const known = await this.#indexes.get(ref, { ...at, before: open.number }, toPlan);
    const isAsked = this.#vectors !== null && request.options.signals === 'all';
    const likeness = isAsked ? await this.#vectors.likeness(ref, head, epoch, open) : null;
    const placed = await this.#place(request);
    const resetSeq = open.reset?.seq ?? known.reset;
    const reset = resetSeq === null ? null : await this.#turns.reset(ref, resetSeq);
    const render = (input: TailInput) => {
      const tail = renderTail(open, input);
      return { open: rendered(renderOpen(open, tail)), tail };
    };
    const counted = countedPrefix(request.profile, request.prefix.digest);
    const weighed =
      counted === null
        ? { prefixBytes: request.prefix.bytes + CARD_BLOCK_BYTES }
        : { prefixBytes: CARD_BLOCK_BYTES, countedTokens: counted };
    const bare = render({ ...NO_TAIL, workContract });
    const input = (openTurnBytes: number): PlanInput<TurnIndex> => ({
      profile: request.profile,
      options: request.options,
      ...weighed,
      openTurnBytes,
      resetBytes: reset?.piece.bytes ?? 0,
      behind: reset?.behind ?? 0,
      index: known.turns,
      query: queryOf(open, namedTurn(open, placed)),
      packets: known.packets,
      ...(likeness === null ? {} : { likeness }),
    });
    const first = input(bare.open.bytes);
    const plan = planTurns(first);
    const tail = await this.tail(ref, at, open, { runs: plan.runs, strands: placed }, workContract);
    if (tail.thread.length === 0) return { plan, input: first, known, reset: resetSeq, placed, ...bare };
    // What the tail lists takes room of its own; the list itself stays that of the final plan.
    const second = input(render(tail).open.bytes);
    const final = planTurns(second);
    const listed = await this.tail(ref, at, open, { runs: final.runs, strands: placed }, workContract);
    return { plan: final, input: second, known, reset: resetSeq, placed, ...render(listed) };
  }

  /** What the turn goes on with, by the words of its directive: needed too where no plan chooses what is carried. */
  async goesOn(request: Omit<PlanFor, 'profile' | 'options' | 'prefix'>): Promise<GoesOn> {
    const { ref, head, epoch, open, toPlan } = request;
    const place = { head, epoch, before: open.number };
    const known = this.#indexes.known(ref.session, place) ?? (await this.#indexes.get(ref, place, toPlan));
    const placed = await this.#place(request);
    const query = queryOf(open, namedTurn(open, placed));
    return { placed, continues: continuedTurn(known.turns, query, queryTerms(query.text, query), 0) };
  }

  async #place(request: Pick<PlanFor, 'ref' | 'head' | 'epoch' | 'open' | 'locale'>) {
    const { ref, open, locale } = request;
    const newest = open.number - 1;
    const earlier = await this.#turns.cards(ref, request, Math.max(1, newest - THREAD_TURNS + 1), newest);
    return placedStrands(
      open,
      earlier.map(({ card }) => card),
      locale,
    );
  }

  /** The sections of the tail that follow from a plan: the same for as long as the plan stands. */
  async tail(
    ref: SessionRef,
    at: HeadAt,
    open: TurnView,
    { runs, strands = [] }: { readonly runs: readonly PlanRun[]; readonly strands?: PlacedParts },
    workContract: string | null,
  ): Promise<TailInput> {
    const omitted = omittedTurns(runs, open.number - 1, 1);
    const [from, to] = [omitted[0], omitted.at(-1)];
    if (from === undefined || to === undefined) return { workContract, thread: [] };
    const cards = await this.#turns.cards(ref, at, from, to);
    const listed = cards.filter(({ card }) => omitted.includes(card.number)).map(({ card }) => card);
    return { workContract, thread: threadLines(listed, open.reading?.domains ?? [], strands) };
  }
}

/** `named`: the turn that the words of the directive say it goes on with. */
function queryOf(open: TurnView, named: number | null): PlanInput<TurnIndex>['query'] {
  const links = linksOf(open);
  const text = visibleText(open.input);
  return {
    text,
    request: scannedText(text, open.reading?.pasted ?? []),
    act: open.reading?.act ?? '',
    domains: open.reading?.domains ?? [],
    links:
      named === null ? links : [...links, { kind: 'continues', to: `T${named}`, provenance: 'inferred' }],
  };
}

/** As a plan records them: only where any is not new. */
export function strandsOf(placed: readonly Placed[]): Pick<BodyOf<'context-plan'>, 'strands'> {
  if (placed.every(({ lineage }) => lineage === 'new')) return {};
  return { strands: placed.map(({ merges, ...strand }) => ({ ...strand, merges: [...merges] })) };
}
