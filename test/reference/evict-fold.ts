/**
 * Eviction, forks, heads and clears as lists that are filtered: what the real machines are compared with. Slow on
 * purpose, and it remembers nothing but what happened.
 */
import type { Act, Outcome, Refusal, Span, SpanRefusal } from './evict/acts.ts';
import {
  type Fact,
  type ItemFact,
  itemsOf,
  openItem,
  owesResults,
  piecesOf,
  type ResidueBytes,
  sinceCleared,
} from './evict/facts.ts';
import { type ContextPiece, contextOf, indexOf, type TranscriptIndex } from './evict/rows.ts';
import { planSpan, resolveSpan } from './evict/spans.ts';

interface Session {
  readonly facts: readonly Fact[];
  readonly nextItem: number;
}

type NewItem = Pick<ItemFact, 'role' | 'kind' | 'text' | 'bytes' | 'calls'>;

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
          ? this.#open(act.session, { role: 'user', kind: 'own', text: act.text, bytes: act.bytes, calls: 0 })
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
        return this.#evict(act.session, this.resolve(act.session, act.from, act.to), act.note, 'model');
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

  /** The whole of the head since it was cleared. */
  index(session: number): TranscriptIndex {
    return indexOf(this.#at(session).facts);
  }

  /** What the transcript shows of an item, and the session that recorded it first; null for none of this head's. */
  read(session: number, item: number): { readonly text: string; readonly origin: number } | null {
    const found = itemsOf(this.#at(session).facts).find((fact) => fact.item === item);
    return found === undefined ? null : { text: found.text, origin: found.origin };
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
    for (const { promptBytes, answerBytes } of imports) {
      this.#open(session, { role: 'user', kind: 'import', text: '', bytes: promptBytes, calls: 0 });
      this.#open(session, { role: 'assistant', kind: 'import', text: '', bytes: answerBytes, calls: 0 });
      this.#add(session, { fact: 'closed' });
    }
    return { done: true, item: imports.length === 0 ? null : 1, span: null };
  }

  #reply(act: Extract<Act, { do: 'assistant' | 'answer' }>): Outcome {
    if (this.open(act.session) === null) return refused('at_rest');
    if (this.isPending(act.session)) return refused('pending');
    const calls = act.do === 'assistant' ? act.calls : 0;
    const { text, bytes } = act;
    const outcome = this.#open(act.session, { role: 'assistant', kind: 'own', text, bytes, calls });
    if (act.do === 'answer') this.#add(act.session, { fact: 'closed' });
    return outcome;
  }

  #grow(act: Extract<Act, { do: 'results' | 'steer' }>): Outcome {
    const item = this.open(act.session);
    if (act.do === 'results' && !this.isPending(act.session)) return refused('late');
    if (item === null) return refused('at_rest');
    return this.#add(act.session, {
      fact: act.do === 'results' ? 'results' : 'steering',
      item,
      bytes: act.bytes,
    });
  }

  #evict(
    session: number,
    span: Span | SpanRefusal | 'no_plan',
    note: string | null,
    author: 'model' | 'harness',
  ): Outcome {
    if (typeof span === 'string') return refused(span);
    this.#add(session, { fact: 'evicted', from: span.from, to: span.to, note, author });
    return { done: true, item: null, span };
  }

  #goBack(session: number, back: number): Outcome {
    const { facts, nextItem } = this.#at(session);
    const anchor = itemsOf(facts)
      .filter(({ role }) => role === 'user')
      .at(-back);
    if (anchor === undefined || back < 1) return refused('too_far');
    this.#put(session, { facts: facts.slice(0, facts.indexOf(anchor)), nextItem });
    return done();
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
    this.#sessions = [...this.#sessions, { facts: [...inherited, ...left, { fact: 'closed' }], nextItem }];
    return done();
  }

  #open(session: number, item: NewItem): Outcome {
    const { facts, nextItem } = this.#at(session);
    const opened: Fact = { fact: 'item', item: nextItem, origin: session, ...item };
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

function done(): Outcome {
  return { done: true, item: null, span: null };
}

function refused(refusal: Refusal): Outcome {
  return { done: false, refusal };
}
