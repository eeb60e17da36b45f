/** What users ask, with the facts that stand behind it: each answer is known before it is asked for. */
import { draw } from '../../src/sim/random.ts';
import { DEPTH_TOOL, ONCE_TOOL } from './tools.ts';

export const QUESTION_KINDS = ['boat', 'two boats', 'depth', 'bell'] as const;
const ORDERS = ['depth', 'bell'] as const;
export type QuestionKind = (typeof QUESTION_KINDS)[number];

export interface Question {
  readonly kind: QuestionKind;
  readonly text: string;
  /** Every text that an undisturbed run may answer with. */
  readonly answers: readonly string[];
}

/** Note and boat. Words throughout: a number in a question may also stand in the clock the model is told. */
const BOATS = [
  ['alder', 'Wigeon'],
  ['birch', 'Plover'],
  ['cedar', 'Curlew'],
  ['dogwood', 'Dunlin'],
  ['elm', 'Garganey'],
  ['hazel', 'Pochard'],
  ['juniper', 'Whimbrel'],
  ['larch', 'Gadwall'],
  ['maple', 'Sanderling'],
  ['rowan', 'Turnstone'],
] as const;

const SYLLABLES = ['ba', 'de', 'fi', 'go', 'hu', 'ka', 'le', 'mi', 'no', 'pu'] as const;

export function noteFiles(): Readonly<Record<string, string>> {
  return Object.fromEntries(BOATS.map(([note, boat]) => [`${note}.md`, textOf(note, boat)]));
}

/**
 * The same seed, user and number make the same question; no two questions of a run share a text. A user whose
 * turns soon leave the request for a packet only orders: the model would answer from what the packet quotes.
 */
export function questionOf(seed: number, user: number, n: number, ordersOnly: boolean): Question {
  const kind = pick(ordersOnly ? ORDERS : QUESTION_KINDS, draw(seed, 'question', user, n));
  const round = `Round ${spelt(user)} ${spelt(n)}`;
  const at = Math.floor(draw(seed, 'note', user, n) * BOATS.length);
  const [note, boat] = BOATS[at] ?? BOATS[0];
  switch (kind) {
    case 'boat':
      return {
        kind,
        text: `${round}: read ${note}.md and tell me the name of the ${note} boat.`,
        answers: [quoted(note, boat)],
      };
    case 'two boats': {
      const [other, second] = BOATS[(at + 1) % BOATS.length] ?? BOATS[0];
      return {
        kind,
        text: `${round}: read ${note}.md and ${other}.md and tell me the names of the ${note} boat and the ${other} boat.`,
        answers: [
          `${quoted(note, boat)} ${quoted(other, second)}`,
          `${quoted(other, second)} ${quoted(note, boat)}`,
        ],
      };
    }
    case 'depth':
      return order(`${round}: call the ${DEPTH_TOOL} tool.`, kind);
    case 'bell':
      return order(`${round}: call the ${ONCE_TOOL} tool.`, kind);
  }
}

/** No question: the model acknowledges it, whatever came of the call. */
function order(text: string, kind: QuestionKind): Question {
  return { kind, text, answers: [`Noted: ${text}`] };
}

function textOf(note: string, boat: string): string {
  return `# The ${note} note\n\n${sentence(note, boat)}\n`;
}

function sentence(note: string, boat: string): string {
  return `The ${note} boat has the name ${boat}.`;
}

function quoted(note: string, boat: string): string {
  return `In ${note}.md: ${sentence(note, boat)}`;
}

function spelt(n: number): string {
  return [...String(n)].map((digit) => SYLLABLES[Number(digit)]).join('');
}

function pick<T>(list: readonly [T, ...T[]], at: number): T {
  return list[Math.floor(at * list.length)] ?? list[0];
}
