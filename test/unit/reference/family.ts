/** A family of sessions in a line of text each way: what is played, and what a context shows. */
import type { Act, Outcome } from '../../reference/evict/acts.ts';
import { EvictFold } from '../../reference/evict-fold.ts';

/** What every residue weighs here unless a test says otherwise, in bytes. */
const RESIDUE_BYTES = 10;

export interface Family {
  readonly fold: EvictFold;
  readonly act: (act: Act) => Outcome;
  /** Acts of one session, as in `prompt:100 call:50 results:30 steer:5 answer:40 cancel`; figures are bytes. */
  readonly play: (session: number, acts: string) => void;
  readonly evict: (session: number, from: number, to: number, note?: string) => Outcome;
  readonly force: (session: number) => Outcome;
  /** As in `1 [2-5 "note"] 6`. */
  readonly shown: (session: number) => string;
  /** As in `1 u own resident`, a row a line. */
  readonly rows: (session: number) => readonly string[];
  /** As in `2-5 model swallowed`. */
  readonly evictions: (session: number) => readonly string[];
}

/** Session 0 has begun; `acts` were played in it. */
export function family(acts = '', residueBytes = RESIDUE_BYTES): Family {
  const fold = new EvictFold(() => residueBytes);
  const act = (one: Act) => fold.apply(one);
  act({ do: 'start', session: 0, imports: [] });
  const made: Family = {
    fold,
    act,
    play: (session, line) => {
      for (const word of line.split(' ').filter((one) => one !== '')) done(act(parse(session, word)), word);
    },
    evict: (session, from, to, note) => act({ do: 'evict', session, from, to, note: note ?? null }),
    force: (session) => act({ do: 'evict-by-harness', session }),
    shown: (session) => fold.context(session).map(show).join(' '),
    rows: (session) =>
      fold
        .index(session)
        .items.map(({ item, role, kind, held }) => `${item} ${role.charAt(0)} ${kind} ${held}`),
    evictions: (session) =>
      fold.index(session).evictions.map(({ from, to, author, held }) => `${from}-${to} ${author} ${held}`),
  };
  made.play(0, acts);
  return made;
}

function show(piece: ReturnType<EvictFold['context']>[number]): string {
  if (piece.kind === 'item') return String(piece.item);
  const note = piece.note === null ? '' : ` "${piece.note}"`;
  return `[${piece.from}-${piece.to}${note}]`;
}

function parse(session: number, word: string): Act {
  const [name, figure] = word.split(':');
  const bytes = Number(figure ?? 0);
  switch (name) {
    case 'prompt':
    case 'answer':
      return { do: name, session, text: `${name} of ${bytes}`, bytes };
    case 'call':
      return { do: 'assistant', session, text: `call of ${bytes}`, bytes, calls: 1 };
    case 'results':
      return { do: name, session, bytes };
    case 'steer':
      return { do: name, session, text: `${name} of ${bytes}`, bytes };
    case 'cancel':
    case 'clear':
    case 'reload':
      return { do: name, session };
    default:
      throw new Error(`No act is called "${word}".`);
  }
}

function done(outcome: Outcome, word: string): void {
  if (!outcome.done) throw new Error(`"${word}" was refused: ${outcome.refusal}.`);
}
