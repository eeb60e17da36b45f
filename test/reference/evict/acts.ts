/**
 * What can be done to a family of sessions, as plain data: one script drives the reference and the real machines.
 * Sessions go by their index in the order in which they came to be. All sizes are bytes as they weigh in a request.
 */

/** A turn held elsewhere: a prompt and its answer, two items. */
export interface ImportedTurn {
  readonly prompt: string;
  readonly promptBytes: number;
  readonly answer: string;
  readonly answerBytes: number;
}

/** A span that a model asks to be taken out, as a call beside the others of its message. */
export interface AskedEdit {
  readonly from: number;
  readonly to: number;
  readonly note: string | null;
}

/** What a reply said of its prompt where that filled the window, in tokens. */
export interface Filled {
  readonly used: number;
  readonly limit: number;
}

/** What stands in square brackets below is left out where only sizes matter. */
export type Act =
  /** A session without ancestors; `session` is the next index. */
  | { readonly do: 'start'; readonly session: number; readonly imports: readonly ImportedTurn[] }
  /** At rest only: the item that begins a turn. */
  | { readonly do: 'prompt'; readonly session: number; readonly text: string; readonly bytes: number }
  /** A message that calls tools: an item that owes `calls` (at least one) results. */
  | {
      readonly do: 'assistant';
      readonly session: number;
      readonly text: string;
      readonly bytes: number;
      readonly calls: number;
      /** [Its edits, which land with the results, one act `evict` each.] */
      readonly edits?: readonly AskedEdit[];
      readonly filled?: Filled;
    }
  /** Of all the calls together. With no call pending they come too late, and nothing happens. */
  | {
      readonly do: 'results';
      readonly session: number;
      readonly bytes: number;
      /** [In the order of the calls, those of edits last.] */
      readonly contents?: readonly string[];
    }
  /** What the user says meanwhile: the next request that is begun carries it. */
  | { readonly do: 'steer'; readonly session: number; readonly text: string; readonly bytes: number }
  /** A message without calls: an item, and the turn's end unless something was said meanwhile. */
  | {
      readonly do: 'answer';
      readonly session: number;
      readonly text: string;
      readonly bytes: number;
      readonly filled?: Filled;
    }
  | { readonly do: 'cancel'; readonly session: number }
  /** By the model as its results come, at rest by an operator. `from` and `to` may be wrong. */
  | {
      readonly do: 'evict';
      readonly session: number;
      readonly from: number;
      readonly to: number;
      readonly note: string | null;
    }
  /** By the harness, as it would be were it due; what comes next is the reply to the request without it. */
  | { readonly do: 'evict-by-harness'; readonly session: number }
  | { readonly do: 'clear'; readonly session: number }
  /** At rest only: a head without the newest `back` turns of this one, and a move to it. */
  | { readonly do: 'checkout'; readonly session: number; readonly back: number }
  /** `child` is the next index. */
  | { readonly do: 'fork'; readonly session: number; readonly child: number }
  /** The session's memory is dropped and read back from its records. */
  | { readonly do: 'reload'; readonly session: number };

/** Both ends included. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Why a span is no eviction, in the order in which it is looked at. */
export type SpanRefusal =
  /** It ends before it begins. */
  | 'backwards'
  /** Nothing is recorded. */
  | 'empty'
  /** An end is no item of this head since it was cleared. */
  | 'never_recorded'
  /** It reaches the item that still grows. */
  | 'open'
  /** All it names left earlier, in one eviction or as an item that a fork does not carry. */
  | 'gone'
  /** Several residues and no item. */
  | 'only_residues'
  /** All it could take is a prompt that resident answers still need. */
  | 'survivor';

export type Refusal =
  | SpanRefusal
  | 'no_session'
  /** A turn is running. */
  | 'running'
  | 'at_rest'
  /** Calls are pending. */
  | 'pending'
  /** No call is pending. */
  | 'late'
  /** An eviction by the harness would take nothing. */
  | 'no_plan'
  /** There are fewer turns to go back. */
  | 'too_far';

export type Outcome =
  /** `item`: the number minted, the first of several. `span`: what was recorded as evicted. */
  | { readonly done: true; readonly item: number | null; readonly span: Span | null }
  | { readonly done: false; readonly refusal: Refusal };
