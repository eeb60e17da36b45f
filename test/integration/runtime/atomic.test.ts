import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../support/await.ts';
import { BACKENDS, openTestStack, type TestStack } from '../../support/stack.ts';
import { heldTool } from '../../support/tools.ts';

/** Every statement of a hop, by the table it writes: those of a tool's settling, and those of a close. */
const STATEMENTS = [
  ['sessions', 'UPDATE', 'true'],
  ['side_calls', 'UPDATE', "NEW.status = 'done'"],
  ['actors', 'UPDATE', 'true'],
  ['actor_events', 'INSERT', 'true'],
  ['records', 'INSERT', 'true'],
  ['evidence', 'INSERT', 'true'],
  ['side_calls', 'INSERT', 'true'],
  ['outbox', 'INSERT', 'true'],
  ['turns', 'UPDATE', 'true'],
  ['heads', 'UPDATE', 'true'],
  ['timers', 'DELETE', 'true'],
] as const;

const TABLES = ['sessions', 'heads', 'turns', 'actors', 'actor_events', 'records', 'bodies'].concat([
  'side_calls',
  'outbox',
  'timers',
  'packets',
  'evidence',
]);

describe.each(BACKENDS)('a hop on %s', (backend) => {
  const weir = heldTool('weir', 'read');
  let stack: TestStack;
  beforeAll(async () => {
    stack = await openTestStack({ backend, tools: [weir.tool] });
    await stack.worker();
    await stack.sql('CREATE SEQUENCE public.fired');
  });
  afterAll(() => stack.close());

  it.each(STATEMENTS)(
    'RUN-02 leaves nothing half-written when its %s %s fails, and goes on when the fault is gone',
    async (table, operation, condition) => {
      const session = await stack.session({ tools: ['weir'] });
      const heldBefore = weir.runs.length;
      const turn = await stack.accept(session, 'Call the weir tool.');
      const run = await until('the tool runs', () => weir.runs[heldBefore]);
      await failing(session.session, table, operation, condition);
      run.release();
      const first = await firings(1);
      const before = await state(session.session);
      await firings(first + 2);
      expect(await state(session.session)).toEqual(before);
      expect(await stack.verify(session)).toMatchObject({ ok: true });
      await stack.sql(`DROP TRIGGER disk_full ON turnwright.${table}`);
      expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'completed', steps: 2 });
      const kinds = (await stack.records(session, turn)).map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind === 'tool-result')).toHaveLength(1);
      expect(kinds.filter((kind) => kind === 'assistant-message')).toHaveLength(2);
      expect(kinds.filter((kind) => kind === 'work-receipt')).toHaveLength(2);
      expect(await stack.verify(session)).toMatchObject({ ok: true });
    },
  );

  /** The disk is full for one kind of statement of one session. A sequence counts it: rollbacks leave it alone. */
  async function failing(
    session: string,
    table: string,
    operation: string,
    condition: string,
  ): Promise<void> {
    await stack.sql(`ALTER SEQUENCE public.fired RESTART`);
    const row = operation === 'DELETE' ? 'OLD' : 'NEW';
    await stack.sql(`CREATE OR REPLACE FUNCTION public.disk_full() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
      BEGIN
        IF ${row}.session_id = '${session}' AND ${condition} THEN
          PERFORM nextval('public.fired');
          RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100';
        END IF;
        RETURN ${row};
      END $$`);
    await stack.sql(
      `CREATE TRIGGER disk_full BEFORE ${operation} ON turnwright.${table} FOR EACH ROW EXECUTE FUNCTION public.disk_full()`,
    );
  }

  function firings(atLeast: number): Promise<number> {
    return until(`the fault fired ${atLeast} times`, async () => {
      const [row] = await stack.sql<{ fired: number }>(
        'SELECT CASE WHEN is_called THEN last_value ELSE 0 END::integer AS fired FROM public.fired',
      );
      return row !== undefined && row.fired >= atLeast ? row.fired : null;
    });
  }

  async function state(session: string): Promise<unknown> {
    const parts = TABLES.map(
      (table) =>
        `(SELECT coalesce(json_agg(t ORDER BY t::text), '[]') FROM turnwright.${table} t WHERE t.session_id = $1) AS ${table}`,
    );
    return (await stack.sql(`SELECT ${parts.join(', ')}`, [session]))[0];
  }
});
