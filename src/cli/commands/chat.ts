/** A conversation: a line in is a turn, the reply streams out. */
import { createInterface } from 'node:readline';
import type { TurnHandle, Turnwright } from '../../client/index.ts';
import type { Command, Invocation } from '../command.ts';
import { EXIT } from '../exit.ts';
import { shown } from '../output.ts';
import { connect } from '../server.ts';
import { type Style, styleFor } from '../style.ts';

interface Said {
  readonly input: string;
  readonly turn: string;
  readonly outcome: string;
  readonly answer: string | null;
}

export const command: Command = {
  name: 'chat',
  summary: 'Talk in the terminal; piped in, every line is a turn',
  options: {
    session: { type: 'string', value: 'ID', help: 'go on with this session instead of a new one' },
    model: { type: 'string', value: 'LEG', help: 'leg of a new session' },
  },
  run: async (invocation) => {
    const { context, output } = invocation;
    const client = await connect(context);
    const session = await sessionOf(invocation, client);
    output.progress(`Session ${session}. A line is a turn; Ctrl-D ends.`);
    const said: Said[] = [];
    const style = styleFor(context.stderr, context.env);
    for await (const line of linesOf(invocation, style)) {
      if (line.trim() === '') continue;
      said.push(await speak(invocation, client, session, line, style));
    }
    output.result({ session, turns: said }, () => '');
    return said.every((one) => one.outcome === 'completed') ? EXIT.done : EXIT.failed;
  },
};

async function sessionOf({ context, text }: Invocation, client: Turnwright): Promise<string> {
  const [given, leg] = [text('session'), text('model')];
  if (given !== undefined) return (await client.sessions.get(given, context.stopped)).id;
  return (await client.sessions.create(leg === undefined ? {} : { leg }, context.stopped)).id;
}

/** Ends with the input, or when the process is asked to. The prompt is for people only. */
async function* linesOf({ context }: Invocation, style: Style): AsyncGenerator<string, void, void> {
  const reader = createInterface({ input: context.stdin, crlfDelay: Number.POSITIVE_INFINITY });
  const close = (): void => reader.close();
  context.stopped.addEventListener('abort', close, { once: true });
  const prompt = (): void => {
    if (context.stdin.isTTY === true) context.stderr.write(style.note('> '));
  };
  try {
    prompt();
    for await (const line of reader) {
      yield line;
      prompt();
    }
  } finally {
    context.stopped.removeEventListener('abort', close);
    reader.close();
  }
}

async function speak(
  { context, output }: Invocation,
  client: Turnwright,
  session: string,
  input: string,
  style: Style,
): Promise<Said> {
  const handle = await client.sessions.turn(session, input, {}, context.stopped);
  const streamed = await stream({ context, output }, handle, style);
  const turn = await handle.get(context.stopped);
  const answer = turn.answer ?? '';
  // Pieces may be missing; the stored answer is the whole.
  if (answer.startsWith(streamed)) output.say(shown(answer.slice(streamed.length)));
  else output.say(`\n${shown(answer)}`);
  if (turn.outcome !== 'completed') output.progress(style.bad(`${turn.outcome}: ${turn.reason}`));
  return { input, turn: turn.id, outcome: turn.outcome ?? turn.state, answer: turn.answer };
}

type Face = Pick<Invocation, 'context' | 'output'>;

/** Writes the reply as it comes and returns what was written of the last step. */
async function stream({ context, output }: Face, handle: TurnHandle, style: Style): Promise<string> {
  let written = '';
  const startLine = (): void => {
    if (written !== '') output.stream('\n');
    written = '';
  };
  for await (const { type, data } of handle.events({ signal: context.stopped })) {
    if (type === 'step.delta' && typeof data.text === 'string') {
      written += data.text;
      output.stream(shown(data.text));
    } else if (type === 'step.discarded') {
      startLine();
      output.progress(style.dim('(the reply above does not stand; a new one follows)'));
    } else if (type === 'tool.completed') {
      startLine();
      output.progress(style.dim(`${String(data.name)} → ${String(data.evidence)}`));
    } else if (type === 'turn.waiting') {
      startLine();
      output.progress(style.dim(`The turn waits (${String(data.for)}): POST /v1/turns/${handle.id}/signals`));
    }
  }
  return written;
}
