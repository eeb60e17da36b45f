/** Takes a call for a worker, with all that it needs: read, or remembered where this process moved the turn last. */
import type { Claim } from '../db/contract.ts';
import type { JobRef } from '../queues/contract.ts';
import type { Engine } from './engine.ts';
import { completeClaim, knownTurn } from './known-turns.ts';

const TOKENS = 2 ** 31;

/** null when the row has moved on. */
export async function claimCall(
  { store, known, indexes }: Pick<Engine, 'store' | 'known' | 'indexes'>,
  { workerId, random }: { readonly workerId: string; readonly random: () => number },
  ref: JobRef,
): Promise<Claim | null> {
  const token = Math.floor(random() * TOKENS);
  const indexed = indexes.knownTo(ref.session);
  const remembered = known.get(ref.actor);
  const turn = knownTurn(remembered);
  if (remembered === null || turn === null) return store.claim(ref, workerId, token, indexed);
  const answer = await store.claimKnown(ref, workerId, token, turn, indexed);
  return answer === null ? null : completeClaim(answer, remembered);
}
