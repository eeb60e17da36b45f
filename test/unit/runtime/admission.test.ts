import { setImmediate as microtasksDone } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AdmitRules, Commit, HandOver, PoolState, UpkeepStore } from '../../../src/db/contract.ts';
import type { Clock } from '../../../src/ledger/clock.ts';
import type { Admission as Admitted, QueueBackend } from '../../../src/queues/contract.ts';
import { Admission, type TenantLimits } from '../../../src/runtime/admission.ts';
import { gate } from '../../support/await.ts';

const SLOTS = 2;
const DEPTH = 2 * SLOTS;
const TENANT = '00000000-0000-7000-8000-00000000000a';
const SESSION = '00000000-0000-7000-8000-0000000000f0';

interface Row extends HandOver {
  admitted: boolean;
}

/** Postgres and the queue as far as admission sees them; what happens when is the test's to say. */
class World {
  readonly rows: Row[] = [];
  readonly queued: Admitted[] = [];
  readonly asked: { readonly limit: number; readonly rules: AdmitRules | undefined }[] = [];
  readonly timers = new Set<() => void>();
  running = 0;
  /** What the answer to a pull waits for. */
  pulls: Promise<void> = Promise.resolve();
  /** null: answers at once. */
  snapshots: { readonly take: () => void; readonly answer: () => void }[] | null = null;
  readonly admission: Admission;
  #count = 0;

  constructor(tenants?: TenantLimits) {
    const clock: Clock = {
      nowMs: () => 0,
      monotonicMs: () => 0,
      sleep: () => Promise.resolve(),
      after: (_, act) => {
        this.timers.add(act);
        return () => this.timers.delete(act);
      },
    };
    const upkeep: Pick<UpkeepStore, 'poolState' | 'admit'> = {
      poolState: () => this.#poolState(),
      admit: async (_, limit, rules) => {
        this.asked.push({ limit, rules });
        await this.pulls;
        return this.#admit(limit, rules);
      },
    };
    const queue: Pick<QueueBackend, 'admit'> = {
      admit: async (_, admissions) => void this.queued.push(...admissions),
    };
    this.admission = new Admission({
      queue: queue as QueueBackend,
      upkeep: upkeep as UpkeepStore,
      leaseMs: 6_000,
      clock,
      onError: (error) => {
        throw error;
      },
      wakeIn: () => {},
      ...(tenants === undefined ? {} : { tenants }),
    });
  }

  get admitted(): number {
    return this.rows.filter((row) => row.admitted).length;
  }

  /** A commit that hands over one step, and may end another. */
  commit(over: Partial<Commit> = {}, priority = 0): Commit {
    this.#count += 1;
    const actor = `00000000-0000-7000-8000-${String(this.#count).padStart(12, '0')}`;
    const row = { actor, child: 'step-1', dispatch: 1, pool: 'step', priority, delayMs: 0, admitted: false };
    const made = { tenant: TENANT, session: SESSION, outbox: [row], timers: [], ...over };
    return made as unknown as Commit;
  }

  land(commit: Commit): void {
    for (const { actor, child, dispatch, priority, admitted } of commit.outbox)
      this.rows.push({ tenant: TENANT, session: SESSION, actor, child, dispatch, priority, admitted });
  }

  /** Everything a process does to commit, with nothing between. */
  async hop(over: Partial<Commit> = {}, priority = 0): Promise<Commit> {
    const placed = this.admission.reserve(this.commit(over, priority));
    this.land(placed);
    await this.admission.committed(placed);
    await microtasksDone();
    return placed;
  }

  claim(): boolean {
    const at = this.rows.findIndex((row) => row.admitted);
    if (at !== -1) this.rows.splice(at, 1);
    return at !== -1;
  }

  tick(): void {
    for (const act of [...this.timers]) {
      this.timers.delete(act);
      act();
    }
  }

  #state(): readonly PoolState[] {
    const backlog = this.rows.some((row) => !row.admitted) ? 1 : 0;
    return [
      { pool: 'step', concurrency: SLOTS, admitted: this.admitted, backlog, delayed: 0, oldestSeconds: 0 },
    ];
  }

  #poolState(): Promise<readonly PoolState[]> {
    if (this.snapshots === null) return Promise.resolve(this.#state());
    return new Promise((resolve) => {
      let state: readonly PoolState[] = [];
      this.snapshots?.push({
        take: () => {
          state = this.#state();
        },
        answer: () => resolve(state),
      });
    });
  }

  #admit(limit: number, rules: AdmitRules | undefined): readonly HandOver[] | null {
    const room = Math.min(limit, (rules?.perSlot ?? 0) * SLOTS - this.admitted);
    if (room <= 0) return null;
    const cap = (rules?.tenantRunning ?? Number.POSITIVE_INFINITY) - this.admitted - this.running;
    const chosen = this.rows.filter((row) => !row.admitted).slice(0, Math.max(0, Math.min(room, cap)));
    for (const row of chosen) row.admitted = true;
    return chosen;
  }
}

