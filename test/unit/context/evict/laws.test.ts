/** What holds for every span that is planned or asked for, over random lives of a session. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { weighMessages } from '../../../../src/context/assemble/weigh.ts';
import type { ItemRow, ItemTable, Piece, Span } from '../../../../src/context/evict/contract.ts';
import { historyBytes, piecesOf, reachOf } from '../../../../src/context/evict/pieces.ts';
import { planSpan } from '../../../../src/context/evict/plan.ts';
import { RESIDUE_BYTES, residueBytes, residueMessages } from '../../../../src/context/evict/residue.ts';
import { resolveSpan } from '../../../../src/context/evict/resolve.ts';
import type { ChatMessage } from '../../../../src/context/request.ts';
import { Tally } from '../../ledger/sample.ts';

const MESSAGE_BYTES = 16;
const RESIDUE_WEIGHT = RESIDUE_BYTES + MESSAGE_BYTES;
const NOTES = [null, 'a note', '"'.repeat(240)] as const;

type Act =
  | { readonly do: 'prompt' | 'step'; readonly bytes: number; readonly gap: number }
  | { readonly do: 'close' | 'plan' | 'forget' }
  | {
      readonly do: 'ask';
      readonly from: number;
      readonly to: number;
      readonly note: (typeof NOTES)[number] /** Two residues side by side, where there are any. */;
      readonly residues: boolean;
    };

const bytes = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: MESSAGE_BYTES, max: 3_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 3_000, max: 60_000 }) },
);
const gap = fc.oneof(
  { weight: 9, arbitrary: fc.constant(1) },
  { weight: 1, arbitrary: fc.integer({ min: 2, max: 4 }) },
);
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('prompt' as const), bytes, gap }) },
  { weight: 12, arbitrary: fc.record({ do: fc.constant('step' as const), bytes, gap }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom('close' as const, 'plan' as const, 'plan' as const) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'forget' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      from: fc.nat({ max: 100 }),
      to: fc.nat({ max: 100 }),
      note: fc.constantFrom(...NOTES),
      residues: fc.boolean(),
    }),
  },
);

interface Life {
  readonly table: ItemTable;
  readonly prompt: number | null;
  /** Every item there ever was. */
  readonly all: readonly ItemRow[];
}

const BORN: Life = { table: { items: [], evictions: [], open: null }, prompt: null, all: [] };

function grown(life: Life, { do: kind, bytes, gap }: Extract<Act, { readonly gap: number }>): Life {
  const item = (life.all.at(-1)?.item ?? 0) + gap;
  const role = kind === 'prompt' || life.prompt === null ? 'user' : 'assistant';
  const turn = (life.all.at(-1)?.turn ?? 0) + (role === 'user' ? 1 : 0);
  const row: ItemRow = { item, role, kind: 'own', turn, label: '', bytes };
  return {
    table: { ...life.table, items: [...life.table.items, row], open: item },
    prompt: role === 'user' ? item : life.prompt,
    all: [...life.all, row],
  };
}

const covered = ({ evictions }: ItemTable, item: number): boolean =>
  evictions.some(({ from, to }) => from <= item && item <= to);
const residentOf = ({ table, all }: Life): readonly ItemRow[] =>
  all.filter(({ item }) => !covered(table, item));

/** Resident steps whose prompt is not. */
function orphansOf(life: Life): readonly number[] {
  return residentOf(life).flatMap(({ item, role }) => {
    const prompt = life.all.findLast((row) => row.role === 'user' && row.item <= item);
    return role === 'assistant' && prompt !== undefined && covered(life.table, prompt.item) ? [item] : [];
  });
}

const cross = (a: Span, b: Span): boolean => {
  const [left, right] = a.from <= b.from ? [a, b] : [b, a];
  const nested = right.to <= left.to || (left.from === right.from && left.to <= right.to);
  return right.from <= left.to && !nested;
};

/** The most that a prompt weighs together with its answers. */
function heaviestGroup(life: Life): number {
  const groups = new Map<number, number>();
  for (const row of residentOf(life)) groups.set(row.turn, (groups.get(row.turn) ?? 0) + row.bytes);
  return Math.max(0, ...groups.values());
}

