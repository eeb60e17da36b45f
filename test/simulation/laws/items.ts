/** Laws of items: numbers are given once, a turn's close tells its own, and spans that left are nested or apart. */
import type { StoredRecord } from '../../../src/ledger/verify.ts';
import { bodies, type Law, repeated } from './evidence.ts';

export const ITEM_LAWS: Readonly<Record<string, Law>> = {
  'EVT-02 no number of an item is given twice in a session': ({ dump }) =>
    dump.sessions.flatMap(({ records }) =>
      repeated(minted(records).map(String)).map((item) => `#${item} is`),
    ),

  'EVT-02 the close of a turn tells its items, in the order in which they were recorded': ({ turns }) =>
    [...turns.values()].flatMap(({ records, view }) => {
      const told = bodies(records, 'turn-closed').flatMap(({ items = [] }) => items.map(({ item }) => item));
      const own = minted(records);
      const isAll = view.closed === null || told.join(' ') === own.join(' ');
      return isAll ? [] : [`T${view.number} tells ${told.join(' ')} of ${own.join(' ')}`];
    }),

  'EVT-03 spans that left are nested or apart, and name recorded items': ({ dump }) =>
    dump.sessions.flatMap(({ records }) => {
      const spans = bodies(records, 'evicted');
      const items = minted(records);
      const crossed = spans.filter((one) =>
        spans.some((other) => one.from < other.from && other.from <= one.to && one.to < other.to),
      );
      const unknown = spans.filter(({ from, to }) => !items.includes(from) || !items.includes(to));
      return [
        ...crossed.map(({ from, to }) => `#${from} to #${to} crosses another`),
        ...unknown.map(({ from, to }) => `#${from} to #${to} names what is not there`),
      ];
    }),

  'EVT-01 what leaves by force was not of the turn that runs, or stands behind its prompt': ({ turns }) =>
    [...turns.values()].flatMap(({ view }) =>
      view.evictions
        .filter(
          ({ author, from, to }) =>
            author === 'harness' && view.item !== null && from <= view.item && view.item <= to,
        )
        .map(({ from, to }) => `T${view.number} lost its prompt in #${from} to #${to}`),
    ),
};

/** Numbers of items, in the order of their records. */
function minted(records: readonly StoredRecord[]): readonly number[] {
  return records
    .filter(({ kind }) => kind === 'turn-context' || kind === 'assistant-message')
    .map(({ body }) => (JSON.parse(body ?? 'null') as { readonly item: number }).item);
}
