/**
 * From a claimed step to the request it sends: bind, plan (once a turn), load what the plan names, assemble.
 * The plan comes from the ledger when the turn has one, so every step of a turn carries the same history.
 */
import { ASSEMBLER_VERSION, type Assembled, assemble } from '../context/assemble/assemble.ts';
import type { Prefix } from '../context/assemble/prefix.ts';
import { renderTail } from '../context/assemble/tail.ts';
import { type Rendered, rendered, renderTurn } from '../context/assemble/turn.ts';
import type { CapacityProfile } from '../context/capacity/profile.ts';
import { tokensOf } from '../context/capacity/tokens.ts';
import { type ClosedTurnWeight, type Plan, planTurns } from '../context/plan/plan.ts';
import type { Claim, RawRecord, SessionRef, Store, TurnPlace } from '../db/contract.ts';
import type { Json } from '../ledger/json.ts';
import type { BodyOf, RecordDraft } from '../ledger/kinds.ts';
import { foldTurn, type TurnView } from '../ledger/view.ts';
import type { TurnCache } from './turn-cache.ts';

/** Closed turns read at a time when the budget may hold more than the claim brought. */
const WEIGHT_BLOCK = 512;

export interface RequestInput {
  readonly claim: Claim;
  readonly place: TurnPlace;
  readonly prefix: Prefix;
  readonly profile: CapacityProfile;
  /** Plan without asking for packets that are not stored. */
  readonly packetless: boolean;
}

export type PreparedRequest =
  | { readonly kind: 'packet-wanted'; readonly from: number; readonly to: number }
  | {
      readonly kind: 'request';
      readonly open: TurnView;
      readonly assembled: Assembled;
      readonly planDraft: RecordDraft | null;
    };

export class RequestBuilder {
  readonly #store: Store;
  readonly #turns: TurnCache;

  constructor(store: Store, turns: TurnCache) {
    this.#store = store;
    this.#turns = turns;
  }

  async prepare(input: RequestInput): Promise<PreparedRequest> {
    const { claim, place, prefix, profile } = input;
    const { session } = claim.loaded;
    const open = openTurn(claim.records);
    const openPiece = rendered(renderTurn(open, renderTail(open)));
    const frozen = open.plan !== null && open.plan.rejections === open.rejections.length ? open.plan : null;
    const planned = frozen ?? (await this.#plan(input, openPiece.bytes));
    if ('wants' in planned && planned.wants !== null && !input.packetless)
      return { kind: 'packet-wanted', ...planned.wants };

    const [packet, history] = await Promise.all([
      this.#packet(input, planned.runs),
      this.#history(session, place, planned.runs),
    ]);
    const bytes = [openPiece, ...history, ...(packet === null ? [] : [packet])].reduce(
      (sum, piece) => sum + piece.bytes,
      prefix.bytes,
    );
    const maxTokens = replyTokens(profile, bytes);
    const assembled = assemble({
      prefix,
      packet,
      history,
      open: openPiece,
      maxTokens,
      cacheKey: session.session,
    });
    return {
      kind: 'request',
      open,
      assembled,
      planDraft: 'wants' in planned ? planRecord(open, prefix, profile, planned) : null,
    };
  }

  /** Reads more turns while all that were read fit, and packets the claim did not bring. */
  async #plan(input: RequestInput, openTurnBytes: number): Promise<Plan> {
    const { claim, place, prefix, profile } = input;
    const { session } = claim.loaded;
    const closedCount = place.number - 1;
    const closed = [...weights(claim.closed ?? [])];
    const packets = [...(claim.packets ?? [])];
    for (;;) {
      const plan = planTurns({
        profile,
        prefixBytes: prefix.bytes,
        openTurnBytes,
        closed,
        closedCount,
        packets,
      });
      if (closed.length < closedCount && fullTurns(plan) === closed.length) {
        const before = closed.at(-1)?.number ?? place.number;
        closed.push(...weights(await this.#store.closedTurns(session, place.head, before, WEIGHT_BLOCK)));
        continue;
      }
      if (plan.wants === null || input.packetless) return plan;
      const stored = await this.#store.findPacket(session, place.head, plan.wants.from, plan.wants.to);
      if (stored === null) return plan;
      packets.push(stored);
    }
  }

  async #packet({ claim, place }: RequestInput, runs: Plan['runs']): Promise<Rendered | null> {
    const run = runs.find((candidate) => candidate.fidelity === 'packet');
    if (run === undefined) return null;
    const { session } = claim.loaded;
    const brought = claim.packets?.find((packet) => packet.from === run.from && packet.to === run.to);
    const row = brought ?? (await this.#store.findPacket(session, place.head, run.from, run.to));
    return row === null ? null : this.#turns.renderedPacket(session, row);
  }

  #history(ref: SessionRef, place: TurnPlace, runs: Plan['runs']): Promise<readonly Rendered[]> {
    const full = runs.find((run) => run.fidelity === 'full');
    return full === undefined ? Promise.resolve([]) : this.#turns.range(ref, place.head, full.from, full.to);
  }
}

export function openTurn(records: readonly RawRecord[]): TurnView {
  return foldTurn(records.map((record) => ({ ...record, body: JSON.parse(record.body) as unknown })));
}

function weights(rows: readonly (readonly [number, number])[]): readonly ClosedTurnWeight[] {
  return rows.map(([number, bytes]) => ({ number, bytes }));
}

function fullTurns(plan: Plan): number {
  return plan.runs
    .filter((run) => run.fidelity === 'full')
    .reduce((sum, run) => sum + run.to - run.from + 1, 0);
}

/** The reply may take what the window leaves, up to the reserve; at least one token. */
function replyTokens(profile: CapacityProfile, promptBytes: number): number {
  const window = Math.min(profile.declaredWindow, profile.verifiedWindow ?? profile.declaredWindow);
  return Math.max(1, Math.min(profile.outputReserve, window - tokensOf(promptBytes, profile)));
}

function planRecord(open: TurnView, prefix: Prefix, profile: CapacityProfile, plan: Plan): RecordDraft {
  const body: BodyOf<'context-plan'> = {
    assembler: ASSEMBLER_VERSION,
    policy: 'plan',
    runs: [...plan.runs],
    budgetTokens: plan.budgetTokens,
    spentTokens: plan.spentTokens,
    leftOut: plan.leftOut,
    prefixDigest: prefix.digest,
    rejections: open.rejections.length,
    profile: profile as unknown as Record<string, Json>,
  };
  return { kind: 'context-plan', turnId: open.turnId, body };
}
