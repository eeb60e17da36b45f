import { givenIn, uncitedSources } from '../../../src/checks/cited-source.ts';
import { isRepeatOf } from '../../../src/checks/drift.ts';
import { malformedFence, repeatedFences } from '../../../src/checks/fences.ts';
import { isStale } from '../../../src/checks/freshness.ts';
import { isUngrounded } from '../../../src/checks/grounding.ts';
import { checkLexiconFor } from '../../../src/checks/lexicon/index.ts';
import { unmadeCard } from '../../../src/checks/presentation.ts';
import { stopReasons } from '../../../src/checks/stop-gate.ts';
import { isOffTopic } from '../../../src/checks/topic-mismatch.ts';
import { callInProse } from '../../../src/checks/unmade-call.ts';
import { BUILTIN_CARDS, createCards } from '../../../src/context/cards/index.ts';
import type { Json } from '../../../src/ledger/json.ts';
import type { Presentation } from '../../../src/ledger/presentation.ts';
import type { Reading } from '../../../src/ledger/reading.ts';

const lexicon = checkLexiconFor(null);
const cards = createCards(BUILTIN_CARDS);
const reading: Reading = {
  source: 'lexical',
  version: 1,
  act: 'modify',
  domains: ['live-data'],
  confidence: 1,
};
const shown: Presentation = {
  presentation: 'p1',
  source: { kind: 'tool-call', callId: 'c', step: 1, index: 0 },
  type: 'metric',
  schemaVersion: 1,
  title: '',
  payload: {},
  payloadDigest: '',
  digest: '',
  derivedFrom: [],
};
const failed = { step: 1, name: 'x', ok: false, card: false, observes: true, changes: false };

/** Every predicate, with one text in every place where a model or a person may put it. */
export function askAll(text: string, args: Json): void {
  isStale({ reading, observed: false, text }, lexicon);
  isOffTopic(
    { card: { tool: text.slice(0, 99), args }, directive: 'zq', evidence: [text, `${text}zq`] },
    lexicon,
  );
  uncitedSources(args, givenIn([text]));
  isRepeatOf({ text, directive: text }, { answer: text, asked: `${text}?`, sameThread: false });
  isUngrounded({ text, results: ['4711 https://a.example/'] }, lexicon);
  isUngrounded({ text: 'It is 987654321.', results: [text] }, lexicon);
  malformedFence(cards, text);
  repeatedFences(cards, text, [shown]);
  callInProse({ text, directive: text, tools: ['grep', 'web_search'] });
  callInProse({ text: 'grep {"a":1}', directive: text, tools: ['grep'] });
  unmadeCard({ text, forms: [], made: [], cameBackEmpty: false, directive: text }, cards, lexicon);
  const given = { text, reading, calls: [failed], canObserve: true, canChange: true };
  stopReasons({ ...given, unmetConditions: [] }, lexicon);
}
