import { resolve } from 'node:path';
import { startApi } from '../../api/app.ts';
import type { Config } from '../../app/config.ts';
import { type Stack, startStack } from '../../app/stack.ts';
import { findKey } from '../../db/keys.ts';
import type { Command, Invocation } from '../command.ts';
import { EXIT } from '../exit.ts';
import { keyFilePath, readKeyFile, writeKeyFile } from '../key-file.ts';
import { setUp, wholeNumber } from '../setup.ts';
import { ROOMY_MODEL, type Simulation, startSimulation, withLeg } from '../simulation.ts';
import { serveUntilStopped } from '../stopping.ts';
import { DEFAULT_TENANT, issueKey } from '../tenancy.ts';

export const command: Command = {
  name: 'up',
  summary: 'Run database, queue, workers, API and board in this process until stopped',
  options: {
    port: { type: 'string', value: 'PORT', help: 'port to listen on; TURNWRIGHT_PORT or 4080 unless given' },
    data: {
      type: 'string',
      value: 'DIR',
      help: 'data folder; TURNWRIGHT_DATA_DIR or .turnwright unless given',
    },
  },
  run: async (invocation) => {
    const { context, output } = invocation;
    const { config: loaded } = await setUp(context);
    const simulation = loaded.legs.length === 0 ? await startSimulation('sim', ROOMY_MODEL) : null;
    try {
      const { config, logger } = await setUp(context, (given) => adjusted(given, invocation, simulation));
      const stack = await startStack({
        config,
        logger,
        workers: 'all',
        api: { host: config.host, port: config.port, serve: startApi },
        migrate: true,
      });
      await greet(invocation, stack, config, simulation).catch(async (error: unknown) => {
        await stack.stop();
        throw error;
      });
      await serveUntilStopped(stack, context.stopped, (line) => output.progress(line));
    } finally {
      await simulation?.close();
    }
    return EXIT.done;
  },
};

function adjusted(config: Config, { text, context }: Invocation, simulation: Simulation | null): Config {
  const [port, data] = [text('port'), text('data')];
  const withFolder = data === undefined ? config : { ...config, dataDir: resolve(context.cwd, data) };
  const withPort =
    port === undefined ? withFolder : { ...withFolder, port: wholeNumber(port, '--port', 0, 65_535) };
  return simulation === null ? withPort : withLeg(withPort, simulation.leg);
}

async function greet(
  { output }: Invocation,
  { services, apiUrl }: Stack,
  config: Config,
  simulation: Simulation | null,
): Promise<void> {
  const url = apiUrl ?? '';
  const key = await keyOf(services, config.dataDir, url);
  const legs = config.legs.map((leg) => leg.name);
  const keyFile = keyFilePath(config.dataDir);
  output.result(
    {
      url,
      board: `${url}/board`,
      key,
      key_file: keyFile,
      data: config.dataDir,
      legs,
      simulated: simulation !== null,
    },
    () =>
      [
        `API     ${url}`,
        `Board   ${url}/board`,
        `Key     ${key}`,
        `        also in ${keyFile}, where turn, session and chat find it`,
        `Data    ${config.dataDir}`,
        `Legs    ${legs.join(', ')}`,
        ...(simulation === null
          ? []
          : [
              `        ${simulation.banner}`,
              '        No leg is configured: replies are SIMULATED. Name one in turnwright.config.ts.',
            ]),
        '',
        'Try `turnwright chat` in another terminal. Ctrl-C stops.',
      ].join('\n'),
  );
}

/** The key of the last start is used again while the database still knows it. */
async function keyOf(
  { pool, databaseUrl }: Stack['services'],
  dataDir: string,
  url: string,
): Promise<string> {
  const file = await readKeyFile(dataDir);
  const holder = file === null ? null : await findKey(pool, file.key);
  const key =
    file !== null && holder?.tenant === DEFAULT_TENANT.tenant
      ? file.key
      : (await issueKey(databaseUrl, 'up')).key;
  await writeKeyFile(dataDir, { url, key });
  return key;
}