function row(commit: Commit): Omit<Row, 'admitted'> {
  const [{ actor, child, dispatch, priority } = missing()] = commit.outbox;
  return { tenant: TENANT, session: SESSION, actor, child, dispatch, priority };
}

function missing(): never {
  throw new Error('the commit hands nothing over');
}

type Step =
  | 'commit'
  | 'land'
  | 'told'
  | 'lost'
  | 'claim'
  | 'claim-told'
  | 'refresh'
  | 'snapshot'
  | 'answer'
  | 'tick';
/** Turns come faster than they are taken, so that the queue fills. */
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.constant('commit' as const) },
  { weight: 5, arbitrary: fc.constantFrom('land' as const, 'told' as const) },
  { weight: 2, arbitrary: fc.constantFrom('claim' as const, 'claim-told' as const) },
  { weight: 6, arbitrary: fc.constantFrom('refresh' as const, 'snapshot' as const, 'answer' as const) },
  { weight: 1, arbitrary: fc.constantFrom('lost' as const, 'tick' as const) },
);

/** One process, with every moment between a question and its answer open to others. */
class Process {
  readonly world = new World();
  readonly #sent: Commit[] = [];
  readonly #landed: Commit[] = [];
  #untold = 0;
  #taken = 0;

  async begin(): Promise<void> {
    await this.world.admission.refresh();
    this.world.snapshots = [];
  }

  /** What the estimate may be wrong by: claims that landed and were not heard of, one a slot. */
  get knownError(): number {
    return SLOTS;
  }

