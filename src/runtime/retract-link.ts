/** A link between turns taken back: plans follow it no more, in any process, and its card keeps saying what was seen. */
import type { SessionRef } from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import type { TurnLink } from '../ledger/turn-card.ts';
import type { Engine } from './engine.ts';
import { commitToSession } from './session-commit.ts';

type Retraction = BodyOf<'link-retracted'>;

/**
 * The session's epoch from then on, by which every process knows what it remembers to be stale; null where there is no
 * such session. The record is of no turn: the turn has closed.
 *
 * @throws TurnwrightError `link_not_found` where the turn has no such link that counts, or `busy`.
 */
export async function retractLink(
  engine: Engine,
  ref: SessionRef,
  retraction: Retraction,
): Promise<number | null> {
  const { store } = engine;
  const { turn: number, kind, to } = retraction;
  return commitToSession(engine, ref, async (builder, { session }) => {
    const head = session.liveHead;
    const [at, [row]] = await Promise.all([
      store.turnAt(ref, head, number),
      store.indexedTurns(ref, head, number - 1, 1),
    ]);
    const links = row?.number === number ? row.links : [];
    // A link of a turn that was inherited is the other session's to take back.
    const turn = at?.session === ref.session ? at.turn : null;
    if (turn === null || !links.some((link) => link.kind === kind && link.to === to))
      throw linkNotFound(retraction, links);
    builder.append(head, { kind: 'link-retracted', turnId: null, body: retraction });
    builder.lists.retractedEdges.push({ turn, kind, to });
    builder.epoch += 1;
    return { value: builder.epoch };
  });
}

function linkNotFound({ turn, kind, to }: Retraction, links: readonly TurnLink[]): TurnwrightError {
  const known = links.map((link) => `${link.kind} ${link.to}`).join(', ');
  const there = known === '' ? 'It has no link that counts.' : `Its links are: ${known}.`;
  return new TurnwrightError(
    'link_not_found',
    `Turn ${turn} has no link "${kind} ${to}" that counts. ${there}`,
  );
}
