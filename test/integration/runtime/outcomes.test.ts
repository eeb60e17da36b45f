import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WINDOW_LIMIT_CHARS } from '../../../src/context/evidence/window.ts';
import { DEFAULT_SIM_MODELS, type FaultRule, type SimModel } from '../../../src/sim/index.ts';
import { until } from '../../support/await.ts';
import { BACKENDS, openTestStack, type TestStack } from '../../support/stack.ts';
import { heldTool } from '../../support/tools.ts';

type FaultName = FaultRule['fault'];

const GREETING = 'Good morning to you.';
const WIDE = DEFAULT_SIM_MODELS.find(({ name }) => name === 'sim-large');
const BIG_LINES = 1_400;
const FACT_LINE = 600;
/** Attempts a step has before its transport is given up. */
const STEP_ATTEMPTS = 6;

/** One model a scenario, each with its own trouble, so that scenarios do not meet. */
const TROUBLES: Readonly<Record<string, { readonly fault: FaultName; readonly count?: number }>> = {
  'sim-empty-once': { fault: { name: 'empty' }, count: 1 },
  'sim-empty': { fault: { name: 'empty' } },
  'sim-auth': { fault: { name: 'auth' } },
  'sim-broken': { fault: { name: 'server_error' } },
  'sim-over-once': { fault: { name: 'over_length' }, count: 1 },
  'sim-over': { fault: { name: 'over_length' } },
  'sim-bad-args': { fault: { name: 'malformed_tool_args' }, count: 1 },
};

