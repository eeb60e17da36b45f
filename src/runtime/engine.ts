/**
 * Applies events to actors. The loop is: load, build the hop purely, commit with compare-and-set, tell the
 * queue. A lost race loads again; nothing is locked while a transition runs.
 */
import type { Cards } from '../context/cards/registry.ts';
import type { ActorRef, Commit, Loaded, NextTurn, RawRecord, Store } from '../db/contract.ts';
import type { Clock } from '../ledger/clock.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { DRAIN_CHILD } from '../ledger/ids.ts';
import type { RecordDraft } from '../ledger/kinds.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import type { ToolSurface } from '../tools/surface.ts';
import type { HopContext, MachineEvent } from './actor.ts';
import { type Additions, addTo } from './additions.ts';
import type { Admission } from './admission.ts';
import type { ClosedTurn, EventHop } from './close.ts';
import { CommitBuilder } from './commit-builder.ts';
import { HeadIndexes } from './head-index.ts';
import { type HeadItems, HeadItemsReader } from './head-items.ts';
import { buildHop, endParked } from './hop.ts';
import { KnownTurns } from './known-turns.ts';
import { endsParked, park, waiting } from './parking.ts';
import { type SessionConfig, SessionConfigs } from './sessions.ts';
import { findMachine } from './snapshot.ts';
import { foldRecords, type TurnCache } from './turn-cache.ts';

/** Lost races on one session before the caller is told to come back. */
const MAX_RACES = 50;
const RACE_PAUSE_MS = 2;

export interface Delivery {
  readonly id: string;
  readonly event: MachineEvent;
  /** What the claim brought; left out, it is loaded. */
  readonly loaded?: Loaded;
  readonly records?: readonly RawRecord[] | undefined;
  readonly settle?: Commit['settle'];
  readonly additions?: (takeEvidence: () => number) => Additions;
  /** What else the commit writes; a turn that it accepts runs next if none waits before it. */
  readonly also?: (builder: CommitBuilder, head: string) => NextTurn | null;
  /** Where this process cannot move the actor, nothing is written. */
  readonly orNothing?: boolean;
}

/** `ended`: the actor had finished. `superseded`: the call was taken over or cancelled. `duplicate`: applied before. */
export type Delivered =
  | 'applied'
  | 'ended'
  | 'superseded'
  | 'duplicate'
  | 'left-for-other-version'
  | 'parked'
  | 'missing';

interface Built {
  readonly commit: Commit;
  readonly closed: ClosedTurn | null;
  readonly outcome: Delivered;
}

export interface EngineOptions {
  readonly store: Store;
  readonly registry: MachineRegistry;
  readonly admission: Admission;
  readonly clock: Clock;
  readonly timezone: string;
  /** The cards and tools of the deployment. */
  readonly cards: Cards;
  readonly surface: ToolSurface;
  /** What this process keeps of closed turns. */
  readonly turns: TurnCache;
}

