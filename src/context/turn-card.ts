/** A closed turn in a line: made from its records when it closes, and never by a model. */
import { byteLength, canonicalJson, type Json } from '../ledger/json.ts';
import type { TracedCall, TurnCard } from '../ledger/turn-card.ts';
import { isDiscarded, type TurnView, toolCalls, visibleText } from '../ledger/view.ts';
import { digestOf, narrationOf } from './assemble/full-record.ts';
import { escapeMarkers } from './assemble/markers.ts';
import { firstSentence } from './first-sentence.ts';
import { linksOf } from './links/observed.ts';
import { oneLine } from './one-line.ts';

/** Up to so many words a text stands as it is; a longer one by its first sentence. */
const VERBATIM_WORDS = 60;
/** Words of an answer that a line shows, where no card says what was answered. */
const LINE_NARRATION_WORDS = 12;

export function buildCard(turn: TurnView, fullBytes: number): TurnCard {
  const card = {
    number: turn.number,
    asked: inShort(visibleText(turn.input)),
    did: turn.steps.filter((step) => !isDiscarded(turn, step)).flatMap((step) => traced(step)),
    presentations: turn.presentations.map((made) => ({
      id: made.presentation,
      type: made.type,
      title: made.title,
      digest: made.digest,
      derivedFrom: made.derivedFrom,
    })),
    narration: narration(turn),
    outcome: turn.closed?.outcome ?? ('unrecorded' as const),
    act: turn.reading?.act ?? '',
    domains: [...(turn.reading?.domains ?? [])],
    links: [...linksOf(turn)],
  };
  return { ...card, fullBytes, cardBytes: byteLength(cardLine(card)) + 1 };
}

/** What a closed turn without a card is taken for: its records are all there is. */
export function provisionalCard(turn: TurnView, fullBytes: number): TurnCard {
  return turn.closed?.card ?? { ...buildCard(turn, fullBytes), outcome: 'unrecorded' };
}

type Lined = Pick<TurnCard, 'number' | 'asked' | 'did' | 'presentations' | 'narration' | 'outcome'>;

/** `T17: what was asked — read ×2 → e5, e6 — metric "Title" p2`; every evidence id of the turn stands in it. */
export function cardLine(card: Lined): string {
  const outcome = card.outcome === 'completed' ? '' : ` (${card.outcome})`;
  const shown = card.presentations.map(({ type, title, id }) => `${type} "${title}" ${id}`);
  const answered = shown.length > 0 ? shown.join(', ') : quoted(card.narration);
  const parts = [oneLine(card.asked), calls(card.did), answered].filter((part) => part !== '');
  return escapeMarkers(`T${card.number}${outcome}: ${parts.join(' — ')}`);
}

function calls(did: readonly TracedCall[]): string {
  if (did.length === 0) return 'nothing called';
  const byTool = new Map<string, TracedCall[]>();
  for (const call of did) byTool.set(call.tool, [...(byTool.get(call.tool) ?? []), call]);
  return [...byTool]
    .map(([tool, made]) => {
      const times = made.length > 1 ? ` ×${made.length}` : '';
      const ids = made.flatMap(({ evidence }) => (evidence === null ? [] : [evidence]));
      return `${tool}${times} → ${ids.length > 0 ? ids.join(', ') : 'no result'}`;
    })
    .join('; ');
}

function quoted(narration: string): string {
  const words = oneLine(narration).split(' ');
  if (words.length <= LINE_NARRATION_WORDS) return narration === '' ? '' : `“${words.join(' ')}”`;
  return `“${words.slice(0, LINE_NARRATION_WORDS).join(' ')} …”`;
}

/** An answer as a card has it. */
export function shortAnswer(text: string): string {
  return inShort(text);
}

function narration(turn: TurnView): string {
  if (turn.statement !== null) return inShort(turn.statement.text);
  const last = turn.steps.at(-1);
  if (last === undefined || last.nudge !== null || toolCalls(last.content).length > 0) return '';
  return inShort(narrationOf(turn, last));
}

function traced(step: TurnView['steps'][number]): readonly TracedCall[] {
  return toolCalls(step.content).flatMap((call, index): TracedCall[] => {
    const result = step.results.get(index);
    if (result !== undefined && result.evidence === null) return [];
    const wrote = result?.files?.some(({ kind }) => kind === 'wrote') ?? false;
    const args = call.raw ?? canonicalJson(wrote ? call.args : shortened(call.args));
    const evidence = result?.evidence ?? null;
    const shape =
      result === undefined || evidence === null
        ? 'no result'
        : (result.shape ?? digestOf(evidence, result).shape);
    return [{ tool: call.name, args, evidence, shape }];
  });
}

/** Long texts among the arguments by their first sentence. */
function shortened(args: Json): Json {
  if (typeof args === 'string') return inShort(args);
  if (Array.isArray(args)) return args.map((item: Json) => shortened(item));
  if (typeof args !== 'object' || args === null) return args;
  return Object.fromEntries(Object.entries(args).map(([key, value]) => [key, shortened(value as Json)]));
}

function inShort(text: string): string {
  return firstSentence(text, VERBATIM_WORDS);
}
