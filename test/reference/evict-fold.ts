/**
 * Eviction, forks, heads and clears as lists that are filtered: what the real machines are compared with. Slow on
 * purpose, and it remembers nothing but what happened.
 */
import type { Act, Filled, Outcome, Refusal, Span, SpanRefusal } from './evict/acts.ts';
import {
  type Fact,
  type ItemFact,
  isTold,
  isUnheard,
  itemsOf,
  measuringReply,
  openItem,
  owesResults,
  piecesOf,
  type ResidueBytes,
  sinceCleared,
} from './evict/facts.ts';
import { type Given, type Message, messagesOf } from './evict/messages.ts';
import { type ContextPiece, contextOf, indexOf, type TranscriptIndex } from './evict/rows.ts';
import { planSpan, resolveSpan } from './evict/spans.ts';
import { reminderOf, textBytes } from './evict/words.ts';

interface Session {
  readonly facts: readonly Fact[];
  readonly nextItem: number;
}

type NewItem = Pick<ItemFact, 'role' | 'kind' | 'text' | 'bytes'> &
  Partial<Pick<ItemFact, 'calls' | 'edits' | 'filled'>>;

/** A family of sessions. A session is known by its index. */
export class EvictFold {
  readonly #residueBytes: ResidueBytes;
  #sessions: readonly Session[] = [];

  constructor(residueBytes: ResidueBytes) {
    this.#residueBytes = residueBytes;
  }

  get sessions(): number {
    return this.#sessions.length;
  }

  /** A refused act changes nothing. */
  apply(act: Act): Outcome {
    if (act.do === 'start') return this.#start(act);
    if (this.#sessions[act.session] === undefined) return refused('no_session');
    switch (act.do) {
      case 'prompt':
      case 'checkout':
        if (this.open(act.session) !== null) return refused('running');
        return act.do === 'prompt'
          ? this.#open(act.session, { role: 'user', kind: 'own', text: act.text, bytes: act.bytes })
          : this.#goBack(act.session, act.back);
      case 'assistant':
      case 'answer':
        return this.#reply(act);
      case 'results':
      case 'steer':
        return this.#grow(act);
      case 'cancel':
        return this.open(act.session) === null
          ? refused('at_rest')
          : this.#add(act.session, { fact: 'closed' });
      case 'evict':
        return this.#evict(
          act.session,
          this.resolve(act.session, act.from, act.to),
          act.note,
          this.open(act.session) === null ? 'operator' : 'model',
        );
      case 'evict-by-harness':
        if (this.isPending(act.session)) return refused('pending');
        return this.#evict(act.session, this.plan(act.session) ?? 'no_plan', null, 'harness');
      case 'clear':
        return this.#add(act.session, { fact: 'cleared' });
      case 'fork':
        return this.#fork(act.session, act.child);
      case 'reload':
        return done();
    }
  }

