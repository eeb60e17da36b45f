/** One script, played by the reference and by the real machines at once: after every act both stand the same. */
import { historyBytes, piecesOf } from '../../../../src/context/evict/pieces.ts';
import { planSpan } from '../../../../src/context/evict/plan.ts';
import { resolveSpan } from '../../../../src/context/evict/resolve.ts';
import { canonicalJson } from '../../../../src/ledger/json.ts';
import type { HeadItems } from '../../../../src/runtime/head-items.ts';
import type { Act, AskedEdit, Outcome, Span, SpanRefusal } from '../../../reference/evict/acts.ts';
import { type Given, promptBytes, replyMessages, TOOL, weigh } from '../../../reference/evict/messages.ts';
import { randomOf } from '../../../reference/evict/random.ts';
import {
  classOf,
  printScript,
  type Script,
  type ScriptClass,
  standingOf,
} from '../../../reference/evict/scripts.ts';
import { residueOf, textBytes } from '../../../reference/evict/words.ts';
import { EvictFold } from '../../../reference/evict-fold.ts';
import { blocksOf, type Reading, RealFamily } from './family.ts';

/** What a model reports where its prompt fills the window, and where it does not. */
const FILLED_TOKENS = 5_000_000;
const SMALL_TOKENS = 10;
const LABEL_CHARS = 50;
/** Spans that are asked about after each act, of each session. */
const ASKED_SPANS = 3;

export interface Played {
  readonly acts: number;
  readonly classes: Readonly<Partial<Record<ScriptClass | 'told' | 'compared afresh' | 'unforced', number>>>;
}

/** @throws Error with the script where the two differ. */
export async function play(script: Script, seed: number): Promise<Played> {
  const match = new Match(script, seed);
  for (const at of script.keys()) {
    try {
      await match.act(at);
    } catch (error) {
      const where = `seed ${seed}, act ${at + 1} of\n${printScript(script.slice(0, at + 1))}`;
      throw new Error(`${error instanceof Error ? error.message : String(error)}\n${where}`, {
        cause: error,
      });
    }
  }
  return match.played();
}

type Replying = Extract<Act, { do: 'assistant' | 'answer' }>;

class Match {
  readonly #script: Script;
  readonly #real = new RealFamily();
  readonly #fold = new EvictFold((from, to, note) => textBytes(residueOf({ from, to, note })));
  readonly #random: ReturnType<typeof randomOf>;
  readonly #tails = new Map<string, string | null>();
  readonly #ids = new Map<string, string>();
  /** To the edits of the batch that settled last, those not looked at yet. */
  #answers: string[] = [];
  readonly #classes = new Map<keyof Played['classes'], number>();

  constructor(script: Script, seed: number) {
    this.#script = script;
    this.#random = randomOf(seed ^ 0x5eed);
  }

  played(): Played {
    return { acts: this.#script.length, classes: Object.fromEntries(this.#classes) };
  }

  async act(at: number): Promise<void> {
    const act = this.#script[at];
    if (act === undefined) return;
    const standing = standingOf(act, this.#fold);
    const outcome = await this.#both(act, at);
    const kind = outcome === null ? null : classOf(act, standing, outcome);
    if (kind !== null) this.#count(kind);
    if (act.do === 'evict-by-harness') return;
    // What was asked for in one batch lands at once.
    const next = this.#script[at + 1];
    if (next?.do === 'evict' && next.session === act.session && !standing.atRest && this.#isLanding(at))
      return;
    for (const session of touched(act)) await this.#compare(session, act.do === 'reload' ? 'fresh' : 'live');
    if (act.do === 'fork') await this.#compare(act.child, 'fresh');
    if (at === this.#script.length - 1)
      for (let session = 0; session < this.#fold.sessions; session++) await this.#compare(session, 'fresh');
  }

  #isLanding(at: number): boolean {
    const kind = this.#script[at]?.do;
    return kind === 'results' || kind === 'evict';
  }

  /** null where the real machines cannot be brought to do it. */
  async #both(act: Act, at: number): Promise<Outcome | null> {
    const { session } = act;
    switch (act.do) {
      case 'start':
        return this.#start(act);
      case 'prompt':
        return this.#prompt(session, textOf(act.text, act.bytes));
      case 'steer': {
        const text = textOf(act.text, act.bytes);
        await this.#real.steer(session, text);
        return this.#fold.apply({ ...act, text, bytes: textBytes(text) });
      }
      case 'assistant':
      case 'answer':
        return this.#reply(act, at);
      case 'results':
        return this.#results(act);
      case 'evict':
        return this.#evict(act);
      case 'evict-by-harness':
        return this.#force(act, at);
      case 'checkout': {
        const isCut = this.#fold.isCutThere(session, act.back);
        const went = await this.#real.back(session, act.back);
        // A turn that was open at a fork is no place to go back to.
        const outcome: Outcome = isCut ? { done: false, refusal: 'too_far' } : this.#fold.apply(act);
        same('whether it went back', went, outcome.done);
        return outcome;
      }
      case 'cancel':
        await this.#real.cancel(session);
        return this.#fold.apply(act);
      case 'clear':
        await this.#real.clear(session);
        return this.#fold.apply(act);
      case 'fork':
        await this.#real.fork(session);
        return this.#fold.apply(act);
      case 'reload':
        this.#real.restart();
        return this.#fold.apply(act);
    }
  }

  async #start(act: Extract<Act, { do: 'start' }>): Promise<Outcome> {
    const { session } = act;
    const said = act.imports.map(({ prompt, promptBytes: bytes, answer, answerBytes }) => ({
      prompt: textOf(prompt, bytes),
      answer: textOf(answer, answerBytes),
    }));
    await this.#real.start(said);
    const reading = await this.#real.read(session);
    const imports = said.map(({ prompt, answer }, turn) => {
      const tail = this.#tailOf(session, 2 * turn + 1, reading);
      return { prompt, promptBytes: promptBytes(prompt, tail), answer, answerBytes: textBytes(answer) };
    });
    return this.#fold.apply({ ...act, imports });
  }

  /** What an item was sent under, as it stands from its first request on. */
  #tailOf(session: number, item: number, { items }: Reading): string | null {
    const [first, second] = items.pieceOf(item).messages[0]?.content ?? [];
    const tail = second !== undefined && first?.type === 'text' ? first.text : null;
    this.#tails.set(`${session}:${item}`, tail);
    return tail;
  }

  async #prompt(session: number, text: string): Promise<Outcome> {
    await this.#real.prompt(session, text);
    const item = this.#fold.nextItem(session);
    const tail = this.#tailOf(session, item, await this.#real.read(session));
    return this.#fold.apply({ do: 'prompt', session, text, bytes: promptBytes(text, tail) });
  }

