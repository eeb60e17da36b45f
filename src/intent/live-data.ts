/**
 * Whether a request wants a fact of the outside world as it stands now. A word for "now" says so, unless its clause
 * names another time, or what it is said of is at hand: the caller's own files and work, or the model itself.
 */
import type { Domain } from '../ledger/domains.ts';
import type { Act } from '../ledger/reading.ts';
import type { Lexicon } from './lexicon/index.ts';
import { phraseAt, phraseWithin, setOf, tableOf } from './phrases.ts';
import { type AskingSentence, askingSentences, cueAt } from './requests.ts';
import { scannedText } from './scanned.ts';
import { isFile, isOneOf, requestText, type Word } from './words.ts';

export const LIVE_DATA: Domain = 'live-data';

/** They seek a fact; whatever else is asked changes or makes something. */
const FACT_SEEKING: ReadonlySet<Act> = new Set(['answer', 'locate', 'analyze']);
const YEAR = /^(?:1\d|20)\d\ds?$/u;
/** "Code", not "CODE": who shouts names nothing. */
const CAPITALISED = /^\p{Lu}\P{Lu}/u;
/** A time alone in front of a clause, or behind one, belongs to it. */
const ASIDE_WORDS = 4;
const WORDS_BEFORE = 2;
/** A noun phrase has no more words before its head. */
const PHRASE_WORDS = 6;

interface Clause {
  readonly words: readonly Word[];
  readonly forms: readonly string[];
}

/** A stretch of words that says "now", and where what it is said of begins; null when that is the whole clause. */
interface Signal {
  readonly from: number;
  readonly to: number;
  readonly ofNext: boolean;
}

/** `act` is what the text was read as. Says nothing of how well an answer must be founded. */
export function readsLiveData(text: string, act: Act, lexicon: Lexicon): boolean {
  const sentences = askingSentences(requestText(scannedText(text, []), lexicon), lexicon);
  return isFactSeeking(act) && asksNow(sentences, lexicon);
}

export function isFactSeeking(act: Act): boolean {
  return FACT_SEEKING.has(act);
}

export function asksNow(sentences: readonly AskingSentence[], lexicon: Lexicon): boolean {
  return sentences.some((sentence) =>
    clausesOf(sentence, lexicon).some(
      (clause) =>
        !statesOtherTime(clause, lexicon) &&
        signalsIn(clause, lexicon).some((signal) => !isAtHand(clause, signal, lexicon)),
    ),
  );
}

/** Courtesies are left out, so that the "you" of "can you" is nobody's. */
function clausesOf({ words, forms, asks }: AskingSentence, lexicon: Lexicon): readonly Clause[] {
  const partings = setOf(lexicon.live.partings);
  const clauses: Clause[] = [];
  const start = Math.min(asks[0]?.at ?? 0, words.length);
  let from = hasTime(forms.slice(0, start), lexicon) ? 0 : start;
  for (let at = from + 1; at <= words.length; at++) {
    const ends = at === words.length || words[at]?.opensClause === true || partings.has(forms[at] ?? '');
    if (!ends) continue;
    clauses.push({ words: words.slice(from, at), forms: forms.slice(from, at) });
    from = at;
  }
  return withAsides(clauses, lexicon);
}

function hasTime(forms: readonly string[], lexicon: Lexicon): boolean {
  return statesOtherTime({ forms }, lexicon) || phraseWithin(forms, lexicon.live.now);
}

function withAsides(clauses: readonly Clause[], lexicon: Lexicon): readonly Clause[] {
  const merged: Clause[] = [];
  let aside: Clause | null = null;
  for (const clause of clauses) {
    const isAside =
      clause.forms.length <= ASIDE_WORDS &&
      statesOtherTime(clause, lexicon) &&
      signalsIn(clause, lexicon).length === 0;
    const last = merged.at(-1);
    if (isAside && last !== undefined && !startsAfresh(clause, lexicon))
      merged.splice(-1, 1, joined(last, clause));
    else if (isAside) aside = aside === null ? clause : joined(aside, clause);
    else {
      merged.push(aside === null ? clause : joined(aside, clause));
      aside = null;
    }
  }
  return aside === null ? merged : [...merged, aside];
}

