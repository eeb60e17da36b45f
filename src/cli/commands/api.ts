import { startApi } from '../../api/app.ts';
import { startStack } from '../../app/stack.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../exit.ts';
import { requireDatabase, setUp, wholeNumber } from '../setup.ts';
import { serveUntilStopped } from '../stopping.ts';

export const command: Command = {
  name: 'api',
  summary: 'Serve the HTTP API until stopped',
  options: {
    port: { type: 'string', value: 'PORT', help: 'port to listen on; TURNWRIGHT_PORT or 4080 unless given' },
    host: { type: 'string', value: 'HOST', help: 'address to listen on; TURNWRIGHT_HOST or 127.0.0.1' },
  },
  run: async ({ context, output, text }) => {
    const { config, logger } = await setUp(context);
    requireDatabase(config, 'api');
    const port =
      text('port') === undefined ? config.port : wholeNumber(text('port') ?? '', '--port', 0, 65_535);
    const stack = await startStack({
      config,
      logger,
      workers: 'none',
      api: { host: text('host') ?? config.host, port, serve: startApi },
    });
    output.result({ url: stack.apiUrl }, () => `API  ${stack.apiUrl}`);
    await serveUntilStopped(stack, context.stopped, (line) => output.progress(line));
    return EXIT.done;
  },
};