describe.each(BACKENDS)('outcomes on %s', (backend) => {
  const weir = heldTool('weir', 'read');
  const sluice = heldTool('sluice', 'read');
  let stack: TestStack;

  beforeAll(async () => {
    const lines = Array.from({ length: BIG_LINES }, (_, index) =>
      index === FACT_LINE
        ? 'The lighthouse keeper is called Ondine Varga.'
        : `Entry ${index} tells of weather and tide.`,
    );
    const models = [...DEFAULT_SIM_MODELS, ...Object.keys(TROUBLES).map(like)];
    stack = await openTestStack({
      backend,
      models,
      tools: [weir.tool, sluice.tool],
      files: { 'log.md': lines.join('\n'), 'harbour.md': 'The pilot boat is called Wigeon.\n' },
    });
    stack.sim.setFaults(
      Object.entries(TROUBLES).map(([model, { fault, count }]) => ({
        match: { model, ...(count === undefined ? {} : { count }) },
        fault,
      })),
    );
    await stack.worker();
  });
  afterAll(() => stack.close());

  /** Asks the model of a scenario, and checks what every exit owes: one receipt a call, a chain that holds. */
  async function ask(model: string, text = GREETING, tools: readonly string[] | null = []) {
    const session = await stack.session({ model, tools });
    const end = await stack.ask(session, text);
    const records = await stack.records(session, end.turn);
    const receipts = records.filter(({ kind }) => kind === 'work-receipt');
    const calls = stack.sim.calls().filter((call) => call.model === model);
    expect(receipts).toHaveLength(calls.length);
    const { outcome, reason, steps } = end;
    expect(records.filter(({ kind }) => kind === 'turn-closed').map(({ data }) => data)).toEqual([
      expect.objectContaining({ outcome, reason, steps, card: expect.objectContaining({ outcome }) }),
    ]);
    expect(await stack.verify(session)).toMatchObject({ ok: true });
    const fired = records.filter(({ kind }) => kind === 'check-fired').map(({ data }) => data.check);
    return {
      ...end,
      session,
      records,
      calls,
      fired,
      settlements: receipts.map(({ data }) => data.settlement),
    };
  }

  it('RUN-14 failed: every attempt of a step met a broken transport, each with its receipt', {
    timeout: 60_000,
  }, async () => {
    const end = await ask('sim-broken');
    expect(end).toMatchObject({ outcome: 'failed', reason: 'transport_exhausted', steps: 1, answer: null });
    expect(end.settlements).toEqual(Array.from({ length: STEP_ATTEMPTS }, () => 'server_error'));
    const waits = end.records.filter(({ kind }) => kind === 'call-retrying').map(({ data }) => data.attempt);
    expect(waits).toEqual([1, 2, 3, 4, 5]);
  });

  it('RUN-14 failed: the credential is refused, and nothing is tried again', async () => {
    const end = await ask('sim-auth');
    expect(end).toMatchObject({ outcome: 'failed', reason: 'auth', steps: 1 });
    expect(end.settlements).toEqual(['auth']);
  });

  it('CHK-01 RUN-14 an empty step is asked again once, and the answer then stands', async () => {
    const end = await ask('sim-empty-once');
    expect(end).toMatchObject({ outcome: 'completed', reason: 'answered', steps: 2 });
    expect(end.fired).toEqual(['empty-step']);
    expect(end.settlements).toEqual(['answered', 'answered']);
  });

  it('CHK-01 RUN-14 failed: two empty steps in a row', async () => {
    const end = await ask('sim-empty');
    expect(end).toMatchObject({ outcome: 'failed', reason: 'empty_step', steps: 2 });
    expect(end.calls).toHaveLength(2);
  });

  it('PLN-03 RUN-14 an over-long prompt is planned again for a lower profile, and completes', async () => {
    const end = await ask('sim-over-once');
    expect(end).toMatchObject({ outcome: 'completed', steps: 2 });
    expect(end.settlements).toEqual(['over_length', 'answered']);
    const plans = end.records
      .filter(({ kind }) => kind === 'context-plan')
      .map(({ data }) => data.rejections);
    // A refused request keeps no plan of its own; the one that answered knew of the refusal.
    expect(plans.at(-1)).toBe(1);
    const feedback = end.records.filter(({ kind }) => kind === 'capacity-feedback');
    expect(feedback.filter(({ data }) => data.reason === 'over-length')).toHaveLength(1);
  });

  it('PLN-03 RUN-14 failed: over-long again after it was planned again', async () => {
    expect(await ask('sim-over')).toMatchObject({ outcome: 'failed', reason: 'no_usable_horizon', steps: 3 });
  });

  it('RUN-14 a call whose arguments are no JSON is answered with what was wrong, and the turn goes on', async () => {
    const end = await ask('sim-bad-args', 'Read harbour.md and tell me what the pilot boat is called.', null);
    expect(end.outcome).toBe('completed');
    expect(end.answer).toContain('Wigeon');
    const statuses = end.records.filter(({ kind }) => kind === 'tool-result').map(({ data }) => data.status);
    expect(statuses).toEqual(['invalid_args', 'ok']);
  });

  it('RUN-14 degraded: the step budget is spent, and what was found stands in the ledger', async () => {
    weir.releaseAll();
    const session = await stack.session({ tools: ['weir'] });
    const end = await stack.ask(session, 'Call the weir tool.', { stepBudget: 1 });
    expect(end).toMatchObject({ outcome: 'degraded', reason: 'step_budget', steps: 1 });
    const kinds = (await stack.records(session, end.turn)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'work-receipt')).toHaveLength(1);
    expect(kinds).toContain('tool-result');
  });

  it('RUN-14 cancelled: records are kept, and the next turn carries the call that never got its result', async () => {
    const session = await stack.session({ tools: ['sluice', 'recall'] });
    const turn = await stack.accept(session, 'Call the sluice tool.');
    await until('the tool runs', () => sluice.runs.length > 0);
    await stack.cancel(session, turn);
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'cancelled', steps: 1, answer: null });
    const kinds = (await stack.records(session, turn)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'work-receipt')).toHaveLength(1);
    expect(kinds).not.toContain('tool-result');
    expect(await stack.ask(session, GREETING)).toMatchObject({ outcome: 'completed', steps: 1 });
    expect(await stack.verify(session)).toMatchObject({ ok: true });
  });

  it('EVI-01 EVI-03 a long result is shown as a window naming the recall call, and recall brings the rest', async () => {
    const session = await stack.session({ model: 'sim-large' });
    const end = await stack.ask(session, 'Read log.md: what is the lighthouse keeper called?');
    expect(end).toMatchObject({ outcome: 'completed' });
    expect(end.answer).toContain('Ondine Varga');
    const records = await stack.records(session, end.turn);
    const results = records.filter(({ kind }) => kind === 'tool-result');
    const [read, recalled] = results.map(({ data }) => data);
    expect(read).toMatchObject({ name: 'read', windowed: true });
    const shown = String(read?.content);
    expect(shown.includes('Ondine')).toBe(false);
    expect([...shown].length).toBeLessThanOrEqual(WINDOW_LIMIT_CHARS + 200);
    expect(shown).toContain(`recall({"id":"${String(read?.evidence)}"`);
    const whole = records.find(({ kind }) => kind === 'evidence-body');
    expect(String(whole?.data.content).split('\n')).toHaveLength(BIG_LINES);
    expect(recalled).toMatchObject({ name: 'recall', status: 'ok' });
    expect(String(recalled?.content)).toContain('Ondine Varga');
  });

  it('SUR-01 ASM-03 a session carries the tools it allows and no others, under one prefix for all its turns', async () => {
    const carried = async (tools: readonly string[] | null) => {
      const session = await stack.session({ tools, system: 'You keep a harbour log.' });
      await stack.ask(session, GREETING);
      await stack.ask(session, 'Good evening to you.');
      const records = await stack.records(session);
      const receipts = records.filter(({ data }) => data.purpose === 'step');
      expect(new Set(receipts.map(({ data }) => data.prefixDigest)).size).toBe(1);
      const [prefix] = records.filter(({ kind }) => kind === 'prefix').map(({ data }) => data);
      expect(prefix?.digest).toBe(receipts[0]?.data.prefixDigest);
      expect(String(prefix?.system)).toContain('You keep a harbour log.');
      const sent = (prefix?.tools ?? []) as readonly { readonly name: string }[];
      return sent.map(({ name }) => name);
    };
    const { surface } = stack.producer;
    const always = surface.all().filter((tool) => tool.alwaysLoaded);
    const open = await carried(null);
    expect(open).toEqual([...always.map(({ name }) => name), 'sluice', 'weir']);
    expect(surface.names().length).toBeGreaterThan(open.length);
    expect(await carried(['read', 'recall'])).toEqual(['read', 'recall']);
  });
});

function like(name: string): SimModel {
  if (WIDE === undefined) throw new Error('the simulator has no model sim-large');
  return { ...WIDE, name };
}
