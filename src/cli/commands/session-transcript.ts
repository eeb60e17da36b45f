/** The transcript of a session: listed, read, searched, and taken out of its requests, over HTTP. */
import type { Turnwright } from '../../client/index.ts';
import type { Command, Invocation } from '../command.ts';
import { EXIT, UsageError } from '../exit.ts';
import { connect } from '../server.ts';
import { wholeNumber } from '../setup.ts';
import { evictedText, foundText, indexText, itemsText } from '../transcript-text.ts';

const MAX_ITEM = 999_999_999;
/** What one request may name. */
const MAX_NAMED_ITEMS = 10_000;
const RUN = /^#?(\d{1,9})(?:-#?(\d{1,9}))?$/;

export const transcript: Command = {
  name: 'session transcript',
  summary: 'List what a session recorded, item by item, read items back, or find lines in them',
  arguments: 'SESSION',
  count: [1, 1],
  options: {
    read: { type: 'string', value: 'ITEMS', help: 'items to read, such as 3,5-9' },
    grep: { type: 'string', value: 'PATTERN', help: 'expression to find lines by, in the syntax of RE2' },
    items: { type: 'string', value: 'ITEMS', help: 'with --grep: items to search; all unless given' },
    after: { type: 'string', value: 'ITEM', help: 'list items after this one' },
    head: { type: 'string', value: 'HEAD', help: 'list the items of another head' },
  },
  run: async (invocation) => {
    checkOptions(invocation);
    const { context, positionals, text } = invocation;
    const client = await connect(context);
    const id = positionals[0] ?? '';
    const [read, pattern] = [text('read'), text('grep')];
    if (read !== undefined) return showItems(invocation, client, id, itemsNamed(read, '--read'));
    if (pattern !== undefined) return showFound(invocation, client, id, pattern);
    return showIndex(invocation, client, id);
  },
};

export const evict: Command = {
  name: 'session evict',
  summary: 'Take items out of the requests of a session at rest; its transcript keeps them',
  arguments: 'SESSION FROM TO',
  count: [3, 3],
  options: { note: { type: 'string', value: 'TEXT', help: 'one line that stands in their place' } },
  run: async ({ context, output, positionals: [id = '', from = '', to = ''], text }) => {
    const note = text('note');
    const span = { from: itemNumber(from, 'FROM'), to: itemNumber(to, 'TO') };
    const { sessions } = await connect(context);
    const evicted = await sessions.evict(id, note === undefined ? span : { ...span, note }, context.stopped);
    output.result(evicted, () => evictedText(evicted));
    return EXIT.done;
  },
};

async function showIndex({ context, output, text }: Invocation, { sessions }: Turnwright, id: string) {
  const [after, head] = [text('after'), text('head')];
  const page = {
    ...(after === undefined ? {} : { after: itemNumber(after, '--after') }),
    ...(head === undefined ? {} : { head }),
  };
  const index = await sessions.transcript(id, page, context.stopped);
  output.result(index, () => indexText(index));
  return EXIT.done;
}

async function showItems(
  { context, output }: Invocation,
  { sessions }: Turnwright,
  id: string,
  items: readonly number[],
) {
  const read = await sessions.readItems(id, items, context.stopped);
  output.result(read, () => itemsText(read));
  return EXIT.done;
}

async function showFound(
  { context, output, text }: Invocation,
  { sessions }: Turnwright,
  id: string,
  pattern: string,
) {
  const named = text('items') ?? 'all';
  const items = named === 'all' ? named : itemsNamed(named, '--items');
  const found = await sessions.grep(
    id,
    { pattern, items: items === 'all' ? items : [...items] },
    context.stopped,
  );
  output.result(found, () => foundText(found));
  return found.complete ? EXIT.done : EXIT.failed;
}

/** @throws UsageError for options that do not go together. */
function checkOptions({ text }: Invocation): void {
  const given = (name: string): boolean => text(name) !== undefined;
  if (given('read') && given('grep')) throw new UsageError('Give one of --read and --grep, not both.');
  if (given('items') && !given('grep'))
    throw new UsageError('--items belongs to --grep, which is not given.');
  const listing = ['after', 'head'].find(given);
  if (listing !== undefined && (given('read') || given('grep')))
    throw new UsageError(`--${listing} belongs to the list of items; leave it out with --read and --grep.`);
}

/** @throws UsageError unless it names items and runs of them. */
function itemsNamed(text: string, option: string): readonly number[] {
  const items: number[] = [];
  for (const part of text.split(',')) {
    const [, first = '', last = first] = RUN.exec(part.trim()) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (first === '' || from > to)
      throw new UsageError(
        `${option} holds "${part.trim()}"; write items as 3,5-9, the smaller number of a run first.`,
      );
    if (items.length + to - from >= MAX_NAMED_ITEMS)
      throw new UsageError(`${option} names more than ${MAX_NAMED_ITEMS} items; name fewer.`);
    for (let item = from; item <= to; item++) items.push(item);
  }
  return items;
}

function itemNumber(text: string, what: string): number {
  return wholeNumber(text.replace(/^#/, ''), what, 0, MAX_ITEM);
}
