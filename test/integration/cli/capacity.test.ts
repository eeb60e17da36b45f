import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onlyObject, runInTerminal } from '../../unit/cli/terminal.ts';
import { type ApiStack, openApiStack } from '../api/api-stack.ts';

describe('capacity, cost and budgets in a terminal', () => {
  let api: ApiStack;
  beforeAll(async () => {
    const config = { pricing: { 'sim-large': { inputPerMillion: 3, outputPerMillion: 15 } } };
    api = await openApiStack({
      backend: 'postgres',
      files: { 'turnwright.config.mjs': `export default ${JSON.stringify(config)};` },
    });
    await api.stack.worker();
  });
  afterAll(() => api.close());

  const say = (...words: readonly string[]) =>
    runInTerminal(words, { env: { TURNWRIGHT_URL: api.url, TURNWRIGHT_KEY: api.key } });
  const json = async (...words: readonly string[]) => {
    const { exit, stdout } = await say(...words, '--json');
    return { exit, value: onlyObject(stdout) };
  };

  it('CAP-10 probe measures a leg, tells the rungs on the way, and draws what was found', async () => {
    const { exit, stdout, stderr } = await say('probe', 'sim-small');
    expect([exit, stderr]).toEqual([0, expect.stringMatching(/^Probe [\da-f-]{36} began\.\n/u)]);
    expect(stderr).toMatch(/^4,000 tokens +followed +\d of \d$/mu);
    expect(stdout).toMatch(/^sim-small {2}measured \d{4}-/u);
    expect(stdout).toMatch(/^ +4,000 {2}█+ +followed/mu);
    expect(stdout).toMatch(/┤ +horizon, 90 % sure$/mu);
    const fresh = await say('probe', 'sim-small');
    expect([fresh.exit, fresh.stderr]).toEqual([0, expect.stringMatching(/was probed at .*force/u)]);
    const forced = await json('probe', 'sim-small', '--force');
    expect(forced).toMatchObject({ exit: 0, value: { probe: { leg: 'sim-small' } } });
  });

  it('CAP-10 profile shows one leg, and all of them without a name', async () => {
    const shown = await json('profile', 'sim-large');
    expect(shown).toMatchObject({ exit: 0, value: { leg: 'sim-large', declared_window: 131_072 } });
    expect((await say('profile', 'sim-large')).stdout).toContain('declared window (operator)');
    const listed = await say('profile');
    expect(listed.stdout).toMatch(/^sim-large +sim-large +here +131,072 .*\$3\.000000 +\$15\.000000$/mu);
    const unknown = await json('profile', 'sim-medium');
    expect(unknown).toMatchObject({ exit: 2, value: { error: { code: 'unknown_leg' } } });
  });

  it('CST-01 usage, turn show and session show tell one cost', async () => {
    const session = await api.session({ leg: 'sim-large', tools: [] });
    const turn = await json('turn', 'enqueue', session, 'What of the tide?', '--wait');
    const { usage } = (turn.value as { turn: { id: string; usage: { cost_micro_usd: number } } }).turn;
    const cost = `$0.${String(usage.cost_micro_usd).padStart(6, '0')}`;
    const report = await json('usage', '--by', 'leg', '--session', session);
    expect(report).toMatchObject({ exit: 0, value: { total: { cost_micro_usd: usage.cost_micro_usd } } });
    const table = await say('usage', '--by', 'day', '--session', session);
    expect(table.stdout).toMatch(/^Day \(UTC\) +Calls/u);
    expect(table.stdout.split('\n').find((line) => line.startsWith('total'))).toContain(cost);
    const { id } = (turn.value as { turn: { id: string } }).turn;
    expect((await say('turn', 'show', id)).stdout).toContain(`cost     ${cost}`);
    expect((await say('session', 'show', session)).stdout).toContain(`cost     ${cost}`);
  });

  it('CST-01 budgets are given on the command line', async () => {
    const made = await json('session', 'create', '--leg', 'sim-large', '--cost-micro-usd', '5000000');
    expect(made.value).toMatchObject({ session: { budget: { cost_micro_usd: 5_000_000, tokens: null } } });
    const { id } = (made.value as { session: { id: string } }).session;
    const turn = await json('turn', 'enqueue', id, 'x', '--tokens', '1', '--steps', '3', '--wait');
    expect(turn).toMatchObject({
      exit: 1,
      value: { turn: { reason: 'turn_tokens_budget', budget: { cost_micro_usd: null, tokens: 1 } } },
    });
  });
});