function evicted(life: Life, span: Span, note: string | null): Life {
  for (const before of life.table.evictions) expect(cross(before, span)).toBe(false);
  const eviction = { ...span, note, author: 'model' } as const;
  const next = { ...life, table: { ...life.table, evictions: [...life.table.evictions, eviction] } };
  expect(residentOf(next).length).toBeLessThan(residentOf(life).length);
  expect(orphansOf(next)).toEqual([]);
  return next;
}

function expectOneWalk(life: Life): void {
  const pieces = piecesOf(life.table);
  const items = pieces.flatMap((piece) => (piece.kind === 'item' ? [piece.row.item] : []));
  expect(items).toEqual(residentOf(life).map(({ item }) => item));
  const reaches = pieces.map(reachOf);
  for (const [at, { from }] of reaches.entries())
    expect(from).toBeGreaterThan(reaches[at - 1]?.to ?? Number.NEGATIVE_INFINITY);
  expect(historyBytes(pieces)).toBe(weighMessages(pieces.flatMap(messagesOf)));
}

function messagesOf(piece: Piece): readonly ChatMessage[] {
  if (piece.kind === 'residue') return residueMessages(piece.eviction);
  return [
    { role: piece.row.role, content: [{ type: 'text', text: 'x'.repeat(piece.row.bytes - MESSAGE_BYTES) }] },
  ];
}

/** Plans until there is nothing left to plan. Every plan is held to the laws, the first is what is recorded. */
function planned(life: Life, classes: Record<string, boolean>): Life {
  const first = onePlan(life, classes);
  let plans = 0;
  for (let next: Life | null = first; next !== null; next = onePlan(next, classes)) plans += 1;
  classes['planned again without growth'] ||= plans > 1;
  expect(plans).toBeLessThanOrEqual(residentOf(life).length);
  return first ?? life;
}

function onePlan(life: Life, classes: Record<string, boolean>): Life | null {
  const resident = residentOf(life);
  const newest = resident.at(-1);
  const answered = resident.findLast(({ role }) => role === 'user');
  const stay = [newest?.item, answered?.item, life.table.open, life.prompt];
  const history = historyBytes(piecesOf(life.table));
  const span = planSpan(life.table, life.prompt);
  if (span === null) {
    classes['no plan'] = true;
    // Whatever may leave weighs no more than the residues it would leave, before the prompt in hand and behind it.
    const loose = resident
      .filter(({ item }) => !stay.includes(item))
      .reduce((sum, row) => sum + row.bytes, 0);
    const last = newest?.item ?? 0;
    expect(loose).toBeLessThanOrEqual(2 * residueBytes({ from: last, to: last, note: null }));
    return null;
  }
  for (const item of stay)
    expect(item !== null && item !== undefined && span.from <= item && item <= span.to).toBe(false);
  const next = evicted(life, span, null);
  const left = historyBytes(piecesOf(next.table));
  expect(left).toBeLessThan(history);
  expect(left).toBeLessThanOrEqual(
    Math.floor(history / 2) +
      Math.max(heaviestGroup(life), (newest?.bytes ?? 0) + (answered?.bytes ?? 0)) +
      2 * RESIDUE_WEIGHT,
  );
  const hand = life.prompt ?? answered?.item ?? 0;
  classes['a span before the prompt in hand'] ||= span.to < hand;
  classes['a span behind the prompt in hand'] ||= span.from > hand;
  classes['a residue swallowed'] ||= life.table.evictions.some(
    ({ from, to }) => span.from <= from && to <= span.to,
  );
  return next;
}

