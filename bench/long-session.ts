/** Sessions of many turns, each about something of its own: what plans and recalls are measured on. */
import { draw } from '../src/sim/random.ts';
import type { TurnSaid } from '../test/support/conversation.ts';

const SYLLABLES = 'ba ke di lo mu ra se ti no va zu pe ga ri fo ne'.split(' ');
const QUALITIES = ['registry number', 'opening year', 'depth in metres', 'count of windows', 'toll in pence'];
const REMARKS = [
  'The keeper wrote it down in the spring and signed it.',
  'Two witnesses were there and agreed with each other.',
  'Nothing else of note was found on that page.',
  'The ink is faded, but the figures can be read.',
];
const REMARK_COUNT = 9;
/** Every so many turns look something up; every so many read a file. */
const TOOL_EVERY = 3;
const FILE_EVERY = 7;

/** A made-up name, such as `Kedilo`. */
function nameOf(seed: number, n: number): string {
  const parts = [0, 1, 2].map(
    (at) => SYLLABLES[Math.floor(draw(seed, 'name', n, at) * SYLLABLES.length)] ?? '',
  );
  const name = `${parts.join('')}${n.toString(36)}`;
  return name.charAt(0).toUpperCase() + name.slice(1);
}

export interface Fact {
  readonly question: string;
  readonly statement: string;
  /** What an answer must hold. */
  readonly value: string;
}

export function factOf(seed: number, n: number): Fact {
  const quality = QUALITIES[Math.floor(draw(seed, 'quality', n) * QUALITIES.length)] ?? '';
  const name = nameOf(seed, n);
  const value = String(10_000 + Math.floor(draw(seed, 'value', n) * 90_000));
  return {
    question: `What is the ${quality} of ${name}?`,
    statement: `The ${quality} of ${name} is ${value}.`,
    value,
  };
}

/** Turn `n` of a session: its user says a fact, or asks for one that a tool then finds. */
export function turnOf(seed: number, n: number, found = n % TOOL_EVERY === 0): TurnSaid {
  const { question, statement, value } = factOf(seed, n);
  if (!found) return { asked: `Please note: ${statement} ${remarks(seed, n)}`, answer: 'Noted.' };
  const files =
    n % FILE_EVERY === 0 ? { files: [{ kind: 'read' as const, path: `ledger/${n}.md` }] } : undefined;
  const call = { tool: 'lookup', args: { name: nameOf(seed, n) }, ...files };
  const result = `# Page ${n}\n${statement}\n${remarks(seed, n)}`;
  return {
    asked: question,
    steps: [{ prose: '', calls: [{ ...call, result }] }],
    answer: `The page says: ${value}. ${remarks(seed, n + 1)}`,
  };
}

function remarks(seed: number, n: number): string {
  return Array.from(
    { length: REMARK_COUNT },
    (_, at) => REMARKS[Math.floor(draw(seed, 'remark', n, at) * REMARKS.length)],
  ).join(' ');
}
