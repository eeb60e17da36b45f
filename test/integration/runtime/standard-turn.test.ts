import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BACKENDS, openTestStack, type TestStack } from '../../support/stack.ts';
import { sayingTool } from '../../support/tools.ts';

/** Two tools that a simulated model calls one after the other, then answers. */
const DIRECTIVE = 'Call the survey tool and weigh the cargo of the Wigeon.';
const TOOLS = ['survey', 'weigh_cargo'];

describe.each(BACKENDS)('the standard turn on %s', (backend) => {
  const ran: string[] = [];
  const jobs: { readonly pool: string; readonly child: string; readonly actor: string }[] = [];
  let stack: TestStack;

  beforeAll(async () => {
    stack = await openTestStack({
      backend,
      tools: [
        sayingTool('survey', 'Looks at the hull.', 'The hull is sound.', ran),
        sayingTool('weigh_cargo', 'Weighs the cargo of a boat.', 'The cargo of the Wigeon weighs 40 t.', ran),
      ],
    });
    await stack.worker({
      between: (pool, handle) => async (ref) => {
        jobs.push({ pool, child: ref.child, actor: ref.actor });
        await handle(ref);
      },
    });
  });
  afterAll(() => stack.close());

  it('RUN-01 RUN-13 runs two tool calls as side calls on their own pools and completes, in five jobs', async () => {
    const session = await stack.session({ tools: TOOLS });
    const end = await stack.ask(session, DIRECTIVE);
    expect(end).toMatchObject({ outcome: 'completed', reason: 'answered', steps: 3 });
    expect(end.answer).toContain('The cargo of the Wigeon weighs 40 t.');
    const own = jobs.filter((job) => job.actor === end.turn).map(({ pool, child }) => `${pool} ${child}`);
    expect(own).toEqual(['step step-1', 'tool tool-1-0', 'step step-2', 'tool tool-2-0', 'step step-3']);
    expect(ran.filter((key) => key.startsWith(end.turn))).toEqual([
      `${end.turn}~tool-1-0`,
      `${end.turn}~tool-2-0`,
    ]);
    expect(await stack.verify(session)).toMatchObject({ ok: true });
  });

  it('RUN-02 costs six durable commits, each holding its events and its records together', async () => {
    const session = await stack.session({ tools: TOOLS });
    const { turn } = await stack.ask(session, DIRECTIVE);
    const commits = stack.applied.filter(({ commit }) => commit.actors.some((actor) => actor.actor === turn));
    expect(commits.map(({ result }) => result)).toEqual(Array.from({ length: 6 }, () => 'applied'));
    const transactions = async (sql: string) =>
      (await stack.sql<{ id: string }>(sql, [session.session, turn])).map((row) => row.id).sort();
    const ofRecords = await transactions(
      'SELECT DISTINCT xmin::text AS id FROM turnwright.records WHERE session_id = $1 AND turn_id = $2',
    );
    const written = commits.map(({ commit }) => commit.events.map((event) => event.id));
    expect(written).toEqual([
      ['init', 'start'],
      ['step-1'],
      ['tool-1-0'],
      ['step-2'],
      ['tool-2-0'],
      expect.arrayContaining(['step-3']),
    ]);
    expect(ofRecords).toHaveLength(6);
  });

  it('RUN-14 leaves one receipt a model call, and the answer in the ledger', async () => {
    const session = await stack.session({ tools: TOOLS });
    const callsBefore = stack.sim.calls().length;
    const { turn } = await stack.ask(session, DIRECTIVE);
    const receipts = (await stack.records(session, turn)).filter(({ kind }) => kind === 'work-receipt');
    expect(receipts.map(({ data }) => [data.child, data.attempt, data.settlement])).toEqual([
      ['step-1', 1, 'answered'],
      ['step-2', 1, 'answered'],
      ['step-3', 1, 'answered'],
    ]);
    expect(stack.sim.calls().length - callsBefore).toBe(3);
  });

  it('RUN-01 keeps admitting when a producer accepts more turns than it assumes room for', async () => {
    const sessions = await Promise.all(Array.from({ length: 24 }, () => stack.session({ tools: [] })));
    const turns = await Promise.all(sessions.map((session) => stack.accept(session, 'Good morning to you.')));
    const ends = await Promise.all(
      sessions.map((session, index) => stack.ended(session, turns[index] ?? '')),
    );
    expect(ends.map(({ outcome }) => outcome)).toEqual(sessions.map(() => 'completed'));
  });
});
