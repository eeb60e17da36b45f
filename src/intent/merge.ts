/**
 * A classifier's reading joined to the one of the words. It may raise what is at stake and what must be shown, never
 * lower either; what it says of the rest counts where it is sure.
 */
import { DOMAINS } from '../ledger/domains.ts';
import { CLARITIES, EVIDENCE_STANDARDS, HORIZONS, type Reading, STAKES } from '../ledger/reading.ts';

/** From here on a classifier is sure. */
const SURE_FROM = 0.75;

/** What a classifier said; what it left out, or said in words of its own, is absent. */
export type Classified = Pick<
  Reading,
  'act' | 'domains' | 'confidence' | 'stakes' | 'evidence' | 'clarity' | 'horizon'
>;

/**
 * Domains are those of both, so that none is lost. The act that did not prevail stays as an alternate. Parts, entities,
 * pasted stretches and the resolver's version stay those of the words.
 */
export function mergeReadings(lexical: Reading, classified: Classified): Reading {
  const { alternates: known = [], stakes, evidence, clarity, horizon, ...kept } = lexical;
  const isSure = classified.confidence >= SURE_FROM;
  const { act, confidence } = isSure ? classified : lexical;
  const others = [lexical.act, classified.act, ...known].filter((other) => other !== act);
  const alternates = [...new Set(others)];
  const added = isSure ? classified.domains : [];
  return {
    ...kept,
    source: 'classifier',
    act,
    ...(alternates.length === 0 ? {} : { alternates }),
    domains: DOMAINS.filter((domain) => lexical.domains.includes(domain) || added.includes(domain)),
    ...axis('stakes', STAKES, higher(STAKES, stakes, classified.stakes)),
    ...axis('evidence', EVIDENCE_STANDARDS, higher(EVIDENCE_STANDARDS, evidence, classified.evidence)),
    ...axis('clarity', CLARITIES, (isSure ? classified.clarity : undefined) ?? clarity),
    ...axis('horizon', HORIZONS, (isSure ? classified.horizon : undefined) ?? horizon),
    confidence,
  };
}

function higher<Value>(
  scale: readonly Value[],
  left: Value | undefined,
  right: Value | undefined,
): Value | undefined {
  const rank = (value: Value | undefined) => (value === undefined ? 0 : scale.indexOf(value));
  return rank(right) > rank(left) ? right : left;
}

/** The first value of an axis is plain: it is left out. */
function axis<Name extends string, Value>(
  name: Name,
  [plain]: readonly Value[],
  value: Value | undefined,
): { readonly [Key in Name]?: Value } {
  return value === undefined || value === plain ? {} : ({ [name]: value } as { [Key in Name]: Value });
}