/** "And last year's" is said of another thing than the clause before. */
function startsAfresh({ forms }: Clause, { live }: Lexicon): boolean {
  return setOf(live.partings).has(forms[0] ?? '');
}

function joined(one: Clause, other: Clause): Clause {
  return { words: [...one.words, ...other.words], forms: [...one.forms, ...other.forms] };
}

function statesOtherTime({ forms }: Pick<Clause, 'forms'>, { live }: Lexicon): boolean {
  if (phraseWithin(forms, live.otherTime)) return true;
  const before = setOf(live.beforeYear);
  return forms.some((form, at) => YEAR.test(form) && before.has(forms[at - 1] ?? ''));
}

function signalsIn(clause: Clause, lexicon: Lexicon): readonly Signal[] {
  const signals: Signal[] = [];
  let at = 0;
  while (at < clause.forms.length) {
    const signal = signalAt(clause, at, lexicon);
    if (signal !== null) signals.push(signal);
    at = signal?.to ?? at + 1;
  }
  return signals;
}

function signalAt(clause: Clause, at: number, lexicon: Lexicon): Signal | null {
  const { now, adjectives, closing, live } = lexicon.live;
  const { forms } = clause;
  const said = phraseAt(forms, at, tableOf(now));
  if (said !== null) return { from: at, to: at + said.words, ofNext: false };
  const adjective = phraseAt(forms, at, tableOf(adjectives));
  if (adjective !== null && qualifies(clause, at + adjective.words, lexicon))
    return { from: at, to: at + adjective.words, ofNext: true };
  if (live.word.includes(forms[at] ?? '') && isAdjective(clause, at, lexicon))
    return { from: at, to: at + 1, ofNext: true };
  const closes = at > 0 && at === forms.length - 1 && setOf(closing).has(forms[at] ?? '');
  return closes && (opensQuestion(forms, lexicon) || isBareNoun(forms, lexicon))
    ? { from: at, to: at + 1, ofNext: false }
    : null;
}

function opensQuestion(forms: readonly string[], { grammar }: Lexicon): boolean {
  return [grammar.questionWords, grammar.auxiliaries].some((list) => setOf(list).has(forms[0] ?? ''));
}

/** "Price of tin": no verb that we know, and nobody who does something. */
function isBareNoun(forms: readonly string[], lexicon: Lexicon): boolean {
  const { auxiliaries, pronouns } = lexicon.grammar;
  return (
    cueAt(forms, 0, lexicon) === null &&
    !forms.some((form) => setOf(auxiliaries).has(form) || setOf(pronouns).has(form))
  );
}

/** A noun follows, or "on" and what there is news of; else it is a noun itself: "the current through a wire". */
function qualifies({ forms, words }: Clause, next: number, { grammar, live }: Lexicon): boolean {
  const form = forms[next];
  if (form === undefined || words[next]?.opensClause === true) return forms[next - 1] !== 'current';
  if (live.newsOf.includes(form)) return forms[next - 1] !== 'current';
  return !setOf(grammar.prepositions).has(form) && !setOf(grammar.auxiliaries).has(form);
}

function isAdjective({ forms, words }: Clause, at: number, { live: { live } }: Lexicon): boolean {
  const [previous, next] = [forms[at - 1], forms[at + 1]];
  if (next === undefined || words[at + 1]?.opensClause === true || setOf(live.before).has(next)) return false;
  return previous === undefined || setOf(live.after).has(previous);
}

/** What it is said of stands behind it, right before it, or behind the question word. */
function isAtHand(clause: Clause, { from, to, ofNext }: Signal, lexicon: Lexicon): boolean {
  const before = Math.max(0, from - WORDS_BEFORE);
  for (let at = before; at < from; at++)
    if (isLocal(clause, at, lexicon) || isSelf(clause, at, lexicon)) return true;
  if (clause.words.some(isFile) || asksOfOneself(clause, from, lexicon)) return true;
  return nounIsLocal(clause, to, ofNext || isPossessed(clause, from, to), lexicon);
}

