import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onlyObject, runInTerminal } from '../../unit/cli/terminal.ts';
import { type ApiStack, openApiStack } from '../api/api-stack.ts';
import { harbourSession, shipOf } from '../api/harbour.ts';

describe('the transcript of a session, in a terminal', () => {
  let api: ApiStack;
  beforeAll(async () => {
    api = await openApiStack({ backend: 'postgres' });
  });
  afterAll(() => api.close());

  const harbour = (turns: number) =>
    harbourSession(api.services, api.stack.tenant, turns, { policy: { name: 'evict', options: {} } });
  const say = (...words: readonly string[]) =>
    runInTerminal(['session', ...words], { env: { TURNWRIGHT_URL: api.url, TURNWRIGHT_KEY: api.key } });
  const json = async (...words: readonly string[]) => {
    const { exit, stdout } = await say(...words, '--json');
    return { exit, value: onlyObject(stdout) };
  };

  it('DOR-01 session transcript lists items with what became of them, and session evict takes some out', async () => {
    const session = await harbour(2);
    const left = await say('evict', session, '#1', '3', '--note', 'berth 1 is held');
    expect([left.exit, left.stderr]).toEqual([0, '']);
    expect(left.stdout).toMatch(
      /^#1-#3 left the requests \(record \d+\)\. The next one carries \d+ bytes of history:\n\nItems +As +Bytes +Because\n#1-#3 +residue +\d+ +evicted by the operator\n#4-#6 +verbatim +\d+ +carried as it was recorded\n$/u,
    );
    const listed = await say('transcript', session);
    expect([listed.exit, listed.stderr]).toEqual([0, '']);
    expect(listed.stdout).toMatch(/^ *Item +Turn +Is +From +Held +Bytes +Label\n/u);
    expect(listed.stdout).toMatch(
      /^ *#1 +T1 +prompt +own +evicted +\d+ +Who lies at berth 1 of Elmouth\?$/mu,
    );
    expect(listed.stdout).toMatch(/^ *#6 +T2 +step +own +resident +\d+ +The/mu);
    expect(listed.stdout).toContain('evicted #1-#3 by the operator: "berth 1 is held"\n');
    expect((await say('transcript', session, '--after', '4')).stdout).not.toMatch(/#4 /u);
    const told = await json('transcript', session);
    expect(told).toMatchObject({ exit: 0, value: { session, open: null, next: null } });
    expect((await say('transcript', await api.session())).stdout).toBe('No item is recorded here.\n');
  });

  it('DOR-01 --read prints items as they were recorded, runs of them too', async () => {
    const session = await harbour(3);
    const read = await say('transcript', session, '--read', '9,1-2');
    expect(read.exit).toBe(0);
    expect(read.stdout).toContain('#1 prompt T1\n  user:\n    Who lies at berth 1 of Elmouth?\n#2 step T1\n');
    expect(read.stdout).toContain(
      `  tool:\n    almanac returned (e1, ok):\n    Berth 1 is held by the ${shipOf(1)}`,
    );
    expect(read.stdout).toMatch(/^#9 step T3$/mu);
    const told = await json('transcript', session, '--read', '2');
    expect(told).toMatchObject({ exit: 0, value: { items: [{ item: 2, turn: 1, role: 'assistant' }] } });
    const missing = await json('transcript', session, '--read', '10');
    expect(missing).toMatchObject({ exit: 1, value: { error: { code: 'item_not_found' } } });
  });

  it('DOR-01 --grep prints the lines that match, and how many there are', async () => {
    const session = await harbour(3);
    const all = await say('transcript', session, '--grep', `${shipOf(2)} lies`);
    expect([all.exit, all.stdout]).toEqual([
      0,
      `#6 T2 1:1 The ${shipOf(2)} lies at berth 2; she came in 4 days ago and takes on 6 tons of coal before she leaves.\n1 line matches.\n`,
    ]);
    const some = await json('transcript', session, '--grep', 'berth', '--items', '1-3,#7');
    expect(some).toMatchObject({ exit: 0, value: { complete: true } });
    const items = (some.value as { hits: readonly { item: number }[] }).hits.map(({ item }) => item);
    expect(items).toEqual([1, 3, 7]);
    expect((await json('transcript', session, '--grep', '(')).value).toMatchObject({
      error: { code: 'bad_pattern' },
    });
  });

  it.each([
    [['transcript', 's', '--read', '1', '--grep', 'x'], /Give one of --read and --grep, not both/],
    [['transcript', 's', '--items', '1'], /--items belongs to --grep, which is not given/],
    [['transcript', 's', '--grep', 'x', '--after', '1'], /--after belongs to the list of items/],
    [['transcript', 's', '--read', '9-3'], /--read holds "9-3"; write items as 3,5-9/],
    [['transcript', 's', '--read', ''], /--read holds ""/],
    [['transcript', 's', '--grep', 'x', '--items', 'some'], /--items holds "some"/],
    [['transcript', 's', '--read', '1-99999999'], /--read names more than 10000 items/],
    [['transcript', 's', '--after', 'x'], /--after is "x"/],
    [['evict', 's', '1'], /takes SESSION FROM TO, and found "s" "1"/],
    [['evict', 's', 'one', '2'], /FROM is "one"/],
  ])('session %j is refused with what is wrong', async (words, message) => {
    const run = await say(...words);
    expect([run.exit, run.stdout]).toEqual([2, '']);
    expect(run.stderr).toMatch(message);
  });

  it('DOR-01 session evict says why nothing leaves', async () => {
    const session = await harbour(1);
    await say('evict', session, '1', '3');
    const again = await say('evict', session, '1', '3');
    expect([again.exit, again.stdout]).toEqual([1, '']);
    expect(again.stderr).toContain('left the context earlier');
    expect((await json('evict', await api.session(), '1', '1')).value).toMatchObject({
      error: { code: 'not_evicting' },
    });
  });
});
