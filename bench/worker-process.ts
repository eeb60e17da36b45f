/** Worker processes of their own, as a deployment has them. */
import { fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FromWorker, ToWorker, WorkerSettings, WorkerUsage } from './worker-messages.ts';

const SCRIPT = fileURLToPath(new URL('./worker-main.ts', import.meta.url));
/** A turn that never ends would otherwise hold the bench for good. */
const ANSWER_LIMIT_MS = 30_000;

type Message<Type extends FromWorker['type']> = Extract<FromWorker, { readonly type: Type }>;

export interface BenchWorker {
  /** The next message of this kind; to be asked for before what brings it about. */
  next<Type extends FromWorker['type']>(type: Type): Promise<Message<Type>>;
  /** `collect`: after a full collection of its heap. */
  usage(collect: boolean): Promise<WorkerUsage>;
  stop(): Promise<void>;
}

/** Resolves when the worker takes jobs. */
export async function startWorker(
  settings: WorkerSettings,
  closed: (turn: string, outcome: string) => void = () => {},
): Promise<BenchWorker> {
  const child = fork(SCRIPT, [JSON.stringify(settings)], {
    execArgv: ['--import', import.meta.resolve('tsx'), '--expose-gc'],
    serialization: 'advanced',
  });
  const onExit = () => child.kill('SIGKILL');
  process.once('exit', onExit);
  const ended = once(child, 'exit').then(() => process.off('exit', onExit));
  const messages = new EventEmitter();
  child.on('message', (message: FromWorker) => {
    if (message.type === 'closed') closed(message.turn, message.outcome);
    else messages.emit(message.type, message);
  });
  const next = async <Type extends FromWorker['type']>(type: Type): Promise<Message<Type>> => {
    const late = AbortSignal.timeout(ANSWER_LIMIT_MS);
    const said = once(messages, type, { signal: late }).catch((cause: unknown) => {
      throw new Error(`a worker did not say "${type}" within ${ANSWER_LIMIT_MS} ms`, { cause });
    });
    const gone = ended.then(() => Promise.reject(new Error(`a worker ended before it said "${type}"`)));
    const [message] = (await Promise.race([said, gone])) as [Message<Type>];
    return message;
  };
  const send = (message: ToWorker): void => void child.send(message);
  await next('ready');
  return {
    next,
    usage: async (collect) => {
      const answer = next('usage');
      send({ type: 'usage', collect });
      return (await answer).usage;
    },
    stop: async () => {
      send({ type: 'stop' });
      await ended;
    },
  };
}
