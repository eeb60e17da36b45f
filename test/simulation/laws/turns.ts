/** Laws of turns: what their producers were told stands, and each ends as its script says, or as what befell it says. */
import { failingBatches } from '../../../src/checks/tool-repair.ts';
import { finalAnswer } from '../../../src/ledger/view.ts';
import { MAX_FAILING_BATCHES } from '../../../src/machines/turn-verdict.ts';
import { isRepairable } from '../../../src/runtime/repairable.ts';
import { answerOf } from '../world/replies.ts';
import type { Script } from '../world/script.ts';
import { type Evidence, grouped, type Law, type Turn } from './evidence.ts';

export const TURN_LAWS: Readonly<Record<string, Law>> = {
  'RUN-04 every acknowledged turn is there, and closed once': ({ witness, turns, dump }) =>
    witness.acknowledged.flatMap(({ script, turn }) => {
      const found = turns.get(turn);
      const row = dump.turns.find((candidate) => candidate.turn === turn);
      if (found === undefined || row === undefined)
        return [`${script.name} was told of ${turn}, which is not there`];
      const closings = found.records.filter(({ kind }) => kind === 'turn-closed').length;
      return closings === 1 && row.status === 'closed' ? [] : [`${script.name} is ${row.status}`];
    }),

  'RUN-03 one key names one turn': ({ witness, turns }) => {
    const told = grouped(witness.acknowledged, ({ script }) => script.name);
    return [...told].flatMap(([name, own]) => {
      const ids = new Set(own.map(({ turn }) => turn));
      const made = own.filter(({ created }) => created).length;
      const holds = [...turns.values()].filter((turn) =>
        involved(turn).some((script) => script.name === name),
      );
      return ids.size === 1 && made <= 1 && holds.length === 1 && ids.has(holds[0]?.id ?? '')
        ? []
        : [`${name} was told of ${[...ids].join(' ')}, ${made} created, held by ${holds.length}`];
    });
  },

  'RUN-10 what was refused is not there': ({ witness, turns, scripts }) => {
    const refusals = ({ name }: Script) => witness.refused.filter((script) => script.name === name).length;
    return scripts
      .filter((script) => refusals(script) === script.copies)
      .filter(({ name }) =>
        [...turns.values()].some((turn) => involved(turn).some((script) => script.name === name)),
      )
      .map(({ name }) => `${name} is`);
  },

  'RUN-14 every turn ends in one of its ways': (evidence) =>
    [...evidence.turns.values()].flatMap((turn) => {
      const { closed, number } = turn.view;
      if (closed === null) return [];
      const end = `${closed.outcome} ${closed.reason}`;
      return ends(turn, evidence).includes(end) ? [] : [`T${number} (${turn.script?.name}) ended ${end}`];
    }),

  'a completed turn has the answer its producer knows': ({ turns }) =>
    [...turns.values()].flatMap((turn) => {
      if (turn.view.closed?.outcome !== 'completed') return [];
      // What was said to a turn leaves with the item it stands behind: the model answers what it still sees.
      if (turn.view.evictions.length > 0 && turn.steering.length > 0) return [];
      const last = involved(turn).at(-1)?.name ?? '';
      return finalAnswer(turn.view) === answerOf(last)
        ? []
        : [`T${turn.view.number} answers ${finalAnswer(turn.view)}`];
    }),

  'RUN-10 a completed turn has taken up everything that was said to it': ({ turns }) =>
    [...turns.values()].flatMap(({ view }) => {
      const taken = view.steered.at(-1)?.upTo ?? 0;
      return view.closed?.outcome !== 'completed' || taken === view.steering.length
        ? []
        : [`T${view.number} has not`];
    }),

  'RUN-06 what was confirmed as cancelled is cancelled': ({ witness, turns }) =>
    [...witness.cancelled]
      .filter((turn) => turns.get(turn)?.view.closed?.outcome !== 'cancelled')
      .map((turn) => `${turn} is not`),
};

/** How a turn may end too that was steered: failures of several scripts add up, and its budgets stay its own. */
const MIXED = [
  'completed answered',
  'degraded step_budget',
  'failed empty_step',
  'failed no_usable_horizon',
  'failed transport_exhausted',
];

const LATE = ['degraded time_budget', 'degraded approval_expired', 'degraded decision_expired'];

function involved({ script, steering }: Turn): readonly Script[] {
  return script === undefined ? steering : [script, ...steering];
}

function ends(turn: Turn, { quiet, witness, scripts }: Evidence): readonly string[] {
  const own = involved(turn);
  const natural = own.map(({ ends: [outcome, reason] }) => `${outcome} ${reason}`);
  const cancelled = witness.cancelAsked.has(turn.id) ? ['cancelled cancelled'] : [];
  const interrupts = scripts.some(
    ({ mode, session }) => mode === 'interrupt' && session === turn.script?.session,
  );
  const others = [...cancelled, ...(interrupts ? ['cancelled interrupted'] : [])];
  const mixed = own.length > 1 ? MIXED : [];
  // What a person decides may be lost where everything may be: the turn then waits its day out.
  const late = quiet && own.length === 1 ? [] : LATE;
  // A prompt that was refused may have held nothing but what every prompt of the turn holds.
  const refused = turn.view.rejections.length > 0 ? ['failed no_usable_horizon'] : [];
  // A script may happen to call in vain three times in a row.
  const vain =
    failingBatches(turn.view, isRepairable) >= MAX_FAILING_BATCHES ? ['degraded tool_repair_exhausted'] : [];
  return [...natural, ...others, ...mixed, ...late, ...refused, ...vain];
}
