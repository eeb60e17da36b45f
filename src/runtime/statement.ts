/** What the system says in the place of an answer: made of the turn's own records, in the commit that ends it. */
import { repairSummary } from '../checks/tool-repair.ts';
import { type Stated, statementText } from '../context/wording/wording.ts';
import type { Check } from '../ledger/kinds.ts';
import type { TurnView } from '../ledger/view.ts';
import type { StateParams } from '../machines/turn-context.ts';
import { MAX_FAILING_BATCHES } from '../machines/turn-verdict.ts';
import type { CommitBuilder } from './commit-builder.ts';

/** Of each result that is quoted; its id names the rest. */
const QUOTED_CHARS = 2_000;
const QUOTED_RESULTS = 4;

export function stateAnswer(
  builder: CommitBuilder,
  view: TurnView,
  { head, turn }: { readonly head: string; readonly turn: string },
  { step, check }: StateParams,
): void {
  const text = statementText(check, statedOf(view, check));
  builder.append(head, { kind: 'statement', turnId: turn, body: { step, check, text } });
}

function statedOf(view: TurnView, check: Check): Stated {
  switch (check) {
    case 'freshness': {
      const finding = view.findings.findLast((found) => found.check === check);
      return { figure: finding?.figure };
    }
    case 'topic-mismatch':
    case 'uncited-source':
      return { evidence: quoted(view) };
    case 'tool-repair':
      return { ...repairSummary(view), times: MAX_FAILING_BATCHES };
    default:
      return { times: view.steps.filter(({ nudge }) => nudge?.check === check).length + 1 };
  }
}

/** The newest results that say something, as they came. */
function quoted(view: TurnView): string {
  const results = view.steps.flatMap(({ results }) =>
    [...results.values()].filter(({ status, evidence }) => status === 'ok' && evidence !== null),
  );
  return results
    .slice(-QUOTED_RESULTS)
    .map(({ name, evidence, content }) => `${name} (${evidence}): ${shown(content)}`)
    .join('\n');
}

function shown(content: string): string {
  const text = content.trim();
  if (text.length <= QUOTED_CHARS) return text;
  const cut = text.slice(0, QUOTED_CHARS);
  const space = cut.search(/\s\S*$/u);
  return `${space > 0 ? cut.slice(0, space) : cut} …`;
}
