/** The lexical tier: reads a directive from its own words, without a model. */
import { DOMAINS, type Domain } from '../ledger/domains.ts';
import type { Act, Reading } from '../ledger/reading.ts';
import { type ActReading, readAct } from './acts.ts';
import { axesOf, clarityConfidence, clarityOf, domainsOf } from './axes.ts';
import { entitiesOf } from './entities.ts';
import { type Lexicon, lexiconFor, RESOLVER_VERSION } from './lexicon/index.ts';
import { asksNow, isFactSeeking, LIVE_DATA } from './live-data.ts';
import { type AskingSentence, askingSentences } from './requests.ts';
import { scannedText } from './scanned.ts';
import { strandsForRecord, strandsOf } from './strands.ts';
import { requestText } from './words.ts';

/** From this confidence on a reading is taken as it is; below it a classifier may be asked. */
export const WEAK_BELOW = 0.75;
/** Between this and `WEAK_BELOW` a reading counts with its alternates beside it; below, for next to nothing. */
export const PROVISIONAL_FROM = 0.45;

/** No finer than words can tell. */
const CONFIDENCE_STEPS = 1_000;

/**
 * How the directive reads, as it is recorded: what reads plainly is left out. What it brings along does not count, and
 * of the rest at most 16,384 UTF-16 units, half from each end. `locale` picks the word lists (BCP 47, null: English).
 */
export function readLexically(directive: string, locale: string | null = null): Reading {
  const lexicon = lexiconFor(locale);
  const parted = strandsOf(directive, lexicon.strands, (part) => actOf(part, lexicon));
  const text = requestText(scannedText(directive, parted.pasted), lexicon);
  const sentences = askingSentences(text, lexicon);
  const now = asksNow(sentences, lexicon);
  const act = readAct(sentences, now, lexicon);
  const isWordless = sentences.length === 0;
  const clarity = isWordless ? 'unclear' : clarityOf(sentences, text.quotations.length, act, lexicon);
  const entities = entitiesOf(text, lexicon);
  return {
    source: 'lexical',
    version: RESOLVER_VERSION,
    act: isWordless ? 'converse' : act.act,
    ...(act.alternates.length === 0 ? {} : { alternates: [...act.alternates] }),
    domains: withLive(domainsOf(sentences, text.quotations, lexicon), now && isFactSeeking(act.act)),
    ...(entities.length === 0 ? {} : { entities: [...entities] }),
    ...axesOf(sentences, act.act, lexicon),
    ...(clarity === 'clear' ? {} : { clarity }),
    confidence: confidenceOf(act, clarityConfidence(clarity)),
    ...strandsForRecord(parted),
  };
}

/** The act of a part of a directive by itself. */
function actOf(part: string, lexicon: Lexicon): Act {
  const sentences: readonly AskingSentence[] = askingSentences(
    requestText(scannedText(part, []), lexicon),
    lexicon,
  );
  return readAct(sentences, asksNow(sentences, lexicon), lexicon).act;
}

function withLive(domains: readonly Domain[], isLive: boolean): Domain[] {
  return DOMAINS.filter((domain) => domains.includes(domain) || (isLive && domain === LIVE_DATA));
}

/** The least of the axes; where no word names the act, as much as there is to go by. */
function confidenceOf(act: ActReading, clear: number): number {
  const confidence = act.cued ? Math.min(act.confidence, clear) : clear;
  return Math.round(confidence * CONFIDENCE_STEPS) / CONFIDENCE_STEPS;
}
