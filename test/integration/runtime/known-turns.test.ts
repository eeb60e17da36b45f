import { afterEach, describe, expect, it } from 'vitest';
import type { Claim, KnownClaim, Loaded, RawRecord } from '../../../src/db/contract.ts';
import { knownTurn } from '../../../src/runtime/known-turns.ts';
import { BACKENDS, openTestStack, type TestStack, type TestWorker } from '../../support/stack.ts';
import { heldTool } from '../../support/tools.ts';

const READ_CALLS = 3;

/** What a claim was answered with, and what the rows said at that moment. */
interface Seen {
  readonly child: string;
  readonly brought: 'all' | 'what is new';
  readonly remembered?: { readonly loaded: Loaded; readonly records: readonly RawRecord[] };
  readonly stored?: { readonly loaded: Loaded | null; readonly records: readonly RawRecord[] };
}

describe.each(BACKENDS)('what a process remembers of a turn on %s', (backend) => {
  const stacks: TestStack[] = [];
  afterEach(async () => {
    await Promise.all(stacks.splice(0).map((stack) => stack.close()));
  });

  it('RUN-02 is what the rows say, claim after claim, and spares reading them', async () => {
    const stack = await open();
    const seen = watch(await stack.worker());
    const session = await stack.session({ tools: ['weir'] });
    for (let turn = 0; turn < 3; turn++)
      expect(await stack.ask(session, `Call the weir tool ${READ_CALLS} times.`)).toMatchObject({
        outcome: 'completed',
      });
    const known = seen.filter(({ brought }) => brought === 'what is new');
    expect(known.length).toBeGreaterThan(3);
    for (const { remembered, stored } of known) expect(remembered).toEqual(stored);
  });

  it('RUN-03 a turn that moved elsewhere meanwhile is read again', async () => {
    const stack = await open();
    const stepping = watch(await stack.worker({ pools: ['step'] }));
    await stack.worker({ pools: ['tool'] });
    const session = await stack.session({ tools: ['weir'] });
    expect(await stack.ask(session, 'Call the weir tool.')).toMatchObject({ outcome: 'completed', steps: 2 });
    expect(stepping.map(({ child, brought }) => [child, brought])).toEqual([
      ['step-1', 'all'],
      ['step-2', 'all'],
    ]);
  });

  async function open(): Promise<TestStack> {
    const tool = heldTool('weir', 'read');
    tool.releaseAll();
    const stack = await openTestStack({ backend, tools: [tool.tool] });
    stacks.push(stack);
    return stack;
  }
});

/** Compares, at each claim that brought only what is new, the memory with the rows. */
function watch({ services }: TestWorker): readonly Seen[] {
  const seen: Seen[] = [];
  const { store, engine } = services;
  const claim = store.claim.bind(store);
  const claimKnown = store.claimKnown.bind(store);
  store.claim = async (ref, worker, token, indexed): Promise<Claim | null> => {
    const answer = await claim(ref, worker, token, indexed);
    if (answer !== null) seen.push({ child: ref.child, brought: 'all' });
    return answer;
  };
  store.claimKnown = async (ref, worker, token, known, indexed): Promise<KnownClaim | null> => {
    const remembered = engine.known.get(ref.actor);
    const answer = await claimKnown(ref, worker, token, known, indexed);
    if (answer === null) return answer;
    if (answer.changed !== undefined || remembered === null) {
      seen.push({ child: ref.child, brought: 'all' });
      return answer;
    }
    expect(knownTurn(remembered)).toEqual(known);
    const loaded = await store.load(ref);
    const records = await store.turnRecords(ref, remembered.loaded.actor.turn ?? '');
    // A call that runs beside this one may have settled since.
    if (loaded?.session.nextSeq === known.nextSeq)
      seen.push({
        child: ref.child,
        brought: 'what is new',
        remembered: { ...remembered, records: remembered.records.map(plain) },
        stored: { loaded, records },
      });
    return answer;
  };
  return seen;
}

function plain({ seq, kind, class: recordClass, turnId, body }: RawRecord): RawRecord {
  return { seq, kind, class: recordClass, turnId, body };
}
