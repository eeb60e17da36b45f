/** The end of a turn as it is recorded: its card and its items, the row and the links by which plans find it. */
import { renderFull } from '../context/assemble/full-record.ts';
import { type Rendered, rendered } from '../context/assemble/weigh.ts';
import { itemEntries } from '../context/evict/render.ts';
import type { IndexedTurn, TurnRange } from '../context/plan/contract.ts';
import { termsOfCard } from '../context/relevance/terms.ts';
import { buildCard } from '../context/turn-card.ts';
import type { ItemEntry } from '../ledger/items.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import type { TurnCard } from '../ledger/turn-card.ts';
import type { TurnView } from '../ledger/view.ts';
import type { CommitBuilder } from './commit-builder.ts';

type Ended = Pick<BodyOf<'turn-closed'>, 'outcome' | 'reason' | 'steps' | 'measure'>;

export interface Closing {
  /** The turn with its end. */
  readonly view: TurnView;
  readonly number: number;
  readonly piece: Rendered;
  readonly card: TurnCard;
  readonly indexed: IndexedTurn;
}

/** `open` is the turn with all that the commit has added to it. */
export function recordClosing(builder: CommitBuilder, head: string, open: TurnView, ended: Ended): Closing {
  const { turnId: turn } = open;
  const { outcome, reason, steps } = ended;
  const view = { ...open, closed: ended };
  const piece = rendered(renderFull(view));
  const card = buildCard(view, piece.bytes);
  const entries = itemEntries(view);
  const body = { ...ended, card, ...(entries.length === 0 ? {} : { items: entries }) };
  const closedSeq = builder.append(head, { kind: 'turn-closed', turnId: turn, body });
  const terms = termsOfCard(card);
  const { fullBytes, cardBytes, links, number } = card;
  const items = rangeOf(entries);
  builder.lists.turnChanges.push({
    turn,
    status: 'closed',
    outcome,
    reason,
    steps,
    closedSeq,
    fullBytes,
    cardBytes,
    ...(items === null ? {} : { firstItem: items.from, lastItem: items.to }),
    terms: Buffer.from(terms).toString('base64'),
  });
  builder.lists.edges.push(...links.map((link, ordinal) => ({ ...link, turn, ordinal })));
  return { view, number, piece, card, indexed: { number, items, fullBytes, cardBytes, terms, links } };
}

function rangeOf(entries: readonly ItemEntry[]): TurnRange | null {
  const [first, last] = [entries[0], entries.at(-1)];
  return first === undefined || last === undefined ? null : { from: first.item, to: last.item };
}