  async #reply(act: Replying, at: number): Promise<Outcome> {
    const { session } = act;
    const calls = act.do === 'assistant' ? act.calls : 0;
    const edits = act.do === 'assistant' ? editsAfter(this.#script, at) : [];
    const text = textOf(act.text, act.bytes);
    const fills = isForcedNext(this.#script, at);
    const made = [
      ...Array.from({ length: calls }, (_, part) => ({ name: TOOL, args: { part } })),
      ...edits.map(({ from, to, note }) => ({
        name: 'context',
        args: { op: 'evict', from, to, ...(note === null ? {} : { note }) },
      })),
    ];
    if (this.#fold.isDue(session)) this.#fold.apply({ do: 'evict-by-harness', session });
    const item = this.#fold.nextItem(session);
    const expected = this.#fold.messages(session, this.#given);
    await this.#real.reply(session, {
      content: blocksOf(text, made),
      inputTokens: fills ? FILLED_TOKENS : SMALL_TOKENS,
    });
    sameMessages('the request', this.#real.model.asked.at(-1)?.messages ?? [], expected);
    const { open } = await this.#real.read(session);
    const first = open?.steps.at(-1)?.content.find(({ type }) => type === 'tool_call');
    const ids = first?.type === 'tool_call' ? first.id.slice(0, -1) : '';
    this.#ids.set(`${session}:${item}`, ids);
    const bytes = weigh(replyMessages({ item, text, calls, edits, ids, contents: null }));
    const filled = fills ? { filled: { used: FILLED_TOKENS, limit: open?.plan?.limitTokens ?? 0 } } : {};
    const outcome = this.#fold.apply(
      act.do === 'answer' ? { ...act, text, bytes, ...filled } : { ...act, text, bytes, edits, ...filled },
    );
    const told = open?.pressures.at(-1);
    if (told !== undefined && open?.steps.at(-1)?.step === told.step) this.#count('told');
    return outcome;
  }

  async #results(act: Extract<Act, { do: 'results' }>): Promise<Outcome> {
    const { session } = act;
    const contents = Array.from({ length: 3 }, (_, part) => textOf(`part ${part}`, act.bytes / 3));
    const before = await this.#real.read(session);
    await this.#real.results(session, contents);
    if (!this.#fold.isPending(session)) return this.#fold.apply(act);
    const { open } = await this.#real.read(session);
    const step = open?.steps.find((one) => one.step === before.open?.steps.at(-1)?.step);
    if (step === undefined) throw new Error('the step is gone');
    const found = [...step.results.values()].toSorted((one, other) => one.index - other.index);
    const edits = found.filter(({ name }) => name !== TOOL).map(({ content }) => content);
    const calls = found.length - edits.length;
    const all = [...contents.slice(0, calls), ...edits];
    this.#answers = [...edits];
    const asked = askedOf(step.content);
    const parts = { item: step.item, text: '', calls, edits: asked, ids: '' };
    const bytes =
      weigh(replyMessages({ ...parts, contents: all })) - weigh(replyMessages({ ...parts, contents: null }));
    return this.#fold.apply({ ...act, bytes, contents: all });
  }

