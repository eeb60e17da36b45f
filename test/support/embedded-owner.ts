/** A process that owns an embedded server and then does as told: `wait`, `end`, `exit` or `crash`. */
import { startEmbeddedPostgres } from '../../src/app/embedded/postgres.ts';

const [dataDir = '', behaviour = 'wait'] = process.argv.slice(2);
const server = await startEmbeddedPostgres({ dataDir });
process.stdout.write(`${JSON.stringify({ pid: server.pid, url: server.url })}\n`);
if (behaviour === 'exit') process.exit(0);
if (behaviour === 'crash') {
  setImmediate(() => {
    throw new Error('the crash this test asked for');
  });
}
if (behaviour === 'wait') setInterval(() => undefined, 60_000);
