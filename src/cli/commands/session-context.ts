/** What requests of a session carry, and what they leave behind, over HTTP. */
import { POLICIES } from '../../ledger/kinds.ts';
import type { Command, Invocation } from '../command.ts';
import { contextText, planText } from '../context-text.ts';
import { EXIT, UsageError } from '../exit.ts';
import { shown } from '../output.ts';
import { connect } from '../server.ts';
import { wholeNumber } from '../setup.ts';

const ONE_SESSION = { arguments: 'SESSION', count: [1, 1] } as const;
const TARGETS = ['id', 'turn', 'presentation', 'query'] as const;
const MAX_NUMBER = 999_999_999;
const RANGE = /^(\d{1,9})-(\d{1,9})$/;

export const plan: Command = {
  name: 'session plan',
  summary: 'Plan the next turn of a session without sending or writing anything',
  ...ONE_SESSION,
  options: {
    leg: { type: 'string', value: 'LEG', help: "model to plan for; the session's own unless given" },
    policy: {
      type: 'string',
      value: 'POLICY',
      help: `one of ${POLICIES.join(', ')}; the session's own unless given`,
    },
    text: { type: 'string', value: 'TEXT', help: 'directive to plan for; for room alone unless given' },
  },
  run: async ({ context, output, positionals: [id = ''], text }) => {
    const policy = text('policy');
    const known = POLICIES.find((name) => name === policy);
    if (policy !== undefined && known === undefined)
      throw new UsageError(`--policy is "${policy}"; allowed is ${POLICIES.join(', ')}.`);
    const [leg, directive] = [text('leg'), text('text')];
    const wanted = {
      ...(known === undefined ? {} : { policy: known }),
      ...(leg === undefined ? {} : { leg }),
      ...(directive === undefined ? {} : { text: directive }),
    };
    const dry = await (await connect(context)).sessions.plan(id, wanted, context.stopped);
    output.result(dry, () => planText(dry));
    return EXIT.done;
  },
};

export const context: Command = {
  name: 'session context',
  summary: 'Show what the last request of a session was made of: sizes, ids and digests',
  ...ONE_SESSION,
  run: async ({ context: face, output, positionals: [id = ''] }) => {
    const found = await (await connect(face)).sessions.context(id, face.stopped);
    output.result(found, () => contextText(found));
    return EXIT.done;
  },
};

export const recall: Command = {
  name: 'session recall',
  summary: 'Read back what a session recorded: a result, a turn, a card, or turns by their words',
  ...ONE_SESSION,
  options: {
    id: { type: 'string', value: 'eN', help: 'result by its evidence id' },
    lines: { type: 'string', value: 'A-B', help: 'with --id: lines, counted from 1, both ends included' },
    chars: { type: 'string', value: 'A-B', help: 'with --id: characters, counted from 0, B left out' },
    turn: { type: 'string', value: 'N', help: 'closed turn by its number' },
    presentation: { type: 'string', value: 'pN', help: 'card' },
    query: { type: 'string', value: 'TEXT', help: 'turns these words fit, best first' },
    limit: { type: 'string', value: 'N', help: 'with --query: turns to list' },
  },
  run: async (invocation) => {
    const { context: face, output, positionals } = invocation;
    const args = recallArguments(invocation);
    const found = await (await connect(face)).sessions.recall(positionals[0] ?? '', args, face.stopped);
    output.result(found, () => shown(found.content));
    return found.is_error ? EXIT.failed : EXIT.done;
  },
};

export const compact: Command = {
  name: 'session compact',
  summary: 'Begin the summary that the next plan of a session wants',
  ...ONE_SESSION,
  run: async ({ context: face, output, positionals: [id = ''] }) => {
    const begun = await (await connect(face)).sessions.compact(id, face.stopped);
    output.result(begun, () => begun.notice);
    return EXIT.done;
  },
};

/** @throws UsageError unless one thing is asked for, and only with what belongs to it. */
function recallArguments({ text }: Invocation): Readonly<Record<string, unknown>> {
  const asked = TARGETS.filter((name) => text(name) !== undefined);
  const [target, ...others] = asked;
  if (target === undefined || others.length > 0) {
    const found = asked.length === 0 ? 'none' : asked.map((name) => `--${name}`).join(' and ');
    throw new UsageError(`Give one of ${TARGETS.map((name) => `--${name}`).join(', ')}; found ${found}.`);
  }
  const value = text(target) ?? '';
  const [lines, chars, limit] = [text('lines'), text('chars'), text('limit')];
  if (target !== 'id' && (lines ?? chars) !== undefined)
    throw new UsageError(`--lines and --chars belong to --id; found --${target}.`);
  if (target !== 'query' && limit !== undefined)
    throw new UsageError(`--limit belongs to --query; found --${target}.`);
  return {
    [target]: target === 'turn' ? wholeNumber(value.replace(/^T/i, ''), '--turn', 1, MAX_NUMBER) : value,
    ...(lines === undefined ? {} : { range: rangeOf(lines, '--lines', 1) }),
    ...(chars === undefined ? {} : { chars: rangeOf(chars, '--chars', 0) }),
    ...(limit === undefined ? {} : { limit: wholeNumber(limit, '--limit', 1, MAX_NUMBER) }),
  };
}

/** @throws UsageError unless it is `A-B` with A no greater than B. */
function rangeOf(
  text: string,
  option: string,
  least: number,
): { readonly from: number; readonly to: number } {
  const [, from = '', to = ''] = RANGE.exec(text) ?? [];
  const range = { from: Number(from), to: Number(to) };
  if (from !== '' && range.from >= least && range.from <= range.to) return range;
  throw new UsageError(
    `${option} is "${text}"; write it as ${least}-${least + 8}, the smaller number first.`,
  );
}
