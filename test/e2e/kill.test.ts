import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { SessionRef } from '../../src/db/contract.ts';
import { DEFAULT_SIM_MODELS, type SimCall, type SimModel } from '../../src/sim/index.ts';
import { draw } from '../../src/sim/random.ts';
import { until } from '../support/await.ts';
import { BACKENDS, type Backend, openTestStack, type TestStack } from '../support/stack.ts';
import { spawnWorker, type WorkerProcess, type WorkerSettings } from '../support/worker-process.ts';

const KILLS = Number(process.env.TURNWRIGHT_TEST_KILLS ?? 3);
const SEED = Number(process.env.TURNWRIGHT_TEST_SEED ?? 20);
/** Longer than a worker on a busy machine goes without a heartbeat: a takeover here means a kill. */
const LEASE_MS = 1_500;
/** What a process had sent when it died may be read a little later. */
const IN_FLIGHT_MS = 250;
/** One session each. Words, because a number in a question may also stand in the clock the model is told. */
const NOTES = ['alder', 'birch', 'cedar', 'dogwood', 'elm'] as const;
const SYLLABLES = ['ba', 'de', 'fi', 'go', 'hu', 'ka', 'le', 'mi', 'no', 'pu'] as const;
const LEAST_TURNS = 2;
/** A worker lives between these before it is killed. */
const SHORTEST_LIFE_MS = 100;
const LONGEST_LIFE_MS = 1_500;
/** Takeover after a lease, a start of a process, and a busy machine. */
const TURN_LIMIT_MS = 60_000;
const RUN_LIMIT_MS = 60_000 + KILLS * 10_000;
const RING_MS = 80;
const DRAIN_MS = 5_000;

/** Slow enough that kills meet it in the middle of calls. */
const MODEL: SimModel = {
  ...(DEFAULT_SIM_MODELS.find(({ name }) => name === 'sim-large') as SimModel),
  prefillTokensPerSecond: 60_000,
  decodeTokensPerSecond: 300,
};

/** From before the signal was sent until nothing of the process can arrive any more. */
interface Kill {
  readonly fromMs: number;
  readonly toMs: number;
}

interface Asked {
  readonly session: number;
  readonly text: string;
  readonly answer: string | null;
}

describe.each(BACKENDS)('processes killed on %s', (backend) => {
  const workers: WorkerProcess[] = [];
  const stacks: TestStack[] = [];
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.kill('SIGKILL')));
    await Promise.all(stacks.splice(0).map((stack) => stack.close()));
  });

  it(`RUN-04 RUN-13 every accepted turn completes with the answers of an undisturbed run, over ${KILLS} kills of the worker`, {
    timeout: RUN_LIMIT_MS * 2,
  }, async () => {
    const stack = await open(backend);
    const settings = settingsOf(stack, RING_MS);
    const log: Asked[] = [];
    let killing = true;
    const sessions = await Promise.all(NOTES.map(() => stack.session()));
    const feeding = sessions.map((session, index) => feed(stack, session, index, log, () => killing));
    const bells = ring(stack, () => killing);
    const kills: Kill[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      const worker = await spawnWorker(settings);
      const lifeMs = SHORTEST_LIFE_MS + (LONGEST_LIFE_MS - SHORTEST_LIFE_MS) * draw(SEED, 'kill', kill);
      await Promise.race([delay(lifeMs), Promise.all(feeding)]);
      const fromMs = Date.now();
      await worker.kill('SIGKILL');
      kills.push({ fromMs, toMs: Date.now() + IN_FLIGHT_MS });
    }
    killing = false;
    workers.push(await spawnWorker(settings));
    await Promise.all(feeding);
    const rung = await bells;

    for (const session of sessions) await holds(stack, session);
    const repeats = callsFollowKills(stack.sim.calls(), kills);
    process.stderr.write(
      `${KILLS} kills on ${backend}: ${log.length} turns, ${stack.sim.calls().length} calls, ${repeats} made again\n`,
    );
    const lines = readFileSync(settings.effectsFile, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
    expect(new Set(lines).size).toBe(lines.length);
    expect(lines.length).toBeLessThanOrEqual(rung);

    const calm = await open(backend);
    await calm.worker();
    const again: Asked[] = [];
    const undisturbed = await Promise.all(sessions.map(() => calm.session()));
    await Promise.all(
      undisturbed.map((session, index) => {
        const count = log.filter((asked) => asked.session === index).length;
        return feed(calm, session, index, again, () => false, count);
      }),
    );
    expect(sorted(log)).toEqual(sorted(again));
  });

  it('RUN-08 RUN-12 a once tool whose worker was killed, or told to stop, is not run again, and the model is told', {
    timeout: RUN_LIMIT_MS,
  }, async () => {
    const stack = await open(backend);
    const settings = { ...settingsOf(stack, RUN_LIMIT_MS), drainMs: 0 };
    const session = await stack.session({ tools: ['ring_bell'] });
    const rung = () => readFileSync(settings.effectsFile, 'utf8');
    const ringing = async () => {
      const turn = await stack.accept(session, 'Call the ring_bell tool.');
      await until('the bell was rung', () => rung().includes(turn));
      return turn;
    };
    const unknown = async (turn: string) => {
      expect(await stack.ended(session, turn, TURN_LIMIT_MS)).toMatchObject({
        outcome: 'completed',
        steps: 2,
      });
      const results = (await stack.records(session, turn)).filter(({ kind }) => kind === 'tool-result');
      expect(results.map(({ data }) => data.status)).toEqual(['outcome_unknown']);
    };
    const first = await spawnWorker(settings);
    const killed = await ringing();
    await first.kill('SIGKILL');
    const second = await spawnWorker(settings);
    workers.push(second);
    await unknown(killed);

    const stopped = await ringing();
    expect(await second.kill('SIGTERM')).toBe(0);
    expect(await stack.sql(`SELECT 1 FROM turnwright.side_calls WHERE status = 'running'`)).toEqual([]);
    workers.push(await spawnWorker(settings));
    await unknown(stopped);
    expect(rung()).toBe(`${killed}~tool-1-0\n${stopped}~tool-1-0\n`);
  });

  async function open(on: Backend): Promise<TestStack> {
    const files = Object.fromEntries(
      NOTES.map((note, index) => [
        `${note}.md`,
        `# The ${note} note\nThe ${note} boat has the name Wigeon-${index}.\n\nIts berth is number ${40 + index}.\n`,
      ]),
    );
    const stack = await openTestStack({
      backend: on,
      models: [MODEL],
      files,
      simSpeed: 'real',
      leaseMs: LEASE_MS,
    });
    stacks.push(stack);
    return stack;
  }
});