  /** What a request carries, oldest first. */
  context(session: number): readonly ContextPiece[] {
    return contextOf(this.#at(session).facts, this.#residueBytes);
  }

  /** The same as messages. What a reference cannot know of them is given. */
  messages(session: number, given: Given): readonly Message[] {
    return messagesOf(this.#at(session).facts, given);
  }

  /** Whether the newest reply measured the history as it is. */
  isMeasured(session: number): boolean {
    return measuringReply(this.#at(session).facts) !== null;
  }

  /** Whether it said that its prompt filled the window. */
  isDue(session: number): boolean {
    return measuringReply(this.#at(session).facts)?.filled === true;
  }

  /** The whole of the head since it was cleared. */
  index(session: number): TranscriptIndex {
    return indexOf(this.#at(session).facts);
  }

  /** What the transcript shows of an item, and the session that recorded it first; null for none of this head's. */
  read(session: number, item: number): { readonly text: string; readonly origin: number } | null {
    const found = itemsOf(this.#at(session).facts).find((fact) => fact.item === item);
    return found === undefined ? null : { text: found.text, origin: found.origin };
  }

  /** Whether a fork did not carry the item, which owed results then. */
  isLeftBehind(session: number, item: number): boolean {
    return this.#at(session).facts.some((fact) => fact.fact === 'uncarried' && fact.item === item);
  }

  /** Whether the newest turn that would stay never closed here: a fork found it open. */
  isCutThere(session: number, back: number): boolean {
    const last = this.#staying(session, back)?.at(-1);
    return last?.fact === 'closed' && last.cut === true;
  }

  historyBytes(session: number): number {
    return piecesOf(this.#at(session).facts, this.#residueBytes).reduce((sum, { bytes }) => sum + bytes, 0);
  }

  nextItem(session: number): number {
    return this.#at(session).nextItem;
  }

  /** The span that the harness would take; null for none. */
  plan(session: number): Span | null {
    return planSpan(this.#at(session).facts, this.#residueBytes);
  }

  /** What would be recorded if a model named these ends. */
  resolve(session: number, from: number, to: number): Span | SpanRefusal {
    return resolveSpan(this.#at(session).facts, { from, to }, this.#residueBytes);
  }

  /** The item that still grows; null at rest. */
  open(session: number): number | null {
    return openItem(this.#at(session).facts);
  }

  /** Whether the open item owes results. */
  isPending(session: number): boolean {
    const { facts } = this.#at(session);
    const open = openItem(facts);
    return open !== null && owesResults(facts, open);
  }

  #start({ session, imports }: Extract<Act, { do: 'start' }>): Outcome {
    if (session !== this.#sessions.length) return refused('no_session');
    this.#sessions = [...this.#sessions, { facts: [], nextItem: 1 }];
    for (const { prompt, promptBytes, answer, answerBytes } of imports) {
      this.#open(session, { role: 'user', kind: 'import', text: prompt, bytes: promptBytes });
      this.#open(session, { role: 'assistant', kind: 'import', text: answer, bytes: answerBytes });
      this.#add(session, { fact: 'closed' });
    }
    return { done: true, item: imports.length === 0 ? null : 1, span: null };
  }

  #reply(act: Extract<Act, { do: 'assistant' | 'answer' }>): Outcome {
    if (this.open(act.session) === null) return refused('at_rest');
    if (this.isPending(act.session)) return refused('pending');
    const { session, text, bytes, filled = null } = act;
    const calls = act.do === 'assistant' ? act.calls : 0;
    const edits = act.do === 'assistant' ? (act.edits ?? []) : [];
    const told =
      filled !== null && calls > 0 && !isTold(this.#at(session).facts)
        ? this.#reminder(session, filled)
        : null;
    const isHeard = !isUnheard(this.#at(session).facts);
    const reply = {
      role: 'assistant',
      kind: 'own',
      text,
      bytes,
      calls,
      edits,
      filled: filled !== null,
    } as const;
    const outcome = this.#open(session, reply);
    const item = this.nextItem(session) - 1;
    if (told !== null) this.#add(session, { fact: 'reminder', item, text: told, bytes: textBytes(told) });
    if (act.do === 'answer') this.#add(session, { fact: isHeard ? 'closed' : 'asked' });
    return outcome;
  }

  /** What a full window would lead to, as its request was. */
  #reminder(session: number, filled: Filled): string {
    return reminderOf(filled, this.plan(session));
  }

  #grow(act: Extract<Act, { do: 'results' | 'steer' }>): Outcome {
    const { session, bytes } = act;
    const item = this.open(session);
    if (act.do === 'results' && !this.isPending(session)) return refused('late');
    if (item === null) return refused('at_rest');
    if (act.do === 'steer') return this.#add(session, { fact: 'steering', text: act.text, bytes });
    this.#add(session, { fact: 'results', item, bytes, contents: act.contents ?? [] });
    return this.#add(session, { fact: 'asked' });
  }

  #evict(
    session: number,
    span: Span | SpanRefusal | 'no_plan',
    note: string | null,
    author: 'model' | 'harness' | 'operator',
  ): Outcome {
    if (typeof span === 'string') return refused(span);
    this.#add(session, { fact: 'evicted', from: span.from, to: span.to, note, author });
    return { done: true, item: null, span };
  }

  #goBack(session: number, back: number): Outcome {
    const stays = this.#staying(session, back);
    if (stays === null) return refused('too_far');
    this.#put(session, { facts: stays, nextItem: this.nextItem(session) });
    return done();
  }

  /** What was done up to the end of the newest turn that stays; null where there are fewer turns. */
  #staying(session: number, back: number): readonly Fact[] | null {
    const { facts } = this.#at(session);
    const anchor = itemsOf(facts)
      .filter(({ role }) => role === 'user')
      .at(-back);
    if (anchor === undefined || back < 1) return null;
    const before = facts.slice(0, facts.indexOf(anchor));
    const end = before.findLastIndex(({ fact }) => fact === 'closed' || fact === 'cleared');
    return before.slice(0, end + 1);
  }

  #fork(session: number, child: number): Outcome {
    if (child !== this.#sessions.length) return refused('no_session');
    const { facts, nextItem } = this.#at(session);
    const open = openItem(facts);
    const inherited = sinceCleared(facts).map(
      (fact): Fact => (fact.fact === 'item' ? { ...fact, kind: 'inherited' } : fact),
    );
    const left: readonly Fact[] =
      open !== null && owesResults(facts, open) ? [{ fact: 'uncarried', item: open }] : [];
    this.#sessions = [
      ...this.#sessions,
      { facts: [...inherited, ...left, ...(open === null ? [] : [CUT])], nextItem },
    ];
    return done();
  }

  #open(session: number, item: NewItem): Outcome {
    const { facts, nextItem } = this.#at(session);
    const opened: Fact = { fact: 'item', item: nextItem, origin: session, ...NO_CALLS, ...item };
    this.#put(session, { facts: [...facts, opened], nextItem: nextItem + 1 });
    return { done: true, item: nextItem, span: null };
  }

  #add(session: number, fact: Fact): Outcome {
    const { facts, nextItem } = this.#at(session);
    this.#put(session, { facts: [...facts, fact], nextItem });
    return done();
  }

  #put(session: number, next: Session): void {
    this.#sessions = this.#sessions.with(session, next);
  }

  #at(session: number): Session {
    const found = this.#sessions[session];
    if (found === undefined) throw new Error(`There is no session ${session}.`);
    return found;
  }
}

const CUT: Fact = { fact: 'closed', cut: true };
const NO_CALLS = { calls: 0, edits: [], filled: false } as const;

function done(): Outcome {
  return { done: true, item: null, span: null };
}

function refused(refusal: Refusal): Outcome {
  return { done: false, refusal };
}
