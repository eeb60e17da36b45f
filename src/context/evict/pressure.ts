/** The reminder that an eviction is near. It is a forecast: the next boundary weighs and plans anew. */
import type { BodyOf } from '../../ledger/kinds.ts';
import { kiloBytes, pressureWords } from './wording.ts';

type Told = Pick<BodyOf<'pressure-told'>, 'used' | 'limit' | 'unit' | 'would'>;

/** Made from the record alone, so that it reads the same whenever it is rendered. */
export function pressureText({ used, limit, unit, would }: Told): string {
  const figure =
    unit === 'tokens' ? `${used} of ${limit} tokens` : `${kiloBytes(used)} of ${kiloBytes(limit)} of history`;
  return pressureWords(figure, would);
}
