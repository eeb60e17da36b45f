/**
 * After a turn closed: the packet that the next plan would want is begun now, beside the turns, so that none waits for
 * it. Nothing depends on it: a packet that is not there when it is wanted is written then.
 */
import type { TurnRange } from '../context/plan/contract.ts';
import type { ActorRef } from '../db/contract.ts';
import { unasked } from '../ledger/view.ts';
import { SUMMARY_MACHINE, SUMMARY_VERSION } from '../machines/summary.ts';
import { beginActor } from './actor.ts';
import type { Engine } from './engine.ts';
import type { PlanFor, Planning } from './planning.ts';
import type { PlanBody, RequestInput } from './request.ts';
import { commitToSession } from './session-commit.ts';

/** Below this part one more turn does not fill it: nothing is planned. */
const HALF_FULL = 0.4;

/** `actor` writes the packet; null where none was begun: nothing is wanted, there is room, or one is being written. */
export interface Begun {
  /** The turns a summary should stand for and does not yet. */
  readonly wants: TurnRange | null;
  readonly actor: string | null;
}

export class SummariesAhead {
  readonly #engine: Engine;
  readonly #planning: Planning;
  readonly #newId: () => string;

  constructor(engine: Engine, planning: Planning, newId: () => string) {
    this.#engine = engine;
    this.#planning = planning;
    this.#newId = newId;
  }

  /** `last` is what the step that ended the turn was made of. */
  async afterStep(ref: ActorRef, { claim, place, ...input }: RequestInput, plan: PlanBody): Promise<void> {
    if (plan.policy !== 'plan') return;
    if (plan.packet === null && plan.spentTokens < HALF_FULL * plan.budgetTokens) return;
    const { epoch } = claim.loaded.session;
    // The tail of the next turn weighs about what this one's did; without it the packet would end too early.
    const { context, reading } = input.open;
    const { tenant, session } = ref;
    const next: PlanFor = {
      ref: { tenant, session },
      head: place.head,
      epoch,
      toPlan: null,
      profile: input.profile,
      options: input.options,
      prefix: input.prefix,
      open: { ...unasked(place.number + 1), context, reading },
      workContract: input.workContract,
      locale: input.locale,
    };
    await this.begin(next);
  }

  /**
   * Begins the packet that the plan of `next` wants, where none is being written. Two that ask in the same moment may both begin it: it is the same packet, and kept once.
   */
  async begin(next: PlanFor): Promise<Begun> {
    const { plan } = await this.#planning.plan(next);
    const { wants, packet } = plan;
    if (wants === null || packet === null) return { wants, actor: null };
    const { ref, head } = next;
    const input = { ...wants, bytes: packet.bytes, head };
    const actor = await commitToSession(this.#engine, ref, async (builder) => {
      if (await this.#engine.store.isActive(ref, SUMMARY_MACHINE)) return { value: null, unchanged: true };
      const id = this.#newId();
      beginActor(
        builder,
        this.#engine.hopContext(),
        { actor: id, turn: null, machine: SUMMARY_MACHINE, version: SUMMARY_VERSION, input },
        { actor: id, turn: null, head, priority: 0 },
      );
      return { value: id };
    });
    return { wants, actor };
  }
}
