/** The next act of a script: one that fits where its session stands, or a span that is refused on purpose. */
import type { EvictFold } from '../evict-fold.ts';
import type { Act, ImportedTurn, Span } from './acts.ts';
import type { Random } from './random.ts';

type Kind = Act['do'] | 'refused-span' | 'late-results';
type Weights = Readonly<Partial<Record<Kind, number>>>;

const MOST_SESSIONS = 6;
const MOST_CALLS = 3;
const TRIES = 6;
/** Small items are common; now and then a heavy one outweighs the rest of the history. */
const BYTES = { least: 300, usual: 900, heavy: 6_000, oneIn: 12 } as const;
const NOTES = [null, null, 'the port is 5433', 'grüße – 第三版', 'left off at "step 4"'] as const;

/** Short turns, or their acts would crowd out what happens between turns. */
const AT_REST: Weights = {
  prompt: 42,
  evict: 14,
  'refused-span': 6,
  fork: 10,
  clear: 6,
  checkout: 10,
  reload: 8,
  start: 1,
};
const AWAITING_REPLY: Weights = {
  assistant: 40,
  answer: 14,
  steer: 14,
  'evict-by-harness': 26,
  cancel: 3,
  fork: 3,
  clear: 2,
  reload: 4,
};
const CALLS_PENDING: Weights = {
  results: 44,
  cancel: 22,
  steer: 8,
  fork: 5,
  clear: 6,
  reload: 4,
};
/** Results have just come: what the model asked for with them lands now, or never. */
const JUST_SETTLED: Weights = { ...AWAITING_REPLY, evict: 44, 'refused-span': 20 };
/** A turn ended with calls pending: what they give may still come. */
const JUST_CUT: Weights = { 'late-results': 45, reload: 5, prompt: 50 };
/** What was evicted by force is recorded with the reply to the request without it. */
const JUST_FORCED: Weights = { assistant: 40, answer: 14 };

/** What the act before left to be done. */
export type Mood = 'cut' | 'settled' | 'forced' | null;

/** Where a script stands. `number` makes its texts differ. */
export interface Scene {
  readonly fold: EvictFold;
  readonly session: number;
  readonly mood: Mood;
  readonly number: number;
  readonly random: Random;
}

export function drawAct(scene: Scene): Act {
  return make(drawKind(weightsOf(scene), scene.random), scene) ?? plainly(scene);
}

export function drawImports(random: Random): readonly ImportedTurn[] {
  return Array.from({ length: random.below(4) }, (_, turn) => ({
    prompt: `earlier question ${turn}`,
    promptBytes: drawBytes(random),
    answer: `earlier answer ${turn}`,
    answerBytes: drawBytes(random),
  }));
}

function weightsOf({ fold, session, mood }: Scene): Weights {
  if (mood === 'cut') return JUST_CUT;
  if (mood === 'settled') return JUST_SETTLED;
  if (mood === 'forced') return JUST_FORCED;
  if (fold.isPending(session)) return CALLS_PENDING;
  return fold.open(session) === null ? AT_REST : AWAITING_REPLY;
}

function drawKind(weights: Weights, random: Random): Kind | undefined {
  const kinds = Object.entries(weights).flatMap(([kind, weight]) =>
    Array.from({ length: weight }, () => kind as Kind),
  );
  return random.pick(kinds);
}

/** null where nothing of the kind fits. */
function make(kind: Kind | undefined, scene: Scene): Act | null {
  const { fold, session, number, random } = scene;
  switch (kind) {
    case undefined:
      return null;
    case 'prompt':
      return { do: kind, session, text: `question ${number}`, bytes: drawBytes(random) };
    case 'assistant':
      return {
        do: kind,
        session,
        text: `look ${number}`,
        bytes: drawBytes(random),
        calls: 1 + random.below(MOST_CALLS),
      };
    case 'answer':
      return { do: kind, session, text: `answer ${number}`, bytes: drawBytes(random) };
    case 'results':
    case 'late-results':
      return { do: 'results', session, bytes: drawBytes(random) };
    case 'steer':
      return { do: kind, session, text: `wait ${number}`, bytes: drawBytes(random) };
    case 'evict':
      return evictOf(scene, takenSpan(scene));
    case 'refused-span':
      return evictOf(scene, refusedSpan(scene));
    case 'evict-by-harness':
      return mayForce(scene) ? { do: kind, session } : null;
    case 'checkout':
      return back(scene);
    case 'start':
      return roomFor(fold, { do: kind, session: fold.sessions, imports: drawImports(random) });
    case 'fork':
      return roomFor(fold, { do: kind, session, child: fold.sessions });
    case 'cancel':
    case 'clear':
    case 'reload':
      return { do: kind, session };
  }
}

