/** Which domains of tools a reading needs at hand: never all of them because it is unsure. */
import { DOMAINS, type Domain } from '../ledger/domains.ts';
import type { Act, Reading } from '../ledger/reading.ts';
import { PROVISIONAL_FROM, WEAK_BELOW } from './reading.ts';

/** Enough to find out what is meant. */
const ORIENTATION: readonly Domain[] = ['filesystem', 'memory'];

const FLOORS: Readonly<Record<Act, readonly Domain[]>> = {
  converse: ORIENTATION,
  answer: [...ORIENTATION, 'live-data', 'web'],
  locate: [...ORIENTATION, 'vcs'],
  analyze: [...ORIENTATION, 'code-exec', 'vcs'],
  author: [...ORIENTATION, 'documents', 'web'],
  modify: [...ORIENTATION, 'documents', 'code-exec', 'vcs'],
  operate: DOMAINS,
  verify: [...ORIENTATION, 'code-exec', 'observability'],
  orchestrate: DOMAINS,
  govern: ORIENTATION,
};

/**
 * Each once, in the vocabulary's order. A sure reading needs the floor of its act and its own domains, a provisional
 * one those of its alternates too; below that only the orientation floor and its own domains.
 */
export function needOf(reading: Reading): readonly Domain[] {
  const needed = new Set<Domain>([...reading.domains, ...actsOf(reading).flatMap((act) => FLOORS[act])]);
  for (const domain of ORIENTATION) needed.add(domain);
  return DOMAINS.filter((domain) => needed.has(domain));
}

function actsOf({ act, alternates = [], confidence }: Reading): readonly Act[] {
  if (confidence >= WEAK_BELOW) return [act];
  return confidence >= PROVISIONAL_FROM ? [act, ...alternates] : [];
}