function settingsOf(stack: TestStack, ringMs: number): WorkerSettings {
  const effectsFile = join(stack.root, '.effects');
  writeFileSync(effectsFile, '');
  const { databaseUrl, redisUrl, root } = stack;
  return {
    databaseUrl,
    redisUrl,
    root,
    simUrl: stack.sim.url,
    leaseMs: LEASE_MS,
    models: [MODEL],
    effectsFile,
    ringMs,
    drainMs: DRAIN_MS,
  };
}

/** One user: asks, waits for the end, asks again while `goesOn`. The log is what was acknowledged and answered. */
async function feed(
  stack: TestStack,
  session: SessionRef,
  index: number,
  log: Asked[],
  goesOn: () => boolean,
  least = LEAST_TURNS,
): Promise<void> {
  for (let n = 0; n < least || goesOn(); n++) {
    const round = [...String(n)].map((digit) => SYLLABLES[Number(digit)]).join('');
    const note = NOTES[index];
    const text =
      n % 2 === 0
        ? `Round ${round}: read ${note}.md and tell me the name of the ${note} boat.`
        : `Round ${round}: what is the number of the berth in ${note}.md?`;
    const turn = await stack.accept(session, text);
    const end = await stack.ended(session, turn, TURN_LIMIT_MS);
    expect({ text, outcome: end.outcome, reason: end.reason }).toEqual({
      text,
      outcome: 'completed',
      reason: 'answered',
    });
    log.push({ session: index, text, answer: end.answer });
  }
}

/** Turns whose tool must never run twice. Returns how many calls of it were asked for. */
async function ring(stack: TestStack, goesOn: () => boolean): Promise<number> {
  const session = await stack.session({ tools: ['ring_bell'] });
  let asked = 0;
  while (asked === 0 || goesOn()) {
    const turn = await stack.accept(session, 'Call the ring_bell tool.');
    expect(await stack.ended(session, turn, TURN_LIMIT_MS)).toMatchObject({ outcome: 'completed', steps: 2 });
    asked += 1;
  }
  return asked;
}

/** No record twice, none missing, nothing left open. */
async function holds(stack: TestStack, session: SessionRef): Promise<void> {
  expect(await stack.verify(session)).toMatchObject({ ok: true });
  const once = ['turn-accepted', 'turn-context', 'turn-closed', 'assistant-message', 'tool-result'];
  const keys = (await stack.records(session))
    .filter(({ kind }) => once.includes(kind))
    .map(({ kind, turnId, data }) => [turnId, kind, data.step, data.index].join(' '));
  expect(keys.filter((key, at) => keys.indexOf(key) !== at)).toEqual([]);
}

/** A request seen again is one whose worker was killed after it had been sent: a kill lies between each two. Returns how many were. */
function callsFollowKills(calls: readonly SimCall[], kills: readonly Kill[]): number {
  let repeats = 0;
  const last = new Map<string, SimCall>();
  for (const call of calls) {
    const before = last.get(call.requestDigest);
    last.set(call.requestDigest, call);
    if (before === undefined) continue;
    repeats += 1;
    const between = kills.filter(({ fromMs, toMs }) => before.at <= toMs && fromMs <= call.at);
    if (between.length === 0)
      throw new Error(`call ${call.n} repeats call ${before.n}, and no kill lies between them`);
  }
  return repeats;
}

function sorted(log: readonly Asked[]): readonly Asked[] {
  return [...log].sort((a, b) => a.session - b.session || (a.text < b.text ? -1 : 1));
}