  async #evict(act: Extract<Act, { do: 'evict' }>): Promise<Outcome> {
    const { session, from, to, note } = act;
    const { items, open } = await this.#real.read(session);
    const made = this.#fold.index(session).evictions.length;
    const expected = this.#likeReal(session, act, this.#fold.resolve(session, from, to));
    const refusal = typeof expected === 'string' ? expected : null;
    if (open === null) {
      same('what an edit comes to', resolved(items, act), expected);
      same('whether the operator may', await this.#real.evict(session, { from, to, note }), refusal === null);
    } else {
      // The real machines answered all edits of the batch at once.
      same('what the model is told', refusalIn(this.#answers.shift() ?? ''), refusal);
      const { from: first = null, to: last = null } = items.table.evictions[made] ?? {};
      if (refusal === null) same('what is recorded', { from: first, to: last }, expected);
    }
    return refusal === null ? this.#fold.apply(act) : { done: false, refusal };
  }

  async #force(act: Extract<Act, { do: 'evict-by-harness' }>, at: number): Promise<Outcome | null> {
    const { session } = act;
    // It is recorded with the reply to the request without it.
    const next = this.#script[at + 1];
    const isAnswered = next?.session === session && (next.do === 'assistant' || next.do === 'answer');
    if (isAnswered && this.#fold.isDue(session)) return this.#fold.apply(act);
    this.#count('unforced');
    return null;
  }

  async #compare(session: number, through: 'live' | 'fresh'): Promise<void> {
    const reading = await this.#real.read(session, through);
    if (through === 'fresh') this.#count('compared afresh');
    const { table } = reading.items;
    const fold = this.#fold;
    sameMessages(
      `the context of ${session}, ${through}`,
      reading.messages,
      fold.messages(session, this.#given),
    );
    same('its pieces', piecesOf(table).map(shown), fold.context(session).map(shown));
    same('its evictions', table.evictions.map(evictionRow), fold.index(session).evictions.map(evictionRow));
    this.#compareRows(session, reading);
    if (through === 'fresh') await this.#compareIndex(session);
    same('its bytes', historyBytes(piecesOf(table)), fold.historyBytes(session));
    same('the next number', reading.session.nextItem, fold.nextItem(session));
    same('what is open', table.open, fold.open(session));
    if (!fold.isPending(session))
      same('the plan', planSpan(table, reading.open?.item ?? null), fold.plan(session));
    for (let asked = 0; asked < ASKED_SPANS; asked++) this.#compareSpan(session, reading);
    if (this.#real.errors.length > 0) throw this.#real.errors[0];
  }

  #compareSpan(session: number, { items, session: { nextItem } }: Reading): void {
    const ends = [this.#random.below(nextItem + 1), this.#random.below(nextItem + 1)] as const;
    const [from, to] = this.#random.below(12) === 0 ? ends : [Math.min(...ends), Math.max(...ends)];
    const expected = this.#likeReal(session, { from, to }, this.#fold.resolve(session, from, to));
    same(`what #${from} to #${to} comes to`, resolved(items, { from, to }), expected);
  }

  /** An item that a fork left behind can be read, and is nothing that a request could go without. */
  #likeReal(session: number, { from, to }: Span, answer: Span | SpanRefusal): Span | SpanRefusal {
    if (from > to) return answer;
    const { items, evictions } = this.#fold.index(session);
    const isOff = (end: number) =>
      this.#fold.isLeftBehind(session, end) && !evictions.some((span) => span.from <= end && end <= span.to);
    if (items.every(({ item }) => isOff(item))) return 'empty';
    return isOff(from) || isOff(to) ? 'never_recorded' : answer;
  }

  async #compareIndex(session: number): Promise<void> {
    const { items, evictions } = await this.#real.index(session);
    const expected = this.#fold.index(session);
    // What a fork left behind left no request by an edit.
    const held = (item: number, one: string) => (this.#fold.isLeftBehind(session, item) ? '' : one);
    const row = (one: {
      readonly item: number;
      readonly role: string;
      readonly kind: string;
      readonly held: string;
    }) => [one.item, one.role, one.kind, held(one.item, one.held)].join(' ');
    same('the index', items.map(row), expected.items.map(row));
    same('the evictions of the index', evictions.map(evictionRow), expected.evictions.map(evictionRow));
  }

  /** Every row that is there, and no resident item without one. */
  #compareRows(session: number, { items: { table } }: Reading): void {
    const { items } = this.#fold.index(session);
    const expected = items.map(({ item, role, kind }) => {
      const text = this.#fold.read(session, item)?.text ?? '';
      return { item, role, kind, label: text.slice(0, LABEL_CHARS).trimEnd() };
    });
    const found = table.items.map(({ item, role, kind, label }) => ({ item, role, kind, label }));
    same(
      'its items',
      found,
      expected.filter(({ item }) => found.some((row) => row.item === item)),
    );
    const resident = items.filter(({ held }) => held === 'resident').map(({ item }) => item);
    same(
      'its resident items',
      resident.filter((item) => !found.some((row) => row.item === item)),
      [],
    );
  }

  readonly #given: Given = {
    tail: (origin, item) => this.#tails.get(`${origin}:${item}`) ?? null,
    ids: (origin, item) => this.#ids.get(`${origin}:${item}`) ?? '',
  };

