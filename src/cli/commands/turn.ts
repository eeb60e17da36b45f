/** One turn, over HTTP. */
import type { Turn, TurnEvent, TurnHandle } from '../../client/index.ts';
import { BUDGET_OPTIONS, costBudget } from '../budget.ts';
import type { Command, Invocation } from '../command.ts';
import { EXIT, type ExitCode, UsageError } from '../exit.ts';
import { costText } from '../money.ts';
import { oneLine, shown } from '../output.ts';
import { requestText } from '../request-text.ts';
import { connect } from '../server.ts';
import { wholeNumber } from '../setup.ts';
import { table } from '../table.ts';
import { eventLine } from '../turn-lines.ts';

const MODES = ['enqueue', 'reject'] as const;
const MAX_PRIORITY = 1_000;
const MAX_STEPS = 10_000;
const REASON_CHARS = 100;

const ONE_TURN = { arguments: 'TURN', count: [1, 1] } as const;

export const enqueue: Command = {
  name: 'turn enqueue',
  summary: 'Enqueue a turn of a session; its text comes from standard input when it is left out',
  arguments: 'SESSION [TEXT]',
  count: [1, 2],
  options: {
    wait: { type: 'boolean', help: 'follow the turn until it ends' },
    mode: { type: 'string', value: 'MODE', help: `what happens while another runs: ${MODES.join(', ')}` },
    priority: { type: 'string', value: 'N', help: '0, the default, is the most urgent' },
    steps: { type: 'string', value: 'N', help: 'model calls it may make at most' },
    ...BUDGET_OPTIONS,
    key: { type: 'string', value: 'KEY', help: 'idempotency key: the same key is the same turn' },
  },
  run: async (invocation) => {
    const { context, output, positionals, text } = invocation;
    const [session = '', given] = positionals;
    const options = turnOptions(invocation);
    const client = await connect(context);
    const input = given ?? (await readAll(context.stdin));
    if (input.trim() === '') throw new UsageError('The turn has no text: give it, or pipe it in.');
    const key = text('key');
    const handle = await client.sessions.turn(
      session,
      input,
      { ...options, ...(key === undefined ? {} : { idempotencyKey: key }) },
      context.stopped,
    );
    if (invocation.flag('wait')) return follow(invocation, handle);
    const turn = await handle.get(context.stopped);
    output.result({ turn }, () => turn.id);
    return EXIT.done;
  },
};

export const show: Command = {
  name: 'turn show',
  summary: 'Show where a turn stands, or make a request of it again from its records',
  ...ONE_TURN,
  options: {
    request: {
      type: 'string',
      value: 'STEP',
      help: 'the request of that step, made again and compared with what was sent; fails where it differs',
    },
  },
  run: async (invocation) => {
    const {
      context,
      output,
      positionals: [id = ''],
      text,
    } = invocation;
    const step = text('request');
    if (step !== undefined) return showRequest(invocation, id, wholeNumber(step, '--request', 1, MAX_STEPS));
    const turn = await (await connect(context)).turns.get(id, context.stopped);
    output.result({ turn }, () => turnText(turn));
    return EXIT.done;
  },
};

export const watch: Command = {
  name: 'turn watch',
  summary: 'Follow a turn until it ends',
  ...ONE_TURN,
  run: async (invocation) => {
    const client = await connect(invocation.context);
    return follow(invocation, client.turns.handle(invocation.positionals[0] ?? ''));
  },
};

export const cancel: Command = {
  name: 'turn cancel',
  summary: 'Cancel a turn; its records are kept',
  ...ONE_TURN,
  run: async ({ context, output, positionals: [id = ''] }) => {
    const turn = await (await connect(context)).turns.handle(id).cancel();
    output.result({ turn }, () => `Turn ${turn.id} is ${turn.outcome ?? turn.state}.`);
    return EXIT.done;
  },
};

export const replay: Command = {
  name: 'turn replay',
  summary: "Run a turn's events again and compare every snapshot with the stored one",
  ...ONE_TURN,
  run: async ({ context, output, positionals: [id = ''] }) => {
    const replayed = await (await connect(context)).turns.replay(id, context.stopped);
    output.result(replayed, () => {
      const columns = [{ title: 'Event' }, { title: 'State after it' }, { title: 'Same' }];
      const rows = replayed.steps.map((step) => [
        step.type,
        oneLine(step.state, REASON_CHARS),
        step.matches ? 'yes' : 'NO',
      ]);
      const verdict = replayed.matches
        ? 'Every snapshot came out as it is stored.'
        : 'The replay differs from what is stored.';
      return `${table(columns, rows)}\n${verdict}`;
    });
    return replayed.matches ? EXIT.done : EXIT.failed;
  },
};

