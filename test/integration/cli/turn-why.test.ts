import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onlyObject, runInTerminal } from '../../unit/cli/terminal.ts';
import { openStuck, type Stuck } from '../api/stuck-stack.ts';

describe('turn why, stuck and retry in a terminal', () => {
  let at: Stuck;
  beforeAll(async () => {
    at = await openStuck();
    await at.begin();
  });
  afterAll(async () => {
    await at.end();
    await at.close();
  });

  const env = () => ({ TURNWRIGHT_URL: at.api.url, TURNWRIGHT_KEY: at.api.key });
  const say = (...words: readonly string[]) => runInTerminal(words, { env: env() });
  const json = async (...words: readonly string[]) => {
    const { exit, stdout } = await say(...words, '--json');
    return { exit, value: onlyObject(stdout) };
  };

  it('RUN-11 say why a turn is stuck, bring it back, and send a closed one again', async () => {
    const moving = await say('turn', 'why', at.turn);
    expect([moving.exit, moving.stderr]).toEqual([0, '']);
    expect(moving.stdout).toMatch(/^T1 has been stepping for .*\n(?:.+\n)*It is not stuck\.\n$/u);
    expect((await say('turn', 'stuck')).stdout).toBe('No turn is stuck.\n');

    await at.sql(`DELETE FROM turnwright.outbox WHERE actor_id = $1`);
    const listed = await say('turn', 'stuck');
    expect(listed.stdout).toContain(at.turn);
    expect(listed.stdout).toContain('no row hands it to the pool step');
    expect(listed.stdout).toContain('/retry');
    const told = await json('turn', 'why', at.turn);
    expect(told).toMatchObject({
      exit: 0,
      value: { turn: at.turn, stuck: { cause: 'call_lost' }, facts: { phase: 'stepping' } },
    });
    expect((await say('turn', 'why', at.turn)).stdout).toContain('It has been stuck for');

    expect((await say('turn', 'retry', at.turn)).stdout).toBe(`Turn ${at.turn} is running.\n`);
    await at.completes();
    expect((await say('turn', 'why', at.turn)).stdout).toMatch(/^T1 ended completed .*: it answered\.\n$/u);

    const again = await json('turn', 'retry', at.turn, '--key', 'once more');
    const { turn } = again.value as { turn: { id: string; retry_of: string } };
    expect([again.exit, turn.retry_of]).toEqual([0, at.turn]);
    expect(await json('turn', 'retry', at.turn, '--key', 'once more')).toMatchObject({
      value: { turn: { id: turn.id } },
    });
    const spoken = await say('turn', 'retry', at.turn);
    expect(spoken.stdout).toMatch(
      new RegExp(`^Turn [0-9a-f-]{36} is \\w+; it carries the directive of ${at.turn} again\\.\\n$`, 'u'),
    );
    expect(spoken.stdout).not.toContain(turn.id);
    expect(await json('turn', 'why', 'nothing')).toMatchObject({
      exit: 1,
      value: { error: { code: 'turn_not_found' } },
    });
  });
});
