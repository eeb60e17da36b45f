/** What a check did as others see it: in a turn's events, in the metrics, and in the requests of later turns. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { MACHINES } from '../../../src/machines/registry.ts';
import { verifySession } from '../../../src/runtime/verify-session.ts';
import { type ApiStack, openApiStack, send } from '../api/api-stack.ts';
import { type EventReader, readEvents, type SeenEvent } from '../api/event-reader.ts';
import { FAULTY, market, SOUND, slips, stubborn, writeNote } from './checks-stack.ts';

const FILES = {
  'stores.md': '# Stores\n\nThe zinc price at Tarvo is 4127 marks.\n',
  'lead.md': 'The lead price at Tarvo is 6611 marks.\n',
};
const ZINC = 'In stores.md, what is the zinc price at Tarvo?';
const NOW = 'What is the current zinc price at Tarvo?';
const SHOW = 'Show the zinc price in stores.md as a metric card.';
const FOG = 'Show the fog depth at Melrin as a metric card.';
const CARD = 'emit_metric_card';
/** Only what is pointed back at is shown whole: all else is a line. */
const LINES = { name: 'plan', options: { eligibility: 'signal', steady: false } };

describe('what a check did, seen from outside', () => {
  let api: ApiStack;
  const readers: EventReader[] = [];
  beforeAll(async () => {
    const models = [SOUND, ...FAULTY];
    api = await openApiStack({
      backend: 'postgres',
      models,
      tools: [market().tool, writeNote],
      files: FILES,
    });
    await api.stack.worker();
  });
  afterEach(() => {
    for (const reader of readers.splice(0)) reader.close();
  });
  afterAll(() => api.close());

  async function ask(session: string, input: string): Promise<readonly SeenEvent[]> {
    const turn = await api.turn(session, { input });
    const reader = await readEvents(api.url, turn, api.key);
    readers.push(reader);
    return reader.all();
  }

  const dataOf = (events: readonly SeenEvent[], type: string) =>
    events.filter((event) => event.type === type).map(({ data }) => data);

  async function firedSoFar(): Promise<ReadonlyMap<string, number>> {
    const { body } = await send(api.url, 'GET', '/metrics', {});
    const lines = String(body).matchAll(/^turnwright_checks_fired_total\{check="([^"]+)"\} (\d+)$/gmu);
    return new Map([...lines].map(([, check = '', count]) => [check, Number(count)]));
  }

  it.each([
    ['CHK-01', slips('thinkingOnly'), ['read'], [ZINC], [['empty-step', 'redo']]],
    [
      'CHK-02',
      stubborn('repeatsCard'),
      ['read', CARD],
      [SHOW],
      [1, 2, 3].map(() => ['repeated-card', 'noted']),
    ],
    ['CHK-03', slips('staleFigure'), ['read', 'look_up'], [ZINC, NOW], [['freshness', 'redo']]],
    [
      'CHK-03',
      stubborn('staleFigure'),
      ['read', 'look_up'],
      [ZINC, NOW],
      [
        ['freshness', 'redo'],
        ['freshness', 'refused'],
      ],
    ],
    ['CHK-04', slips('oldCard'), ['look_up', CARD], [FOG, NOW], [['topic-mismatch', 'withheld']]],
    [
      'CHK-05',
      stubborn('repeatAnswer'),
      ['read'],
      [ZINC, 'The gate at Melrin opens at 0700. When does the gate at Melrin open?'],
      [
        ['drift', 'redo'],
        ['drift', 'redo'],
        ['drift', 'refused'],
      ],
    ],
    ['CHK-06', slips('ungrounded'), ['look_up'], [NOW], [['grounding', 'redo']]],
    ['CHK-06', slips('plansOnly'), ['read', CARD], [SHOW], [['presentation', 'redo']]],
    ['CHK-06', slips('brokenFence'), ['read', CARD], [SHOW], [['malformed-fence', 'redo']]],
    ['CHK-06', slips('writesCalls'), ['read'], [ZINC], [['call-in-prose', 'redo']]],
    ['CHK-07', slips('plansOnly'), ['read'], [ZINC], [['stop-gate', 'redo']]],
    [
      'CHK-08',
      stubborn('badArguments'),
      ['read'],
      [ZINC],
      [
        ['tool-repair', 'redo'],
        ['tool-repair', 'refused'],
      ],
    ],
  ])('%s by %s is told by an event each time and counted by the metric', async (...given) => {
    const [, leg, tools, asked, fired] = given;
    const session = await api.session({ leg, tools });
    for (const before of asked.slice(0, -1)) await ask(session, before);
    const counted = await firedSoFar();
    const events = await ask(session, asked.at(-1) ?? '');
    const told = dataOf(events, 'check.fired');
    expect(told.map(({ check, verdict }) => [check, verdict])).toEqual(fired);
    const redone = told.filter(({ verdict, check }) => verdict === 'redo' && check !== 'tool-repair');
    expect(dataOf(events, 'step.discarded')).toEqual(
      redone.map(({ step, check }) => ({ step, reason: check })),
    );
    const refused = told.filter(({ verdict }) => verdict === 'refused');
    expect(dataOf(events, 'turn.stated')).toEqual(
      refused.map(({ step, check }) => ({ step, check, text: expect.stringMatching(/^No /u) })),
    );
    expect(events.at(-1)?.type).toBe(refused.length > 0 ? 'turn.degraded' : 'turn.completed');
    const [[check = '']] = fired as [string[]];
    const now = await firedSoFar();
    expect(now.get(check)).toBe((counted.get(check) ?? 0) + fired.length);
    for (const [other, count] of now) if (other !== check) expect(count).toBe(counted.get(other) ?? 0);
  });

  it('CHK-03 a refusal stands as the answer in the line of its turn, and every request is made again as it was sent', async () => {
    const tools = ['read', 'look_up', 'recall'];
    const session = await api.session({ leg: stubborn('staleFigure'), tools, policy: LINES });
    await ask(session, ZINC);
    const [stated] = dataOf(await ask(session, NOW), 'turn.stated');
    expect(stated.text).toContain('The zinc price at Tarvo is 4127 marks.');
    const greeting = await api.turn(session, { input: 'Good morning to you.' });
    expect((await api.closed(greeting)).outcome).toBe('completed');
    const records = await api.stack.records({ tenant: api.stack.tenant, session });
    const steps = records.filter(({ kind, data }) => kind === 'work-receipt' && data.purpose === 'step');
    expect(steps).toHaveLength(5);
    for (const { turnId, data } of steps) {
      const { body } = await api.call('GET', `/v1/turns/${turnId}/request?step=${String(data.step)}`);
      expect(body).toMatchObject({ same: true, notice: null });
      if (turnId !== greeting) continue;
      const request = JSON.stringify(body);
      const line = /T2 \(degraded\): What is the current zinc price at Tarvo\? — nothing called — “(.*?)”/u;
      const [, quoted = ''] = line.exec(request) ?? [];
      expect(stated.text.startsWith(quoted.replace(/ …$/u, ''))).toBe(true);
      expect(quoted).toMatch(/^No current value was retrieved/u);
      expect(request).not.toContain('[freshness-check]');
    }
    const at = { store: api.services.store, registry: MACHINES };
    const ref = { tenant: api.stack.tenant, session };
    expect(await verifySession(at, ref)).toMatchObject({ chain: { ok: true }, broken: null });
  });
});
