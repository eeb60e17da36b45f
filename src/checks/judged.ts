/** What a reply is judged by: the turn before it, the tools the session may call, and what those calls brought. */
import type { Cards } from '../context/cards/registry.ts';
import type { AssistantBlock, ToolCallBlock } from '../ledger/blocks.ts';
import type { Json } from '../ledger/json.ts';
import { type TurnView, toolCalls, visibleText } from '../ledger/view.ts';
import type { CheckLexicon } from './lexicon/index.ts';

/** A tool that the session may call. */
export interface JudgedTool {
  readonly approval: boolean;
  readonly inHop: boolean;
  readonly byClient: boolean;
  /** Whether its schema takes the arguments. */
  fits(args: Json): boolean;
  traitsOf(args: Json): { readonly effect: string; readonly observes: boolean; readonly retrieves: boolean };
}

export interface Judging {
  /** Before the reply. */
  readonly turn: TurnView;
  readonly reply: { readonly content: readonly AssistantBlock[]; readonly finish: string };
  /** The request rests on a packet that no summariser wrote. */
  readonly degraded: boolean;
  readonly lexicon: CheckLexicon;
  readonly cards: Cards;
  /** Undefined for a tool the session may not call. */
  readonly toolOf: (name: string) => JudgedTool | undefined;
  /** Names of all the session may call. */
  readonly tools: readonly string[];
  /** Those that look up the world as it stands now. */
  readonly lookups: readonly string[];
  readonly canObserve: boolean;
  readonly canChange: boolean;
  /** Card types that the request asks for. */
  readonly forms: readonly string[];
  /** The whole of a result by its evidence id, where it was shown in part. */
  readonly wholes: ReadonlyMap<string, string>;
  /** Whether a text stands in the request or in what the turn found. */
  readonly isGiven: (text: string) => boolean;
  /** The earlier turn whose answer begins as this reply does. */
  readonly earlier: EarlierAnswer | null;
  /** What the operator set as conditions of an end, and is not so. */
  readonly unmetConditions: readonly string[];
}

export interface EarlierAnswer {
  readonly number: number;
  readonly answer: string;
  readonly asked: string;
  readonly sameThread: boolean;
}

/** What is asked in the turn: the directive, and what was said meanwhile. */
export function askedIn({ input, steering }: TurnView): string {
  return [input, ...steering].map(visibleText).join('\n');
}

/** A call of the turn that has its result. */
export interface PastCall {
  readonly step: number;
  readonly name: string;
  readonly ok: boolean;
  readonly card: boolean;
  readonly observes: boolean;
  readonly retrieves: boolean;
  /** It may have changed something. */
  readonly changes: boolean;
  /** The whole result. */
  readonly content: string;
}

export function pastCalls({ turn, toolOf, cards, wholes }: Judging): readonly PastCall[] {
  return turn.steps.flatMap(({ step, content, nudge, results }) => {
    if (nudge !== null) return [];
    return toolCalls(content).flatMap((call, index): PastCall[] => {
      const result = results.get(index);
      if (result === undefined || result.status === 'withheld') return [];
      const traits = toolOf(call.name)?.traitsOf(call.args);
      return [
        {
          step,
          name: call.name,
          ok: result.status === 'ok',
          card: cards.byTool(call.name) !== undefined,
          observes: traits?.observes ?? false,
          retrieves: traits?.retrieves ?? false,
          changes: traits !== undefined && traits.effect !== 'read' && !isAnsweredHere(toolOf, call),
          content: (result.evidence === null ? undefined : wholes.get(result.evidence)) ?? result.content,
        },
      ];
    });
  });
}

function isAnsweredHere(toolOf: Judging['toolOf'], { name }: ToolCallBlock): boolean {
  return toolOf(name)?.inHop ?? false;
}

/** What the batch brought that last retrieved something: all its results, whole. */
export function lastRetrieved(calls: readonly PastCall[]): readonly string[] {
  const last = calls.findLast(({ ok, retrieves }) => ok && retrieves);
  if (last === undefined) return [];
  return calls
    .filter(({ step, ok, card }) => step === last.step && ok && !card)
    .map(({ content }) => content);
}