  #count(what: keyof Played['classes']): void {
    this.#classes.set(what, (this.#classes.get(what) ?? 0) + 1);
  }
}

function touched(act: Act): readonly number[] {
  return [act.session];
}

/** A text of about so many bytes that no other act of its script has. */
function textOf(text: string, bytes: number): string {
  const word = ` of ${text.replaceAll(' ', '-')}`;
  return `${text}${word.repeat(Math.ceil(Math.max(0, bytes - text.length) / word.length))}`;
}

/** The edits that a message asks for: those that stand right behind its results. */
function editsAfter(script: Script, at: number): readonly AskedEdit[] {
  const { session } = script[at] ?? { session: -1 };
  const settled = script.findIndex(
    (act, place) => place > at && act.session === session && ['results', 'cancel', 'clear'].includes(act.do),
  );
  if (settled === -1 || script[settled]?.do !== 'results') return [];
  const edits: AskedEdit[] = [];
  for (const act of script.slice(settled + 1)) {
    if (act.do !== 'evict' || act.session !== session) break;
    edits.push({ from: act.from, to: act.to, note: act.note });
  }
  return edits;
}

/** Whether the request of the session's next reply is cut, and nothing changes what this reply says of it before. */
function isForcedNext(script: Script, at: number): boolean {
  const { session } = script[at] ?? { session: -1 };
  const next = script
    .slice(at + 1)
    .find(
      (act) =>
        act.session === session && !['results', 'steer', 'cancel', 'prompt', 'reload'].includes(act.do),
    );
  return next?.do === 'evict-by-harness';
}

function resolved({ table }: HeadItems, asked: Span): unknown {
  const found = resolveSpan(table, { from: asked.from, to: asked.to });
  return found.ok ? found.span : found.reason;
}

/** By what tells each answer of a refused edit from the others. */
const REFUSED: Readonly<Record<SpanRefusal, string>> = {
  backwards: 'must not be larger',
  empty: 'nothing has been recorded',
  never_recorded: 'here. The highest number is',
  open: 'is still open, and an eviction',
  gone: 'left the context earlier',
  only_residues: 'only evicted spans',
  survivor: 'cannot go',
};

function refusalIn(answer: string): string | null {
  if (answer.startsWith('Context: ')) return null;
  const [found] = Object.entries(REFUSED).filter(([, words]) => answer.includes(words));
  return found?.[0] ?? answer;
}

function askedOf(content: readonly { readonly type: string }[]): readonly AskedEdit[] {
  return content.flatMap((block) => {
    if (block.type !== 'tool_call' || !('args' in block) || !('name' in block) || block.name === TOOL)
      return [];
    const { from, to, note = null } = block.args as { from: number; to: number; note?: string | null };
    return [{ from, to, note }];
  });
}

function shown(piece: { readonly kind: string }): unknown {
  if ('row' in piece) return (piece.row as { readonly item: number }).item;
  if ('item' in piece) return piece.item;
  const { from, to, note } = ('eviction' in piece ? piece.eviction : piece) as AskedEdit;
  return { from, to, note };
}

function evictionRow({ from, to, note, author }: AskedEdit & { readonly author: string }): unknown {
  return { from, to, note, author };
}

function same(what: string, found: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
  if (one !== other) throw new Error(`${what} differs:\n  real      ${one}\n  reference ${other}`);
}

function sameMessages(what: string, found: readonly unknown[], expected: readonly unknown[]): void {
  const differs = Math.max(found.length, expected.length);
  for (let at = 0; at < differs; at++) {
    const [one, other] = [found[at], expected[at]].map((message) =>
      message === undefined ? '(none)' : canonicalJson(message),
    );
    if (one !== other) throw new Error(`${what} differs at message ${at}:\n${apart(one ?? '', other ?? '')}`);
  }
}

/** Where two texts part. */
function apart(one: string, other: string): string {
  const at = [...one].findIndex((character, place) => character !== other[place]);
  const from = Math.max(0, at - 60);
  return `  real      …${one.slice(from, from + 300)}\n  reference …${other.slice(from, from + 300)}`;
}
