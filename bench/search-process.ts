/** A process of its own that searches transcripts, so that its memory is that of searches alone. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FromSearch, SearchAsk, Searched, SearchSettings } from './search-messages.ts';

const SCRIPT = fileURLToPath(new URL('./search-main.ts', import.meta.url));

export interface SearchProcess {
  /** One at a time. */
  ask(asked: SearchAsk): Promise<Searched>;
  stop(): Promise<void>;
}

export async function startSearchProcess(settings: SearchSettings): Promise<SearchProcess> {
  const child = fork(SCRIPT, [JSON.stringify(settings)], {
    execArgv: ['--import', import.meta.resolve('tsx')],
  });
  const onExit = () => child.kill('SIGKILL');
  process.once('exit', onExit);
  const ended = once(child, 'exit').then(() => process.off('exit', onExit));
  const next = async (): Promise<FromSearch> => {
    const gone = ended.then(() => Promise.reject(new Error('the process that searches ended')));
    const [message] = (await Promise.race([once(child, 'message'), gone])) as [FromSearch];
    if (message.type === 'failed') throw new Error(message.message);
    return message;
  };
  await next();
  return {
    ask: async (asked) => {
      const answer = next();
      child.send(asked);
      const message = await answer;
      if (message.type !== 'searched') throw new Error(`the process that searches said "${message.type}"`);
      return message.searched;
    },
    stop: async () => {
      child.disconnect();
      await ended;
    },
  };
}
