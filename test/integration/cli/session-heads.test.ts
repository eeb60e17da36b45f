import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onlyObject, runInTerminal } from '../../unit/cli/terminal.ts';
import { type ApiStack, openApiStack } from '../api/api-stack.ts';

describe.each(['postgres', 'redis'] as const)('heads of a session, in a terminal, on %s', (backend) => {
  let api: ApiStack;
  beforeAll(async () => {
    api = await openApiStack({ backend });
    await api.stack.worker();
  });
  afterAll(() => api.close());

  const say = (...words: readonly string[]) =>
    runInTerminal(['session', ...words], { env: { TURNWRIGHT_URL: api.url, TURNWRIGHT_KEY: api.key } });
  const ask = async (session: string, input: string) => {
    const turn = await api.turn(session, { input });
    expect((await api.closed(turn)).outcome).toBe('completed');
    return turn;
  };

  it('LIN-02 a session goes back to an earlier turn and on from there; both heads are listed', async () => {
    const session = await api.session();
    const turns = [await ask(session, 'Good morning.'), await ask(session, 'Good day.')];
    const [only] = onlyObject((await say('heads', session, '--json')).stdout).heads as { id: string }[];
    expect(only).toMatchObject({ live: true, turns: 2, newest_turn: 2, from: null, after_turn: null });
    const back = await say('checkout', session, '--back', '1');
    expect([back.exit, back.stderr]).toEqual([0, '']);
    expect(back.stdout).toMatch(/^The session goes on on head [0-9a-f-]{36}\.\n$/u);
    const third = await ask(session, 'Good evening.');
    expect((await api.call('GET', `/v1/turns/${third}`)).body.turn).toMatchObject({ number: 3 });
    const listed = await say('heads', session);
    expect(listed.stdout).toMatch(/^head +live +turns +newest +goes on from\n/u);
    expect(listed.stdout).toMatch(
      new RegExp(`^${only?.id} +2 +T2\n[0-9a-f-]{36} +live +1 +T3 +T1 of ${only?.id}$`, 'mu'),
    );
    expect((await say('checkout', session, '--head', only?.id ?? '')).stdout).toContain(
      `on head ${only?.id}.`,
    );
    expect((await say('checkout', session, '--head', only?.id ?? '')).stdout).toContain('was live already');
    expect((await say('verify', session)).exit).toBe(0);
    expect(turns).toHaveLength(2);
  });

  it('LIN-02 what cannot be gone back to is refused by name, and nothing is written', async () => {
    const session = await api.session();
    await ask(session, 'Good morning.');
    const words: readonly (readonly [readonly string[], number, string])[] = [
      [['--back', '2'], 1, 'Going back by 2 would pass the first turn: 1 can leave at most.'],
      [['--turn', '7'], 1, 'There is no turn 7 that ran and closed on this head.'],
      [['--head', randomUUID()], 1, 'has no head'],
      [['--head', 'main'], 2, 'head'],
      [['--back', '1', '--turn', '1'], 2, 'Give exactly one of --back N, --turn N and --head HEAD.'],
      [[], 2, 'Give exactly one of'],
      [['--back', '0'], 2, '--back is "0"; allowed is a whole number from 1'],
    ];
    for (const [options, exit, message] of words) {
      const refused = await say('checkout', session, ...options);
      expect([options, refused.exit, refused.stdout]).toEqual([options, exit, '']);
      expect(refused.stderr).toContain(message);
    }
    const missing = await api.call('POST', `/v1/sessions/${randomUUID()}/checkout`, { json: { back: 1 } });
    expect(missing).toMatchObject({ status: 404, body: { error: { code: 'session_not_found' } } });
    expect((await api.call('GET', `/v1/sessions/${randomUUID()}/heads`)).status).toBe(404);
    const listed = onlyObject((await say('heads', session, '--json')).stdout);
    expect(listed.heads).toHaveLength(1);
  });
});
