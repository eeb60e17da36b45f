/** The links a turn has when it closes: what its calls touched, what its words name, what it goes on with. */
import type { LinkKind, TurnLink } from '../../ledger/turn-card.ts';
import { type TurnView, toolCalls, visibleText } from '../../ledger/view.ts';
import { fileNames } from './walk.ts';

/** In the order in which they came, each once. */
export function linksOf(turn: TurnView): readonly TurnLink[] {
  const links = new Map<string, TurnLink>();
  const add = (kind: LinkKind, to: string, provenance: TurnLink['provenance']): void => {
    const key = `${kind} ${to}`;
    if (!links.has(key)) links.set(key, { kind, to, provenance });
  };
  for (const { results } of turn.steps)
    for (const { files = [] } of results.values())
      for (const { kind, path } of files) add(kind, path, 'observed');
  for (const number of recalledTurns(turn)) add('recalled', `T${number}`, 'observed');
  for (const name of served(turn)) add('serves', name, 'observed');
  for (const name of fileNames(visibleText(turn.input))) add('named', name, 'inferred');
  if (turn.plan !== null && turn.plan.continues !== null)
    add('continues', `T${turn.plan.continues}`, 'inferred');
  return [...links.values()];
}

function recalledTurns(turn: TurnView): readonly number[] {
  return turn.steps.flatMap(({ content, results }) =>
    toolCalls(content).flatMap((call, index) => {
      const answered = call.name === 'recall' && results.get(index)?.status === 'ok';
      const asked = answered && typeof call.args === 'object' && call.args !== null ? call.args : {};
      const number = 'turn' in asked ? Number(String(asked.turn).replace(/^T/u, '')) : Number.NaN;
      return Number.isInteger(number) && number > 0 ? [number] : [];
    }),
  );
}

/** What the producer says the turn is for: `metadata.serves`, a name or a list of names. */
function served({ metadata }: TurnView): readonly string[] {
  const serves = metadata?.serves;
  const names = Array.isArray(serves) ? serves : [serves];
  return names.filter((name) => typeof name === 'string' && name !== '') as string[];
}
