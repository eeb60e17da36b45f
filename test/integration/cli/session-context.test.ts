import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onlyObject, runInTerminal } from '../../unit/cli/terminal.ts';
import { type ApiStack, openApiStack } from '../api/api-stack.ts';
import { harbourSession, shipOf } from '../api/harbour.ts';

const TURNS = 200;
const CONTRACT = 'Keep the harbour book in order.';

describe('what a session carries, in a terminal', () => {
  let api: ApiStack;
  let session = '';
  beforeAll(async () => {
    api = await openApiStack({ backend: 'postgres' });
    session = await harbourSession(api.services, api.stack.tenant, TURNS);
  });
  afterAll(() => api.close());

  const say = (...words: readonly string[]) =>
    runInTerminal(words, { env: { TURNWRIGHT_URL: api.url, TURNWRIGHT_KEY: api.key } });
  const json = async (...words: readonly string[]) => {
    const { exit, stdout } = await say(...words, '--json');
    return { exit, value: onlyObject(stdout) };
  };

  it('PLN-01 session plan prints a table of pieces with what they cost, or the whole plan', async () => {
    const text = `What of the ${shipOf(11)} and her tons of coal?`;
    const printed = await say('session', 'plan', session, '--text', text);
    expect([printed.exit, printed.stderr]).toEqual([0, '']);
    expect(printed.stdout).toMatch(/^T201 under plan on sim-small\n\nTurns +As +Tokens +Because\n/u);
    expect(printed.stdout).toMatch(/^T1-T\d+ +packet +\d+ +older than what fits/mu);
    expect(printed.stdout).toMatch(/^T11 +full +\d+ +matches what is asked \(\d(?:\.\d+)?\)$/mu);
    expect(printed.stdout).toMatch(/^history +\d+ of \d+ tokens$/mu);
    expect(printed.stdout).toMatch(/^wanted +a summary of T1-T\d+$/mu);
    const told = await json(
      'session',
      'plan',
      session,
      '--text',
      text,
      '--leg',
      'sim-large',
      '--policy',
      'plan',
    );
    expect(told).toMatchObject({ exit: 0, value: { session, leg: 'sim-large', packet: null, wants: null } });
  });

  it('PLN-01 session plan names the policies there are, and the legs', async () => {
    const policy = await say('session', 'plan', session, '--policy', 'guess');
    expect([policy.exit, policy.stdout]).toEqual([2, '']);
    expect(policy.stderr).toContain('--policy is "guess"; allowed is plan, evict.');
    const evict = await say('session', 'plan', session, '--policy', 'evict');
    expect(evict.stdout).toMatch(
      /^T201 under evict on sim-small\n\nItems +As +Tokens +Because\n#1-#600 +verbatim +\d+ /u,
    );
    expect(evict.stdout).toMatch(/^room +not measured since the last edit; .* is due from \d+ on$/mu);
    const leg = await json('session', 'plan', session, '--leg', 'gpt-9');
    expect(leg).toMatchObject({ exit: 2, value: { error: { code: 'unknown_leg' } } });
  });

  it('EVI-03 session recall prints a result, a part of it, a turn, and turns by their words', async () => {
    const recall = (...words: readonly string[]) => say('session', 'recall', session, ...words);
    const whole = `Berth 7 is held by the ${shipOf(7)}, which came in 9 days ago.`;
    expect(await recall('--id', 'e7')).toEqual({ exit: 0, stdout: `${whole}\n`, stderr: '' });
    expect((await recall('--id', 'e7', '--chars', '0-7')).stdout).toMatch(
      /characters 0-7 of \d+\nBerth 7\n$/u,
    );
    expect((await recall('--id', 'e7', '--lines', '1-3')).stdout).toContain('lines 1-1 of 1');
    expect((await recall('--turn', 'T5')).stdout).toContain(`The ${shipOf(5)} lies at berth 5`);
    const found = await recall('--query', `${shipOf(9)} coal`, '--limit', '2');
    expect(found.stdout.match(/^T\d+: /gmu)).toHaveLength(2);
    expect(await json('session', 'recall', session, '--id', 'e900')).toMatchObject({
      exit: 1,
      value: { is_error: true },
    });
  });

  it.each([
    [[], /Give one of --id, --turn, --presentation, --query; found none/],
    [['--id', 'e1', '--turn', '2'], /found --id and --turn/],
    [['--turn', '2', '--lines', '1-2'], /--lines and --chars belong to --id; found --turn/],
    [['--id', 'e1', '--limit', '2'], /--limit belongs to --query; found --id/],
    [['--id', 'e1', '--lines', '9-3'], /--lines is "9-3"; write it as 1-9, the smaller number first/],
    [['--id', 'e1', '--lines', '0-3'], /--lines is "0-3"/],
    [['--id', 'e1', '--chars', 'all'], /--chars is "all"; write it as 0-8/],
    [['--turn', 'first'], /--turn is "first"/],
  ])('session recall %j is refused with what is wrong', async (words, message) => {
    const run = await say('session', 'recall', session, ...words);
    expect([run.exit, run.stdout]).toEqual([2, '']);
    expect(run.stderr).toMatch(message);
  });

  it('PLN-02 session compact begins a summary, says when one is being written, and when there is nothing to do', async () => {
    const empty = await api.session();
    expect((await say('session', 'compact', empty)).stdout).toContain('There is nothing to compact');
    expect((await say('session', 'compact', session)).stdout).toMatch(
      /^A summary of turns 1 to \d+ is being written\.\n$/u,
    );
    const again = await json('session', 'compact', session);
    expect(again).toMatchObject({ exit: 0, value: { started: false, actor: null } });
    expect(JSON.stringify(again.value)).toContain('being written already');
  });

  it('ASM-03 session context and turn show --request tell of the last request, and that its records still make it', async () => {
    expect((await say('session', 'context', await api.session())).stdout).toBe(
      'No turn of this session was planned yet.\n',
    );
    await api.stack.worker();
    const created = await json('session', 'create', '--leg', 'sim-large', '--work-contract', CONTRACT);
    const { id } = (created.value as { session: { id: string } }).session;
    expect((await say('session', 'show', id)).stdout).toContain(`bound to ${CONTRACT}`);
    const first = await json('turn', 'enqueue', id, 'Good morning.', '--wait');
    expect(first.exit).toBe(0);
    const asked = await json('turn', 'enqueue', id, 'Good evening.', '--wait');
    const { turn } = asked.value as { turn: { id: string } };
    const context = (await say('session', 'context', id)).stdout;
    expect(context).toMatch(new RegExp(`^T2 \\(${turn.id}\\), closed, on sim-large\\n`, 'u'));
    expect(context).toMatch(/^T1 +full +\d+ +among the newest that fit$/mu);
    expect(context).toMatch(/^1 +answered +\d+ +\d+ +\d+ +\d+$/mu);
    expect(context).not.toContain('Good');
    const told = await json('session', 'context', id);
    expect(told).toMatchObject({ exit: 0, value: { context: { turn: turn.id, steps: 1 } } });

    const shown = await say('turn', 'show', turn.id, '--request', '1');
    expect(shown.exit).toBe(0);
    expect(shown.stdout).toContain('The records make the bytes that were sent.');
    await api.stack.sql('ALTER TABLE turnwright.records DISABLE TRIGGER USER');
    await api.stack.sql(
      `UPDATE turnwright.records SET body = replace(body, 'evening', 'evensong') WHERE turn_id = $1`,
      [turn.id],
    );
    await api.stack.sql('ALTER TABLE turnwright.records ENABLE TRIGGER USER');
    const altered = await say('turn', 'show', turn.id, '--request', '1');
    expect(altered.exit).toBe(1);
    expect(altered.stdout).toContain('something was altered');
    const missing = await json('turn', 'show', turn.id, '--request', '7');
    expect(missing).toMatchObject({ exit: 1, value: { error: { code: 'step_not_found' } } });
    expect((await say('turn', 'show', turn.id, '--request', 'first')).exit).toBe(2);
  });
});