export class Engine {
  readonly store: Store;
  readonly admission: Admission;
  readonly clock: Clock;
  readonly known = new KnownTurns();
  readonly configs: SessionConfigs;
  readonly indexes: HeadIndexes;
  readonly items: HeadItemsReader;
  readonly #options: EngineOptions;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.store = options.store;
    this.admission = options.admission;
    this.clock = options.clock;
    this.indexes = new HeadIndexes(options.store);
    this.items = new HeadItemsReader(this.indexes, options.turns);
    this.configs = new SessionConfigs(options.store);
  }

  get cards(): Cards {
    return this.#options.cards;
  }

  hopContext(): HopContext {
    const { registry, clock, timezone, cards, surface } = this.#options;
    return { registry, nowUtc: new Date(clock.nowMs()).toISOString(), timezone, cards, surface };
  }

  /** Applies one event, once. */
  async deliver(ref: ActorRef, delivery: Delivery): Promise<Delivered> {
    let brought = delivery;
    for (let race = 0; race < MAX_RACES; race++) {
      const result = await this.attempt(ref, brought);
      if (result !== 'conflict') return result;
      brought = this.#again(ref, brought);
      if (race > 1) await this.clock.sleep(RACE_PAUSE_MS * race);
    }
    throw new TurnwrightError('busy', `Session ${ref.session} has too many writers at once. Try again.`);
  }

  /** One try. `conflict`: somebody else wrote to the session meanwhile, and nothing was written here. */
  async attempt(ref: ActorRef, delivery: Delivery): Promise<Delivered | 'conflict'> {
    const loaded = delivery.loaded ?? (await this.store.load(ref));
    if (loaded === null) return 'missing';
    const ended = loaded.actor.status !== 'active' && !endsParked(loaded, delivery);
    if (ended) return this.#afterEnd(ref, loaded, delivery);
    let records = delivery.records ?? null;
    let config = this.configs.known(ref);
    let built = this.#build(loaded, delivery, { records, config, items: null });
    if (built === 'needs-records') {
      config ??= await this.configs.get(ref);
      records ??= await this.store.turnRecords(ref, loaded.actor.turn ?? '');
      built = this.#build(loaded, delivery, { records, config, items: null });
    }
    if (built === 'needs-items') {
      const items = await this.#itemsOf(loaded, records ?? [], config);
      built = this.#build(loaded, delivery, { records, config, items });
    }
    if (typeof built === 'string') throw new Error(`the hop of ${ref.actor} asked for records it was given`);
    if (delivery.orNothing === true && built.outcome !== 'applied') return built.outcome;
    const { commit, closed, outcome } = built;
    const result = await this.commit(commit, () => {
      if (records === null) this.known.forget(ref.actor);
      else this.known.moved({ loaded, records }, commit);
      if (closed === null) return;
      this.indexes.closed(ref.session, closed);
      this.#options.turns.keep(loaded.session, closed);
    });
    return result === 'applied' ? outcome : result;
  }

  /** Another call of the turn that settled here first left behind what this one needs; else it is read again. */
  #again(ref: ActorRef, { loaded, records: _, ...delivery }: Delivery): Delivery {
    const known = loaded === undefined ? null : this.known.get(ref.actor);
    if (known === null || known.loaded.session.nextSeq <= (loaded?.session.nextSeq ?? 0)) return delivery;
    return { ...delivery, ...known };
  }

  /** What the requests of the turn's head carry, as its records stand. */
  async #itemsOf(
    { session, turn }: Loaded,
    records: readonly RawRecord[],
    config: SessionConfig | null,
  ): Promise<HeadItems> {
    if (turn === null) throw new Error('a call of context belongs to a turn');
    const open = foldRecords(records);
    const place = { head: turn.head, epoch: session.epoch, before: turn.number };
    return this.items.read({ ref: session, place, open, workContract: config?.workContract ?? null });
  }

  /** Leaves an event from outside to the `turn` pool. False when it was known, or its actor has ended. */
  async submit(ref: ActorRef, id: string, event: MachineEvent): Promise<boolean> {
    const dispatch = await this.store.submitEvent(ref, id, JSON.stringify(event));
    if (dispatch === null) return false;
    await this.admission.handOver('turn', [{ ref: { ...ref, child: DRAIN_CHILD, dispatch }, priority: 0 }]);
    return true;
  }

  /**
   * Commits, and hands over what there is room for; the queue being away changes nothing. `applied` is told first: what
   * is handed over may be claimed here at once.
   */
  async commit(
    commit: Commit,
    applied: () => void = () => {},
  ): Promise<'applied' | 'conflict' | 'superseded' | 'duplicate'> {
    const placed = this.admission.reserve(commit);
    const result = await this.store.apply(placed).catch((error: unknown) => {
      this.admission.release(placed);
      throw error;
    });
    if (result !== 'applied') {
      this.admission.release(placed);
      return result;
    }
    applied();
    await this.admission.committed(placed);
    return result;
  }

  /** Appends records without an event: what is kept of work that changes nothing. */
  async append(
    ref: ActorRef,
    drafts: readonly RecordDraft[],
    also: (builder: CommitBuilder) => void = () => {},
  ): Promise<Delivered> {
    for (let race = 0; race < MAX_RACES; race++) {
      const loaded = await this.store.load(ref);
      if (loaded === null) return 'missing';
      const builder = new CommitBuilder(loaded.session);
      const head = loaded.turn?.head ?? loaded.session.liveHead;
      for (const draft of drafts) builder.append(head, draft);
      also(builder);
      const result = await this.commit(builder.build());
      if (result !== 'conflict') return result;
      await this.clock.sleep(RACE_PAUSE_MS * race);
    }
    throw new TurnwrightError('busy', `Session ${ref.session} has too many writers at once. Try again.`);
  }

  /** A string says what more of the turn or its session the event needs than was brought. */
  #build(
    found: Loaded,
    delivery: Delivery,
    { records, config, items }: Pick<EventHop, 'records' | 'config' | 'items'>,
  ): Built | 'needs-records' | 'needs-items' {
    const head = found.turn?.head ?? found.session.liveHead;
    const { builder, accepted } = this.#begin(found, head, delivery);
    const loaded = found.next === null ? { ...found, next: accepted } : found;
    const { actor } = loaded;
    if (actor.status === 'parked') {
      if (records === null) return 'needs-records';
      const hop = { loaded, event: delivery, records, config, items };
      return { ...endParked(builder, this.hopContext(), hop), outcome: 'applied' };
    }
    if (findMachine(this.#options.registry, actor.machine, actor.version) === null) {
      builder.lists.events.push(waiting(actor.actor, delivery));
      return { commit: builder.build(), closed: null, outcome: 'left-for-other-version' };
    }
    try {
      const hop = { loaded, event: delivery, records, config, items };
      const built = buildHop(builder, this.hopContext(), hop);
      return built.kind === 'commit' ? { ...built, outcome: 'applied' } : built.kind;
    } catch (error) {
      if (!(error instanceof TurnwrightError) || error.code !== 'snapshot_refused') throw error;
      const kept = this.#begin(loaded, head, delivery);
      return {
        commit: park(kept.builder, loaded, head, delivery, error.message),
        closed: null,
        outcome: 'parked',
      };
    }
  }

  /** `duplicate` when this very claim had settled and only the answer was lost. */
  async #settleLate(ref: ActorRef, settle: NonNullable<Commit['settle']>): Promise<Delivered> {
    const result = await this.append(ref, [], (builder) => {
      builder.settle = settle;
    });
    return result === 'duplicate' ? 'duplicate' : 'superseded';
  }

  /** What the delivery brings whatever the machine makes of it. */
  #begin(loaded: Loaded, head: string, delivery: Delivery) {
    const builder = new CommitBuilder(loaded.session);
    const accepted = delivery.also?.(builder, head) ?? null;
    if (delivery.settle !== undefined) builder.settle = delivery.settle;
    if (delivery.additions !== undefined)
      addTo(
        builder,
        head,
        loaded.actor.turn,
        delivery.additions(() => builder.takeEvidence()),
      );
    return { builder, accepted };
  }

  /** A finished actor changes no more: a late result is kept as forensic, a late event is marked as taken. */
  async #afterEnd(ref: ActorRef, loaded: Loaded, delivery: Delivery): Promise<Delivered> {
    if (delivery.settle !== undefined) return this.#settleLate(ref, delivery.settle);
    if (loaded.actor.status === 'parked') return 'parked';
    const { revision } = loaded.actor;
    const result = await this.append(ref, [], (builder) => {
      builder.lists.events.push({
        actor: ref.actor,
        id: delivery.id,
        event: JSON.stringify(delivery.event),
        revision,
        digest: null,
      });
    });
    return result === 'applied' ? 'ended' : result;
  }
}