export const stuck: Command = {
  name: 'turn stuck',
  summary: 'List turns that nothing moves, with the reason and what to do',
  run: async ({ context, output }) => {
    const turns = await (await connect(context)).turns.stuck(context.stopped);
    output.result({ turns }, () =>
      turns.length === 0
        ? 'No turn is stuck.'
        : turns
            .map(
              (turn) =>
                `${turn.id}  for ${Math.round(turn.stuck_seconds)} s\n  ${shown(turn.reason)}\n  ${shown(turn.action)}`,
            )
            .join('\n'),
    );
    return EXIT.done;
  },
};

export const why: Command = {
  name: 'turn why',
  summary: 'Say in a few sentences what a turn waits for, or how it ended',
  ...ONE_TURN,
  run: async ({ context, output, positionals: [id = ''] }) => {
    const told = await (await connect(context)).turns.why(id, context.stopped);
    output.result(told, () => told.sentences.map(shown).join('\n'));
    return EXIT.done;
  },
};

export const retry: Command = {
  name: 'turn retry',
  summary: 'Set a parked or stuck turn going again; enqueue the directive of a closed one as a new turn',
  ...ONE_TURN,
  options: {
    key: {
      type: 'string',
      value: 'KEY',
      help: 'idempotency key of a new turn: the same key is the same turn',
    },
  },
  run: async ({ context, output, positionals: [id = ''], text }) => {
    const key = text('key');
    const handle = (await connect(context)).turns.handle(id);
    const turn = await handle.retry(key === undefined ? {} : { idempotencyKey: key });
    output.result({ turn }, () =>
      turn.retry_of === null || turn.id === id.toLowerCase()
        ? `Turn ${turn.id} is ${turn.state}.`
        : `Turn ${turn.id} is ${turn.state}; it carries the directive of ${turn.retry_of} again.`,
    );
    return EXIT.done;
  },
};

async function showRequest({ context, output }: Invocation, id: string, step: number): Promise<ExitCode> {
  const sent = await (await connect(context)).turns.request(id, step, context.stopped);
  output.result(sent, () => requestText(sent));
  return sent.same === false ? EXIT.failed : EXIT.done;
}

/** Lines as things happen; the answer, or with `--json` the turn and its durable events, at the end. */
async function follow({ context, output }: Invocation, handle: TurnHandle): Promise<ExitCode> {
  const events: TurnEvent[] = [];
  for await (const event of handle.events({ signal: context.stopped })) {
    const line = eventLine(event);
    if (line !== null) output.progress(line);
    if (/^\d+$/.test(event.id)) events.push(event);
  }
  const turn = await handle.get(context.stopped);
  output.result({ turn, events }, () =>
    shown(turn.answer ?? `The turn ended ${turn.outcome}: ${turn.reason}.`),
  );
  return turn.outcome === 'completed' ? EXIT.done : EXIT.failed;
}

function turnOptions({ text }: Invocation) {
  const [mode, priority, steps] = [text('mode'), text('priority'), text('steps')];
  const budget = {
    ...(steps === undefined ? {} : { steps: wholeNumber(steps, '--steps', 1, MAX_STEPS) }),
    ...costBudget(text),
  };
  const known = MODES.find((name) => name === mode);
  if (mode !== undefined && known === undefined) {
    throw new UsageError(`--mode is "${mode}"; allowed is ${MODES.join(', ')}.`);
  }
  return {
    ...(known === undefined ? {} : { mode: known }),
    ...(priority === undefined ? {} : { priority: wholeNumber(priority, '--priority', 0, MAX_PRIORITY) }),
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
  };
}

function turnText(turn: Turn): string {
  const { usage } = turn;
  const ended = turn.outcome === null ? turn.phase : `${turn.outcome} (${turn.reason})`;
  const lines = [
    `turn     ${turn.id} (T${turn.number} of session ${turn.session})`,
    `state    ${turn.state}, ${ended}`,
    `steps    ${turn.steps}`,
    `tokens   ${usage.prompt_tokens} prompt, ${usage.cache_read_tokens} of them cached; ${usage.output_tokens} reply`,
    `cost     ${costText(usage)}`,
  ];
  if (turn.parked_reason !== null) lines.push(`parked   ${oneLine(turn.parked_reason, REASON_CHARS)}`);
  if (turn.answer !== null) lines.push('', shown(turn.answer));
  return lines.join('\n');
}

async function readAll(stream: AsyncIterable<Buffer | string>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of stream)
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
  return text;
}
