/** The steps a random history is made of: small numbers that say which of what is stored a step is about. */
import fc from 'fast-check';

/** Time passes in steps of this; no limit or delay lies less than a third of it above a multiple of it. */
export const STEP_MS = 50_000;
export const LEASE_MS = 72_000;
const DELAY_MS = 120_000;

const WORKERS = [1, 2, 3].map((n) => `01890000-0000-7000-8000-00000000000${n}`);

const maybe = <T>(what: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: what });
const often = <T>(what: fc.Arbitrary<T>) => fc.oneof(fc.constant(undefined), what);
/** Which of several; more than there are begin anew. */
const which = fc.nat(5);
const worker = fc.constantFrom(...WORKERS);
const child = fc.constantFrom('step-1', 'step-2', 'tool-1-0');
const eventId = fc.constantFrom('a', 'init', 'step-1', 'timer.deadline.1');
const key = fc.constantFrom('k1', 'k2');
const timer = fc.constantFrom('deadline', 'waited');
/** How far behind what is stored: seldom at all. */
const behind = fc.constantFrom(0, 0, 0, 0, 1);

const nothing = fc.constant(undefined);
const link = fc.record({
  turn: which,
  kind: fc.constantFrom('read', 'wrote'),
  to: fc.constantFrom('a.md', 'b.md'),
});
/** What a hop writes that stands in its record. */
const projections = fc.record({
  edge: often(link),
  retracted: often(which),
  presentation: often(which),
  packet: often(
    fc.record({
      from: fc.constantFrom(1, 2),
      to: fc.constantFrom(2, 3),
      bytes: fc.nat(99),
      quality: fc.constantFrom('model', 'deterministic'),
    }),
  ),
  prefix: often(fc.constantFrom('one', 'two', 'three')),
  reset: maybe(fc.constant(true)),
});

const accept = fc.record({
  op: fc.constant('accept' as const),
  session: which,
  turn: fc.uuid(),
  child: often(child),
  priority: fc.nat(2),
  key: maybe(key),
  number: behind,
});

const hop = fc.record({
  op: fc.constant('hop' as const),
  session: which,
  behind,
  settle: often(
    fc.record({
      call: which,
      behind: fc.constantFrom(0, 0, 1),
      status: fc.constantFrom('done', 'failed', 'queued'),
    }),
  ),
  actor: maybe(
    fc.record({
      actor: which,
      behind,
      status: fc.constantFrom('active', 'active', 'done', 'parked'),
      event: often(eventId),
    }),
  ),
  event: maybe(fc.record({ actor: which, id: eventId, late: fc.boolean() })),
  call: maybe(fc.record({ actor: which, child })),
  cancel: maybe(which),
  timer: maybe(fc.record({ actor: which, timer, delayMs: fc.constantFrom(0, DELAY_MS) })),
  clear: maybe(fc.record({ actor: which, timer: fc.option(timer) })),
  closed: maybe(which),
  record: fc.boolean(),
  writes: maybe(projections),
});

/** Nothing but what is read of records: other hops are refused too often to write enough of it. */
const projecting = fc.record({
  op: fc.constant('hop' as const),
  session: which,
  behind: fc.constant(0),
  settle: nothing,
  actor: nothing,
  event: nothing,
  call: nothing,
  cancel: nothing,
  timer: nothing,
  clear: nothing,
  closed: maybe(which),
  record: fc.constant(true),
  writes: projections,
});

const others = fc.oneof(
  fc.record({ op: fc.constant('submit' as const), session: which, actor: which, id: eventId }),
  fc.record({ op: fc.constant('drain' as const), session: which, actor: which, dispatch: fc.nat(4) }),
  fc.record({ op: fc.constant('markStarted' as const), session: which, call: which, behind }),
  fc.record({ op: fc.constant('beat' as const), worker, slots: fc.nat(3) }),
  fc.record({ op: fc.constant('retire' as const), worker }),
  fc.record({ op: fc.constant('elapse' as const), steps: fc.constantFrom(1, 1, 2, 15) }),
  fc.record({
    op: fc.constant('reconcile' as const),
    session: which,
    worker,
    call: which,
    holds: fc.boolean(),
  }),
  fc.record({ op: fc.constant('redispatch' as const), session: which, row: which }),
);

const claim = fc.record({
  op: fc.constant('claim' as const),
  session: which,
  call: which,
  behind,
  worker,
  /** As by a process that knows the session, as it is or as it was. */
  known: maybe(fc.record({ behind, toPlan: fc.boolean() })),
  /** How far it has indexed the head. */
  indexed: fc.record({ turn: fc.nat(2), recordSeq: fc.nat(9) }),
});
const upkeep = fc.record({ op: fc.constantFrom('sweep' as const, 'admit' as const, 'compact' as const) });

type Of<A> = A extends fc.Arbitrary<infer Value> ? Value : never;
export type AcceptStep = Of<typeof accept>;
export type HopStep = Of<typeof hop>;
export type Step = AcceptStep | HopStep | Of<typeof others> | Of<typeof claim> | Of<typeof upkeep>;

export const anyHistory: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof<fc.MaybeWeightedArbitrary<Step>[]>(
    { weight: 2, arbitrary: accept },
    { weight: 8, arbitrary: hop },
    { weight: 3, arbitrary: projecting },
    { weight: 4, arbitrary: claim },
    { weight: 6, arbitrary: others },
    { weight: 2, arbitrary: upkeep },
  ),
  { minLength: 40, maxLength: 60, size: 'max' },
);