/** "Today's plan": the time stands for an adjective. */
function isPossessed({ words }: Clause, from: number, to: number): boolean {
  return to === from + 1 && /['’]s$/u.test(words[from]?.written ?? '');
}

/** The phrase behind the signal, and what it is of or in. `isIts`: the signal is said of that phrase. */
function nounIsLocal(clause: Clause, from: number, isIts: boolean, lexicon: Lexicon): boolean {
  const { grammar, live } = lexicon;
  const end = phraseEnd(clause, from, lexicon);
  if (isIts && end - from === 1 && isOneOf(clause.forms[from] ?? '', live.clock)) return true;
  for (let at = from; at < end; at++) if (isLocal(clause, at, lexicon)) return true;
  const further =
    setOf(grammar.prepositions).has(clause.forms[end] ?? '') && clause.words[end]?.opensClause === false;
  if (!further) return isIts && end - from === 1 && isOneOf(clause.forms[from] ?? '', live.versions);
  const last = phraseEnd(clause, end + 1, lexicon);
  for (let at = end + 1; at < last; at++)
    if (isOwner(clause, at, lexicon) || (at === last - 1 && isLocal(clause, at, lexicon))) return true;
  return false;
}

/** Up to where a noun phrase goes on at most. */
function phraseEnd({ words, forms }: Clause, from: number, { grammar }: Lexicon): number {
  const ends = [
    grammar.prepositions,
    grammar.auxiliaries,
    grammar.conjunctions,
    grammar.questionWords,
    grammar.pronouns,
  ];
  let at = from;
  while (at < forms.length && at < from + PHRASE_WORDS) {
    if (words[at]?.opensClause === true && at > from) break;
    if (ends.some((list) => setOf(list).has(forms[at] ?? ''))) break;
    at += 1;
  }
  return at;
}

/** What the clause asks after: "what is the server …", "which tests …", "what did you …", "list the tests that …". */
function asksOfOneself(clause: Clause, to: number, lexicon: Lexicon): boolean {
  const { forms } = clause;
  const { questionWords, auxiliaries, modals, prepositions, articles } = lexicon.grammar;
  const asks = (form: string): boolean => setOf(questionWords).has(form) || setOf(auxiliaries).has(form);
  const verb = opensQuestion(forms, lexicon) ? null : cueAt(forms, 0, lexicon);
  const asked = verb === null ? forms.findIndex(asks) : verb.words - 1;
  if (asked === -1 || asked > to) return false;
  let at = asked + 1;
  let auxiliary = forms[asked] ?? '';
  while ([auxiliaries, prepositions, articles].some((list) => setOf(list).has(forms[at] ?? ''))) {
    if (setOf(auxiliaries).has(forms[at] ?? '')) auxiliary = forms[at] ?? '';
    at += 1;
  }
  if (setOf(lexicon.live.selves).has(forms[at] ?? '')) return !setOf(modals).has(auxiliary);
  const end = Math.min(phraseEnd(clause, at, lexicon), to);
  if (end - at === 1 && isOneOf(forms[at] ?? '', lexicon.live.clock)) return true;
  for (let index = at; index < end; index++) if (isLocal(clause, index, lexicon)) return true;
  return isOwner(clause, at, lexicon);
}

/** "Do I have" is one's own, "can I get" is the world's. */
function isSelf({ forms }: Clause, at: number, { grammar, live }: Lexicon): boolean {
  return at > 0 && setOf(live.selves).has(forms[at] ?? '') && !setOf(grammar.modals).has(forms[at - 1] ?? '');
}

/** A capital within a sentence makes a name of the word, and names are not at hand. */
function isLocal(clause: Clause, at: number, lexicon: Lexicon): boolean {
  const word = clause.words[at];
  if (word === undefined) return false;
  if (isOwner(clause, at, lexicon)) return true;
  if (at > 0 && CAPITALISED.test(word.written)) return false;
  return (
    isOneOf(word.form, lexicon.live.local) || phraseAt(clause.forms, at, tableOf(lexicon.live.local)) !== null
  );
}

/** The "this" of "this week" owns nothing. */
function isOwner({ forms }: Clause, at: number, { live }: Lexicon): boolean {
  if (!setOf(live.owners).has(forms[at] ?? '')) return false;
  if (phraseAt(forms, at, tableOf(live.now)) !== null) return false;
  return phraseAt(forms, at + 1, tableOf(live.places)) === null;
}
