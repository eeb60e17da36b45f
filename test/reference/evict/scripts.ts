/**
 * Random lives of a family of sessions. A seed gives the same script for ever. The reference runs along as a script is
 * written, so that acts fit where their sessions stand and refusals are meant.
 */
import { EvictFold } from '../evict-fold.ts';
import type { Act, Outcome } from './acts.ts';
import { drawAct, drawImports, type Mood } from './draws.ts';
import { type Random, randomOf } from './random.ts';

export type Script = readonly Act[];

/** What no family of scripts may be poor in. An act is of one class at most, and of none when nothing came of it. */
export const SCRIPT_CLASSES = [
  'evicted-by-model',
  'evicted-by-operator',
  'evicted-by-harness',
  'fork',
  'clear',
  'steer',
  'cancelled-mid-call',
  'reload',
  /** An edit that names what may not leave. */
  'refused',
  /** Results of calls that a cancel or a clear had ended. */
  'late-results',
  'checkout',
] as const;
export type ScriptClass = (typeof SCRIPT_CLASSES)[number];

const FEWEST_ACTS = 20;
const MOST_ACTS = 80;

/** A guess of what a residue weighs: a script says what is tried, and stays good whatever one really weighs. */
const guessedBytes = (_from: number, _to: number, note: string | null) => 300 + (note?.length ?? 0);

export function writeScript(seed: number): Script {
  const random = randomOf(seed);
  const fold = new EvictFold(guessedBytes);
  const length = FEWEST_ACTS + random.below(MOST_ACTS - FEWEST_ACTS + 1);
  const first: Act = { do: 'start', session: 0, imports: drawImports(random) };
  fold.apply(first);
  const script: Act[] = [first];
  let session = 0;
  let mood: Mood = null;
  while (script.length < length || mood === 'forced') {
    const act = drawAct({ fold, session, mood, number: script.length, random });
    const wasPending = fold.isPending(session);
    const outcome = fold.apply(act);
    mood = moodAfter(act, { wasPending, done: outcome.done, before: mood });
    script.push(act);
    session = mood === null ? nextSession(act, session, fold.sessions, random) : session;
  }
  return script;
}

function moodAfter(
  act: Act,
  {
    wasPending,
    done,
    before,
  }: { readonly wasPending: boolean; readonly done: boolean; readonly before: Mood },
): Mood {
  if (endsTurn(act)) return wasPending ? 'cut' : null;
  if (act.do === 'evict-by-harness') return done ? 'forced' : null;
  if (act.do === 'results') return done ? 'settled' : null;
  return act.do === 'evict' ? before : null;
}

/** One act a line, as JSON. */
export function printScript(script: Script): string {
  return script.map((act) => JSON.stringify(act)).join('\n');
}

/** How many of its acts are of each class, as the reference takes them. */
export function countClasses(script: Script): Readonly<Record<ScriptClass, number>> {
  const fold = new EvictFold(guessedBytes);
  const classes = script.map((act) => {
    return classOf(act, standingOf(act, fold), fold.apply(act));
  });
  const counts = SCRIPT_CLASSES.map((wanted) => [wanted, classes.filter((found) => found === wanted).length]);
  return Object.fromEntries(counts) as Record<ScriptClass, number>;
}

/** What a class hangs on beside the act and its outcome, before it. */
interface Standing {
  readonly midCall: boolean;
  readonly atRest: boolean;
}

export function standingOf(act: Act, fold: EvictFold): Standing {
  if (act.do === 'start') return { midCall: false, atRest: true };
  return {
    midCall: endsTurn(act) && fold.isPending(act.session),
    atRest: fold.open(act.session) === null,
  };
}

export function classOf(act: Act, { midCall, atRest }: Standing, outcome: Outcome): ScriptClass | null {
  switch (act.do) {
    case 'evict':
      if (!outcome.done) return 'refused';
      return atRest ? 'evicted-by-operator' : 'evicted-by-model';
    case 'evict-by-harness':
      return outcome.done ? 'evicted-by-harness' : 'refused';
    case 'results':
      return outcome.done ? null : 'late-results';
    case 'cancel':
      return midCall ? 'cancelled-mid-call' : null;
    case 'fork':
    case 'clear':
    case 'steer':
    case 'reload':
    case 'checkout':
      return outcome.done ? act.do : null;
    default:
      return null;
  }
}

function endsTurn(act: Act): boolean {
  return act.do === 'cancel' || act.do === 'clear';
}

/** Mostly the same goes on; every other fork is followed, so that forks of forks of forks come about. */
function nextSession(act: Act, session: number, sessions: number, random: Random): number {
  if (act.do === 'fork' && random.below(2) === 0) return act.child;
  return random.below(9) === 0 ? random.below(sessions) : session;
}
