/** What earlier turns of a head answered: whether a reply repeats one of them, and the last figure on record of what is asked. */
import type { EarlierAnswer } from '../checks/judged.ts';
import { searchTurns } from '../context/relevance/search.ts';
import { queryTerms, saidHash } from '../context/relevance/terms.ts';
import type { TurnIndex } from '../context/relevance/turn-index.ts';
import { shortAnswer } from '../context/turn-card.ts';
import type { SessionRef, Store } from '../db/contract.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import { finalAnswer, type TurnView } from '../ledger/view.ts';
import type { HeadIndexes } from './head-index.ts';
import { foldRecords, type TurnCache } from './turn-cache.ts';

/** Turns that speak of what is asked and are looked at for a figure. */
const FIGURE_TURNS = 8;
const FIGURE_CHARS = 300;
/** A figure is of what is asked where its turn has half of the words that are asked for, */
const SHARED_PART = 0.5;
/** and nearly as many as the turn with the most: "lead price" is no word of "zinc price". */
const NEARLY_ALL = 0.75;
const HAS_FIGURE = /\p{Nd}{2}|\p{Nd}[.,%°]|[$€£¥]\s?\p{Nd}/u;

export interface EarlierDeps {
  readonly store: Store;
  readonly indexes: HeadIndexes;
  readonly turns: TurnCache;
}

/** The open turn's place, and the turn whose thread it goes on with. */
export interface OpenPlace extends SessionRef {
  readonly head: string;
  readonly epoch: number;
  readonly number: number;
  readonly continues: number | null;
}

/** The newest earlier turn whose answer stands in its card as this text would; null for none. */
export async function earlierAnswer(
  deps: EarlierDeps,
  place: OpenPlace,
  text: string,
): Promise<EarlierAnswer | null> {
  const said = shortAnswer(text);
  if (said === '') return null;
  const { turns: index, reset } = await indexOf(deps, place);
  const behind = reset === null ? 0 : (await deps.turns.reset(place, reset)).behind;
  const number = newestHolding(index, saidHash(said), behind);
  if (number === null) return null;
  const view = await viewAt(deps, place, number);
  if (view === null) return null;
  const asked = view.input.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
  const sameThread = threadOf(index, place.continues) === threadOf(index, number);
  return { number, answer: finalAnswer(view) ?? '', asked, sameThread };
}

type Figure = NonNullable<BodyOf<'finding'>['figure']>;

/** The last figure that a turn recorded of what is asked; null where none did. */
export async function lastFigure(
  deps: EarlierDeps,
  place: OpenPlace,
  directive: string,
): Promise<Figure | null> {
  const { turns: index } = await indexOf(deps, place);
  const { hashes, subjects } = queryTerms(directive);
  const words = [...hashes.subarray(0, subjects)];
  const numbers = searchTurns(index, directive, FIGURE_TURNS).map(({ number }) => number);
  const recorded: { readonly figure: Figure; readonly shared: number }[] = [];
  for (const number of numbers.toSorted((left, right) => right - left)) {
    const shared = words.filter((word) => index.holds(index.positionOf(number), word)).length;
    const figure = shared < words.length * SHARED_PART ? null : await figureOf(deps, place, number);
    if (figure !== null) recorded.push({ figure, shared });
  }
  const most = Math.max(0, ...recorded.map(({ shared }) => shared));
  return recorded.find(({ shared }) => shared >= most * NEARLY_ALL)?.figure ?? null;
}

/** The words of the system are no source: a turn that ended on them has the figure which they quote. */
async function figureOf(deps: EarlierDeps, place: OpenPlace, number: number): Promise<Figure | null> {
  const [carded] = await deps.turns.cards(place, place, number, number);
  if (carded === undefined) return null;
  const { presentations, narration } = carded.card;
  const text = [...presentations.map(({ digest }) => digest), narration].find((one) => HAS_FIGURE.test(one));
  const view = text === undefined ? null : await viewAt(deps, place, number);
  if (text === undefined || view === null) return null;
  const { context, statement, findings } = view;
  if (statement !== null) return findings.findLast(({ figure }) => figure !== undefined)?.figure ?? null;
  return { text: text.slice(0, FIGURE_CHARS), turn: number, utc: context?.utc ?? '' };
}

async function viewAt({ store }: EarlierDeps, place: OpenPlace, number: number): Promise<TurnView | null> {
  const at = await store.turnAt(place, place.head, number);
  if (at === null) return null;
  return foldRecords(await store.turnRecords({ ...place, session: at.session }, at.turn));
}

async function indexOf({ indexes }: EarlierDeps, { head, epoch, number, ...ref }: OpenPlace) {
  const place = { head, epoch, before: number };
  return indexes.known(ref.session, place) ?? indexes.get(ref, place, null);
}

function newestHolding(index: TurnIndex, hash: number, behind: number): number | null {
  for (let position = index.count - 1; position >= 0; position--) {
    const number = index.numberAt(position);
    if (number <= behind) return null;
    if (index.holds(position, hash)) return number;
  }
  return null;
}

function threadOf(index: TurnIndex, number: number | null): number | null {
  const position = number === null ? -1 : index.positionOf(number);
  return position === -1 ? null : index.threads.threadAt(position);
}
