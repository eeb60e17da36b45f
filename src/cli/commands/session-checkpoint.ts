/** Sessions as files that another deployment takes in. */
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import type { Command } from '../command.ts';
import { EXIT, UsageError } from '../exit.ts';
import { connect } from '../server.ts';

export const exportSession: Command = {
  name: 'session export',
  summary: 'Write a session at rest, and all it goes on from, to a file',
  arguments: 'SESSION FILE',
  count: [2, 2],
  run: async ({ context, output, positionals: [id = '', file = ''] }) => {
    const target = resolve(context.cwd, file);
    const stream = await (await connect(context)).sessions.export(id, context.stopped);
    const bytes = await written(Readable.fromWeb(stream as ReadableStream<Uint8Array>), target, file);
    output.result({ session: id, file: target, bytes }, () => `${bytes} bytes stand in ${file}.`);
    return EXIT.done;
  },
};

export const importSession: Command = {
  name: 'session import',
  summary: 'Take in a session that was exported, with its ids and digests, and print its id',
  arguments: 'FILE',
  count: [1, 1],
  run: async ({ context, output, positionals: [file = ''] }) => {
    const source = createReadStream(resolve(context.cwd, file));
    await opened(source, file);
    const { sessions } = await connect(context);
    const stream = Readable.toWeb(source) as globalThis.ReadableStream<Uint8Array>;
    const imported = await sessions.import(stream, context.stopped).finally(() => source.destroy());
    output.result(imported, () => imported.session);
    return EXIT.done;
  },
};

/** A file that is there is whole: what is cut off never has its name. */
async function written(source: Readable, target: string, file: string): Promise<number> {
  const partial = `${target}.partial`;
  const sink = createWriteStream(partial, { flags: 'w' });
  try {
    await pipeline(source, sink);
    await rename(partial, target);
  } catch (error) {
    await rm(partial, { force: true });
    throw named(error, file);
  }
  return sink.bytesWritten;
}

async function opened(source: ReturnType<typeof createReadStream>, file: string): Promise<void> {
  await new Promise<void>((done, fail) => {
    source.once('open', () => done());
    source.once('error', (error) => fail(named(error, file)));
  });
}

function named(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('path' in error)) return error;
  return new UsageError(`${file} cannot be used (${error.message}).`);
}