function asked(
  life: Life,
  { from, to, note, residues }: Extract<Act, { readonly do: 'ask' }>,
  classes: Record<string, boolean>,
): Life {
  // Mostly numbers that there are.
  const last = life.all.at(-1)?.item ?? 0;
  const ends = [Math.round((from * last) / 95), Math.round((to * last) / 95)].sort((a, b) => a - b);
  const pair = residues ? besideOf(piecesOf(life.table)) : null;
  const [low = 0, high = 0] = pair ?? ends;
  const found = resolveSpan(life.table, { from: low, to: high, note });
  if (!found.ok) {
    classes[`refused: ${found.reason}`] = true;
    if (found.reason === 'survivor') expectAnswersHelp(life, low, high, found.message);
    return life;
  }
  classes['asked and taken'] = true;
  const next = evicted(life, found.span, note);
  const left = residentOf(life).filter(({ item }) => covered(next.table, item));
  for (const { item } of left) expect(low <= item && item <= high && item !== life.table.open).toBe(true);
  classes['asked and shrunk'] ||=
    left.length < residentOf(life).filter(({ item }) => low <= item && item <= high).length;
  return next;
}

function besideOf(pieces: readonly Piece[]): readonly number[] | null {
  const at = pieces.findIndex(
    (piece, place) => piece.kind === 'residue' && pieces[place + 1]?.kind === 'residue',
  );
  const [first, second] = pieces.slice(Math.max(0, at), at + 2);
  return first === undefined || second === undefined ? null : [reachOf(first).from, reachOf(second).to];
}

/** With the answers that the refusal names the prompt can go. */
function expectAnswersHelp(life: Life, from: number, to: number, message: string): void {
  const named = /without its answers #(\d+)(?:–#(\d+))?\. Name/u.exec(message);
  if (named === null) {
    expect(message).toContain('still open');
    return;
  }
  const last = Number(named[2] ?? named[1]);
  expect(resolveSpan(life.table, { from, to: Math.max(to, last) }).ok).toBe(true);
}

function acted(life: Life, each: Act, classes: Record<string, boolean>): Life {
  switch (each.do) {
    case 'prompt':
    case 'step':
      return each.do === 'prompt' && life.prompt !== null ? life : grown(life, each);
    case 'close':
      return { ...life, table: { ...life.table, open: null }, prompt: null };
    case 'forget':
      return { ...life, table: { ...life.table, items: residentOf(life) } };
    case 'plan':
      return planned(life, classes);
    case 'ask':
      return asked(life, each, classes);
  }
}

describe('over random lives of a session', () => {
  it('EVT-02 EVT-03 EVT-05 faults 1 and 3: spans never cross, no answer is left alone, work in hand stays, and a plan makes less', () => {
    const tally = new Tally();
    let most = 0;
    const none = {
      'no plan': false,
      'a span before the prompt in hand': false,
      'a span behind the prompt in hand': false,
      'a residue swallowed': false,
      'planned again without growth': false,
      'asked and taken': false,
      'asked and shrunk': false,
      'refused: never_recorded': false,
      'refused: open': false,
      'refused: gone': false,
      'refused: only_residues': false,
      'refused: survivor': false,
    };
    fc.assert(
      fc.property(fc.array(act, { maxLength: 450, size: 'max' }), (acts) => {
        const classes: Record<string, boolean> = { ...none };
        const end = acts.reduce((life, each) => {
          const next = acted(life, each, classes);
          if (next.table.evictions !== life.table.evictions) expectOneWalk(next);
          return next;
        }, BORN);
        expectOneWalk(end);
        most = Math.max(most, end.all.length);
        tally.count(classes);
      }),
      { numRuns: 120 },
    );
    tally.report(`lives of up to ${most} items`);
  }, 120_000);

  it('EVT-02 work in hand stays whatever is called open or in hand', () => {
    const tally = new Tally();
    const row = fc.record({ bytes, user: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(row, { minLength: 1, maxLength: 40 }),
        fc.nat({ max: 45 }),
        fc.nat({ max: 45 }),
        (rows, open, prompt) => {
          const items = rows.map(
            ({ bytes: weight, user }, at): ItemRow => ({
              item: at,
              role: user ? 'user' : 'assistant',
              kind: 'own',
              turn: at,
              label: '',
              bytes: weight,
            }),
          );
          const span = planSpan({ items, evictions: [], open }, prompt);
          for (const item of [open, prompt, items.length - 1])
            expect(span !== null && span.from <= item && item <= span.to).toBe(false);
          tally.count({ planned: span !== null, none: span === null });
        },
      ),
      { numRuns: 2_000 },
    );
    tally.report('plans');
  });
});