  async step(step: Step): Promise<void> {
    const { world } = this;
    const { admission } = world;
    if (step === 'commit') this.#sent.push(admission.reserve(world.commit()));
    if (step === 'land')
      this.#next(this.#sent, (commit) => {
        world.land(commit);
        this.#landed.push(commit);
      });
    if (step === 'told') this.#next(this.#landed, (commit) => void admission.committed(commit));
    if (step === 'lost') this.#next(this.#sent, (commit) => admission.release(commit));
    if (step === 'claim' && this.#untold < SLOTS && world.claim()) this.#untold += 1;
    if (step === 'claim-told' && this.#untold > 0) {
      this.#untold -= 1;
      admission.claimed('step');
    }
    if (step === 'refresh') void admission.refresh();
    const snapshot = world.snapshots?.[this.#taken];
    if (step === 'snapshot' && snapshot !== undefined) {
      snapshot.take();
      this.#taken += 1;
    }
    if (step === 'answer' && this.#taken > 0) {
      world.snapshots?.shift()?.answer();
      this.#taken -= 1;
    }
    if (step === 'tick') world.tick();
    await microtasksDone();
  }

  /** Nothing stays open: all that was begun ends, and workers go on. */
  async finish(): Promise<void> {
    for (let round = 0; round < 400 && (this.world.rows.length > 0 || this.#sent.length > 0); round++)
      for (const step of ['land', 'told', 'claim', 'claim-told', 'tick', 'snapshot', 'answer'] as const)
        await this.step(step);
  }

  #next(list: Commit[], act: (commit: Commit) => void): void {
    const commit = list.shift();
    if (commit !== undefined) act(commit);
  }
}

describe('admission in one process', () => {
  it('RUN-10 never exceeds twice the live slots by more than the claims it had not heard of, and loses no row', async () => {
    let deepest = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 150 }), async (steps) => {
        const process = new Process();
        await process.begin();
        for (const next of steps) {
          await process.step(next);
          deepest = Math.max(deepest, process.world.admitted);
          expect(process.world.admitted).toBeLessThanOrEqual(DEPTH + process.knownError);
        }
        await process.finish();
        expect(process.world.rows).toEqual([]);
      }),
      { numRuns: 400 },
    );
    expect(deepest).toBeGreaterThanOrEqual(DEPTH);
  });

  it('hands over at once while there is room and no backlog, and asks Postgres from then on', async () => {
    const world = new World();
    await world.admission.refresh();
    for (let n = 0; n < DEPTH; n++) await world.hop();
    expect(world.asked).toEqual([]);
    expect(world.queued).toHaveLength(DEPTH);
    await world.hop();
    expect(world.rows.filter((row) => !row.admitted)).toHaveLength(1);
    world.claim();
    world.admission.claimed('step');
    await microtasksDone();
    expect(world.rows.filter((row) => !row.admitted)).toEqual([]);
    expect(world.asked[0]?.rules).toMatchObject({ leaseMs: 6_000, perSlot: 2, tenantRunning: null });
  });

  it('RUN-10 passes nobody with a new row while others wait, or may wait', async () => {
    const admitted = (commit: Commit) => world.admission.reserve(commit).outbox.map((row) => row.admitted);
    const world = new World();
    await world.admission.refresh();
    for (let n = 0; n < DEPTH; n++) await world.hop();
    const pull = gate();
    world.pulls = pull.opened;
    world.claim();
    world.claim();
    world.admission.claimed('step');
    const waiting = world.admission.reserve(world.commit());
    world.land({ ...waiting, outbox: waiting.outbox.map((row) => ({ ...row, admitted: false })) });
    void world.admission.refresh();
    await microtasksDone();
    expect(world.asked).toHaveLength(1);
    expect(admitted(world.commit())).toEqual([false]);
    // Another process took the room meanwhile.
    for (let n = 0; n < 2; n++) world.rows.push({ ...row(world.commit()), admitted: true });
    pull.open();
    await microtasksDone();
    world.claim();
    world.admission.claimed('step');
    expect(admitted(world.commit())).toEqual([false]);
  });

  it('RUN-10 gives the place of a commit that did not happen to nobody before those who wait', async () => {
    const world = new World();
    await world.admission.refresh();
    const failing = world.admission.reserve(world.commit());
    for (let n = 0; n < DEPTH; n++) await world.hop();
    world.admission.release(failing);
    expect(world.admission.reserve(world.commit()).outbox.map((one) => one.admitted)).toEqual([false]);
    world.tick();
    await microtasksDone();
    expect(world.rows.filter((one) => !one.admitted)).toEqual([]);
  });

  it('RUN-10 takes no older answer for the newest: a row held back after the question is not forgotten', async () => {
    const world = new World();
    await world.admission.refresh();
    for (let n = 0; n < DEPTH; n++) await world.hop();
    world.snapshots = [];
    world.claim();
    void world.admission.refresh();
    world.snapshots[0]?.take();
    await world.hop();
    expect(world.rows.filter((one) => !one.admitted)).toHaveLength(1);
    world.snapshots[0]?.answer();
    await microtasksDone();
    expect(world.rows.filter((one) => !one.admitted)).toEqual([]);

    world.claim();
    void world.admission.refresh();
    void world.admission.refresh();
    const [, older, newer] = world.snapshots;
    older?.take();
    world.rows.push({ ...row(world.commit()), admitted: true });
    newer?.take();
    newer?.answer();
    await microtasksDone();
    older?.answer();
    await microtasksDone();
    // The older answer saw room that is gone.
    expect(world.admission.reserve(world.commit()).outbox.map((one) => one.admitted)).toEqual([false]);
  });

  it('RUN-10 the queue takes jobs as they come: a tenant’s priority decides nothing there', async () => {
    const world = new World();
    await world.admission.refresh();
    await world.hop({}, 7);
    await world.hop({}, 1);
    expect(world.queued.map(({ priority }) => priority)).toEqual([0, 0]);
  });

  it('RUN-10 with a hard limit on tenants hands nothing over unasked, and looks again when a call ends', async () => {
    const world = new World({ tenantShare: 1, tenantRunning: 1 });
    await world.admission.refresh();
    const first = await world.hop();
    expect(first.outbox.map(({ admitted }) => admitted)).toEqual([false]);
    expect(world.queued).toHaveLength(1);
    await world.hop();
    await world.hop();
    expect(world.queued).toHaveLength(1);
    world.claim();
    world.running = 1;
    world.admission.claimed('step');
    await microtasksDone();
    expect(world.queued).toHaveLength(1);
    world.running = 0;
    await world.hop({ outbox: [], settle: { actor: 'a', child: 'step-1' } as NonNullable<Commit['settle']> });
    expect(world.queued).toHaveLength(2);
    expect(world.asked.map(({ rules }) => rules?.tenantRunning)).not.toContain(null);
  });

  it('RUN-06 a hard limit on tenants holds no event of a turn back', async () => {
    const world = new World({ tenantShare: 1, tenantRunning: 1 });
    const [row] = world.commit().outbox;
    const drain = { ...row, child: 'drain', pool: 'turn' } as Commit['outbox'][number];
    const placed = world.admission.reserve(world.commit({ outbox: [drain, drain] }));
    expect(placed.outbox.map(({ admitted }) => admitted)).toEqual([true, true]);
  });
});
