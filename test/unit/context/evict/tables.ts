/** Tables for tests of eviction: `P10 a10` is a prompt of 10 KB and a step of 10 KB, numbered from 1. */
import type { Eviction, ItemRow, ItemTable, Piece, Span } from '../../../../src/context/evict/contract.ts';

const KB = 1_000;

export function tableOf(
  spelled: string,
  { left = [], open = null }: { readonly left?: readonly Span[]; readonly open?: number | null } = {},
): ItemTable {
  let turn = 0;
  const items = spelled.split(/\s+/u).flatMap((word, at): ItemRow[] => {
    if (word === '') return [];
    const role = word.startsWith('P') ? 'user' : 'assistant';
    if (role === 'user') turn += 1;
    return [
      { item: at + 1, role, kind: 'own', turn, label: `label ${at + 1}`, bytes: Number(word.slice(1)) * KB },
    ];
  });
  return { items, evictions: left.map((span) => leaving(span)), open };
}

export function leaving({ from, to }: Span, note: string | null = null): Eviction {
  return { from, to, note, author: note === null ? 'harness' : 'model' };
}

export function without(table: ItemTable, span: Span | null, note: string | null = null): ItemTable {
  if (span === null) throw new Error('nothing was planned');
  return { ...table, evictions: [...table.evictions, leaving(span, note)] };
}

/** `#1 #4–#9 #10`: items and residues as a request carries them. */
export function spelled(pieces: readonly Piece[]): string {
  return pieces
    .map((piece) =>
      piece.kind === 'item' ? `#${piece.row.item}` : `#${piece.eviction.from}–#${piece.eviction.to}`,
    )
    .join(' ');
}