/** The act that brings a session on, whatever its state. */
function plainly({ fold, session, number, random }: Scene): Act {
  const bytes = drawBytes(random);
  if (fold.isPending(session)) return { do: 'results', session, bytes };
  if (fold.open(session) === null) return { do: 'prompt', session, text: `question ${number}`, bytes };
  return { do: 'answer', session, text: `answer ${number}`, bytes };
}

/** Where the newest reply says how full the window is. Now and then with nothing to take. */
function mayForce({ fold, session, random }: Scene): boolean {
  return fold.isMeasured(session) && (fold.plan(session) !== null || random.below(TRIES) === 0);
}

/** Now and then further than there are turns. */
function back({ fold, session, random }: Scene): Act | null {
  const turns = fold.index(session).items.filter(({ role }) => role === 'user').length;
  const wanted = 1 + random.below(2);
  return wanted > turns && random.below(TRIES) > 0 ? null : { do: 'checkout', session, back: wanted };
}

function roomFor(fold: EvictFold, act: Act): Act | null {
  return fold.sessions < MOST_SESSIONS ? act : null;
}

function evictOf({ session, random }: Scene, span: Span | undefined): Act | null {
  if (span === undefined) return null;
  return { do: 'evict', session, from: span.from, to: span.to, note: random.pick(NOTES) ?? null };
}

/** Ends may lie anywhere, inside a residue too: what is recorded is what they resolve to. */
function takenSpan(scene: Scene): Span | undefined {
  const { fold, session, random } = scene;
  const spans = random.below(3) === 0 ? besideResidue(scene) : someSpans(scene);
  return spans.find(({ from, to }) => typeof fold.resolve(session, from, to) !== 'string');
}

/** Spans that begin where a residue ends: residues come to stand side by side. */
function besideResidue({ fold, session, random }: Scene): readonly Span[] {
  const pieces = fold.context(session);
  const behind = pieces.filter((piece, at) => piece.kind === 'item' && pieces[at - 1]?.kind === 'residue');
  const starts = behind.flatMap((piece) => (piece.kind === 'item' ? [piece.item] : []));
  return starts.map((from) => ({ from, to: from + random.below(TRIES) }));
}

/** Each reason that can be met here is as likely as another. */
function refusedSpan(scene: Scene): Span | undefined {
  const { fold, session, random } = scene;
  const items = fold.index(session).items.map(({ item }) => item);
  const [first = 1, last = 1] = [items.at(0), items.at(-1)];
  const residues = fold.context(session).filter((piece) => piece.kind === 'residue');
  const named: readonly Span[] = [
    ...someSpans(scene),
    ...Array.from({ length: TRIES }, () => random.pick(items) ?? 0).map((item) => ({ from: item, to: item })),
    ...residues.slice(1).map(({ to }, at) => ({ from: residues[at]?.from ?? to, to })),
    { from: last, to: first },
    { from: first, to: last },
    { from: first, to: fold.nextItem(session) + random.below(3) },
    { from: Math.max(0, first - 1), to: last },
  ];
  const refused = named
    .map((span) => ({ span, answer: fold.resolve(session, span.from, span.to) }))
    .filter(({ answer }) => typeof answer === 'string');
  const reason = random.pick([...new Set(refused.map(({ answer }) => answer))]);
  return random.pick(refused.filter(({ answer }) => answer === reason))?.span;
}

function someSpans({ fold, session, random }: Scene): readonly Span[] {
  const items = fold.index(session).items.map(({ item }) => item);
  return Array.from({ length: TRIES }, () => {
    const ends = [random.pick(items) ?? 0, random.pick(items) ?? 0];
    return { from: Math.min(...ends), to: Math.max(...ends) };
  });
}

function drawBytes(random: Random): number {
  const most = random.below(BYTES.oneIn) === 0 ? BYTES.heavy : BYTES.usual;
  return BYTES.least + random.below(most - BYTES.least);
}
