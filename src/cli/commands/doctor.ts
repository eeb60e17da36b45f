import { loadConfig } from '../../app/config.ts';
import type { Command, Invocation } from '../command.ts';
import { runningEmbedded } from '../database.ts';
import { type Check, check, type Finding, reasonOf } from '../doctor/check.ts';
import { legChecks } from '../doctor/legs.ts';
import { dataFolderCheck, nodeCheck } from '../doctor/machine.ts';
import { postgresChecks } from '../doctor/postgres.ts';
import { queueChecks } from '../doctor/queue.ts';
import { reachChecks } from '../doctor/reach.ts';
import { EXIT, type ExitCode } from '../exit.ts';
import { shown } from '../output.ts';
import { type Style, styleFor } from '../style.ts';

export const command: Command = {
  name: 'doctor',
  summary: 'Check configuration, database, queue, models, MCP servers and machine; a line each',
  run: async (invocation) => {
    const { context, output } = invocation;
    const checks = await examine(invocation);
    const exit = exitOf(checks);
    output.result({ ok: exit === EXIT.done, checks }, () =>
      checksText(checks, styleFor(context.stdout, context.env)),
    );
    return exit;
  },
};

async function examine({ context: { env, cwd, stopped } }: Invocation): Promise<readonly Check[]> {
  const node = nodeCheck(process.versions.node);
  let config: Awaited<ReturnType<typeof loadConfig>>;
  try {
    config = await loadConfig({ env, cwd });
  } catch (error) {
    return [
      node,
      check('configuration', 'fail', reasonOf(error)),
      check('services', 'skipped', 'the configuration comes first'),
    ];
  }
  const embedded = config.databaseUrl === undefined ? await runningEmbedded(config.dataDir) : null;
  const databaseUrl = config.databaseUrl ?? embedded;
  const [folder, database, queue, legs, reach] = await Promise.all([
    dataFolderCheck(config.dataDir),
    databaseUrl === null
      ? [check('postgres', 'skipped', 'embedded, and not running; `turnwright up` starts it')]
      : postgresChecks(databaseUrl),
    queueChecks(config, databaseUrl),
    legChecks(config, env, stopped),
    reachChecks(config, env, stopped),
  ]);
  return [
    node,
    check('configuration', 'ok', 'every key is known and fits'),
    folder,
    ...database,
    ...queue,
    ...legs,
    ...reach,
  ];
}

function exitOf(checks: readonly Check[]): ExitCode {
  if (checks.some((one) => one.finding === 'unreachable')) return EXIT.unreachable;
  return checks.some((one) => one.finding === 'fail') ? EXIT.failed : EXIT.done;
}

const LABELS: Readonly<Record<Finding, string>> = {
  ok: 'ok',
  warn: 'warn',
  fail: 'FAIL',
  unreachable: 'AWAY',
  skipped: '–',
};

function checksText(checks: readonly Check[], style: Style): string {
  const labelWidth = Math.max(...Object.values(LABELS).map((label) => label.length));
  const nameWidth = Math.max(...checks.map((one) => one.name.length));
  return checks
    .map(({ name, finding, detail }) => {
      const label = LABELS[finding].padEnd(labelWidth);
      const isBad = finding === 'fail' || finding === 'unreachable';
      const painted = isBad ? style.bad(label) : finding === 'ok' ? style.good(label) : style.dim(label);
      return `${painted}  ${name.padEnd(nameWidth)}  ${shown(detail).replace(/\s*\n\s*/g, ' ')}`;
    })
    .join('\n');
}
