/** What a plan costs on sessions of many turns, beside reading the rows it is made of. */
import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import pg from 'pg';
import { createLogger } from '../src/app/logger.ts';
import { openServices, type Services } from '../src/app/services.ts';
import { metadataProfile } from '../src/context/capacity/metadata.ts';
import { planOptions } from '../src/context/plan/options.ts';
import { readLexically } from '../src/intent/reading.ts';
import { unasked } from '../src/ledger/view.ts';
import { HeadIndexes } from '../src/runtime/head-index.ts';
import { Planning } from '../src/runtime/planning.ts';
import { type Conversation, openConversation } from '../test/support/conversation.ts';
import { factOf, turnOf } from './long-session.ts';
import type { Servers } from './servers.ts';
import { benchConfig, INSTANT_LEG } from './settings.ts';
import { lookup } from './standard-turn.ts';
import { median, quantile, timed } from './statistics.ts';

const SIZES = [1_000, 10_000] as const;
const HORIZON_TOKENS = 13_000;
const PREFIX_BYTES = 4_000;
const SEED = 5;
const WARM_UP = 20;
const ROUNDS = 120;
const QUICK_ROUNDS = 20;
/** Rows that are read anew for each cold plan: few rounds say enough. */
const COLD_SHARE = 8;

const ROWS = `SELECT number, full_bytes, card_bytes, terms FROM turnwright.turns
  WHERE tenant_id = $1 AND session_id = $2 AND head_id = $3 AND status = 'closed' ORDER BY number`;

export interface PlanRow {
  readonly turns: number;
  readonly plan: { readonly medianMs: number; readonly p95Ms: number };
  /** The whole index read and planned from nothing. */
  readonly coldMs: number;
  /** The rows of the same turns, selected. */
  readonly floorMs: number;
  readonly ratio: number;
  readonly coldRatio: number;
  /** Of the index that is kept in memory. */
  readonly indexBytes: number;
  /** Of the JavaScript heap over all warm plans, each side after a full collection. */
  readonly heapGrowthBytes: number;
  readonly samples: { readonly planMs: readonly number[]; readonly floorMs: readonly number[] };
}

export async function planBench(
  servers: Servers,
  { quick }: { readonly quick: boolean },
): Promise<readonly PlanRow[]> {
  const place = await servers.place('postgres', HORIZON_TOKENS);
  const config = await benchConfig(place.settings, [lookup]);
  const services = openServices(config, createLogger({ level: config.logLevel, secrets: [] }));
  const pool = new pg.Pool({ connectionString: place.settings.databaseUrl, max: 1 });
  try {
    const tenant = randomUUID();
    await pool.query('INSERT INTO turnwright.tenants (tenant_id, name) VALUES ($1, $2)', [tenant, 'bench']);
    const rows: PlanRow[] = [];
    for (const turns of SIZES) {
      const conversation = await openConversation(services.engine, tenant, { leg: INSTANT_LEG });
      await conversation.write(Array.from({ length: turns }, (_, at) => turnOf(SEED, at + 1)));
      await pool.query('ANALYZE turnwright.turns');
      rows.push(await measure(services, pool, conversation, { turns, quick }));
    }
    return rows;
  } finally {
    await pool.end();
    await services.close();
    await place.drop();
  }
}

interface Length {
  readonly turns: number;
  readonly quick: boolean;
}

async function measure(
  services: Services,
  pool: pg.Pool,
  conversation: Conversation,
  { turns, quick }: Length,
): Promise<PlanRow> {
  const { ref, head } = conversation;
  const warm = services.planning;
  const asked = directives(turns);
  const plan = async (planning: Planning, round: number) => {
    const text = asked[round % asked.length] ?? '';
    const reading = readLexically(text);
    return planning.plan({
      ref,
      head,
      epoch: 0,
      toPlan: null,
      profile: profile(),
      options: planOptions({ steady: true, wholeShare: 0.5, safetyMarginRatio: 0.03 }),
      prefix: { bytes: PREFIX_BYTES, digest: '' },
      open: {
        ...unasked(turns + 1),
        input: [{ type: 'text', text }],
        reading,
      },
      workContract: null,
      locale: null,
    });
  };
  const floor = async () => {
    const { rowCount } = await pool.query(ROWS, [ref.tenant, ref.session, head]);
    if (rowCount !== turns) throw new Error(`the floor read ${rowCount} rows of ${turns}`);
  };
  for (let round = 0; round < WARM_UP; round++) {
    await plan(warm, round);
    await floor();
  }
  const [planMs, floorMs, coldMs]: [number[], number[], number[]] = [[], [], []];
  const rounds = quick ? QUICK_ROUNDS : ROUNDS;
  const heapBefore = collectedHeapBytes();
  for (let round = 0; round < rounds; round++) {
    floorMs.push(await timed(floor));
    planMs.push(await timed(() => plan(warm, round)));
  }
  const heapGrowthBytes = collectedHeapBytes() - heapBefore;
  for (let round = 0; round < Math.ceil(rounds / COLD_SHARE); round++) {
    const cold = new Planning(new HeadIndexes(services.store), services.turns);
    coldMs.push(await timed(() => plan(cold, round)));
  }
  const { known } = await plan(warm, 0);
  const middle = median(floorMs);
  return {
    turns,
    plan: { medianMs: median(planMs), p95Ms: quantile(planMs, 0.95) },
    coldMs: median(coldMs),
    floorMs: middle,
    ratio: median(planMs) / middle,
    coldRatio: median(coldMs) / middle,
    indexBytes: known.turns.approximateBytes,
    heapGrowthBytes,
    samples: { planMs, floorMs },
  };
}

/** A question about one turn, one that points back, a file, and a new subject. */
function directives(turns: number): readonly string[] {
  return [
    factOf(SEED, 3).question,
    'Do that again, please.',
    `What stands in ledger/${Math.floor(turns / 14) * 7}.md?`,
    factOf(SEED, turns - 1).question,
    'Write a short poem on the weather in the mountains, with one rhyme in each line.',
  ];
}

function profile() {
  const base = metadataProfile({
    operatorWindow: HORIZON_TOKENS,
    operatorMaxOutput: 512,
    providerWindow: null,
    providerMaxOutput: null,
    catalogueWindow: null,
    catalogueMaxOutput: null,
    metadataDigest: null,
    probedAtMs: 1,
  });
  return { ...base, tokensPerByte: { value: 0.25, samples: 1 } };
}

function collectedHeapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  return process.memoryUsage().heapUsed;
}
