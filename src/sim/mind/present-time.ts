/** Whether a value is asked for as it stands now, out in the world: what earlier text says of it may be stale. */
import { asksSomething } from './conversation.ts';
import { shapesOf } from './terms.ts';

const SIGNAL =
  /\b(?:right now|now(?=\s*$)|currently|current(?=\s+\p{L})(?!\s+(?:through|of|in|at|from|is)\b)|newest|as of (?:now|today)|today|tonight|this (?:morning|week)|latest|real[- ]time|at the moment|up[- ]to[- ]date|live(?=\s+(?:scores?|prices?|feeds?|status|rates?|results?|figures?|data|values?|quotes?|readings?|odds|standings?|traffic)\b))\b/giu;
/** The words of the signals: they say when, not what. */
const TIME_WORDS: ReadonlySet<string> = new Set(
  'right now currently current newest today tonight morning week latest real time real-time moment date up-to-date live'.split(
    ' ',
  ),
);
const OTHER_TIME =
  /\b(?:yesterday|tomorrow|ago|back then|at the time|earlier|previously|(?:last|next|past) (?:night|week|month|quarter|year|time|spring|summer|autumn|winter)|(?:in|since|during|until|from) (?:1[5-9]|20)\d\d)\b/i;
/** What stands here and not out in the world. */
const LOCAL: ReadonlySet<string> = new Set(
  `directory directories folder folders file files path branch branches commit commits workspace repository repo code
  codebase page pages tab tabs session sessions plan plans config configuration setting settings build builds test tests
  server servers mode task tasks todo todos inbox memory function functions class classes method methods variable
  variables parser schema module modules package script scripts line lines section paragraph draft drafts document
  documents note notes summary turn turns answer answers message messages conversation chat prompt context user
  time project issue ticket tickets diff log logs job jobs implementation
  you your yours`.split(/\s+/),
);
const CLOSED =
  /^(?:of|in|on|for|at|is|are|was|were|do|does|did|and|or|to|with|from|by|as|that|which|who|than|has|have)$/i;
/** A question about whoever is asked; `do you know the current …` is none. */
const OF_THE_ASKED =
  /\b(?:are|were|do|did|have|had) (?:you|we|i)\b(?!\s+(?:know|see|happen|find|tell|think))/i;
const WH_OBJECT = /\b(?:what|which|whose|how many|how much)\s+(?:of\s+(?:my|the|your|our)\s+)?([\p{L}-]+)/iu;
const WANTS = /^\s*(?:the\s+)?(?:latest|current|live|today)\b|\b(?:need|want)\b/i;
const CHANGE_VERBS =
  'update|write|create|edit|fix|add|change|rename|delete|remove|set|send|deploy|save|replace|move|refactor|append|insert|make|draft|publish|bump|install|run|start|stop|restart|schedule|record|store|correct|clean|convert';
const ORDERS_CHANGE = new RegExp(
  `^\\s*(?:(?:please|now|then|also|can you|could you|would you)[\\s,]+){0,3}(?:${CHANGE_VERBS})\\b`,
  'i',
);
const SPEAKS_OF_CHANGE = new RegExp(`\\b(?:${CHANGE_VERBS})\\b`, 'i');
const PHRASE_WORDS = 4;
const PRECEDING_WORDS = 2;

/** `asked`: the ends of the directive, as `endsOf` cuts them. */
export function asksForPresent(asked: string): boolean {
  if (!asksSomething(asked) && !WANTS.test(asked)) return false;
  if (ORDERS_CHANGE.test(asked) || OF_THE_ASKED.test(asked)) return false;
  const { files, globs } = shapesOf(asked);
  if (files.length > 0 || globs.length > 0) return false;
  return clausesOf(asked).some((clause) => [...clause.matchAll(SIGNAL)].some((at) => isOutside(clause, at)));
}

/** A word of the runtime that wants a value as it stands now makes any question one of that kind. */
export function speaksOfPresent(correction: string): boolean {
  return /\bcurrent value\b|\bas (?:it|things) stands? now\b|\bright now\b/i.test(correction);
}

/** Words that only say when. */
export function isTimeWord(word: string): boolean {
  return TIME_WORDS.has(word.toLowerCase());
}

/** Whether something is to be different afterwards. */
export function speaksOfChange(asked: string): boolean {
  return SPEAKS_OF_CHANGE.test(asked);
}

function clausesOf(text: string): readonly string[] {
  return text.split(/[.?!;:\n]+(?=\s|$)/);
}

function isOutside(clause: string, signal: RegExpExecArray): boolean {
  if (OTHER_TIME.test(clause)) return false;
  const object = WH_OBJECT.exec(clause)?.[1]?.toLowerCase();
  if (object !== undefined && LOCAL.has(object)) return false;
  const before = wordsOf(clause.slice(0, signal.index)).slice(-PRECEDING_WORDS);
  if (before.some((word) => LOCAL.has(word))) return false;
  const after = wordsOf(clause.slice(signal.index + signal[0].length)).slice(0, PHRASE_WORDS);
  const end = after.findIndex((word) => CLOSED.test(word));
  return !after.slice(0, end === -1 ? undefined : end).some((word) => LOCAL.has(word));
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}-]+/gu) ?? [];
}
