/** Laws of what is written: the numbered invariants of the ledger, and everything exactly once. */
import {
  brokenLaw,
  callsAnswered,
  nudgesFit,
  onlyGrows,
  stepsAnswered,
} from '../../../src/ledger/invariants.ts';
import { ChainVerifier } from '../../../src/ledger/verify.ts';
import type { Applied } from '../world/witness.ts';
import { bodies, type Evidence, grouped, type Law, repeated, type Testimony, type Turn } from './evidence.ts';

export const LEDGER_LAWS: Readonly<Record<string, Law>> = {
  'LED-01 the invariants 1 to 8 hold of every ledger': ({ dump }) =>
    dump.sessions.flatMap((session) => brokenLaw(session) ?? []),

  'LED-02 every chain ends where its session says': ({ dump }) =>
    dump.sessions.flatMap(({ session, records, nextSeq, lastDigest }) => {
      const verifier = new ChainVerifier(session);
      for (const record of records) verifier.next(record);
      const verdict = verifier.end({ nextSeq, lastDigest });
      return verdict.ok ? [] : [JSON.stringify(verdict)];
    }),

  'the invariants 9 and 10 hold of every turn': ({ turns }) =>
    [...turns.values()].flatMap(({ view }) =>
      [stepsAnswered(view), nudgesFit(view)].filter((no) => no !== null),
    ),

  'the invariant 11 holds of every request a model received': ({ witness }) =>
    witness.calls.flatMap(({ no, request }) => {
      const broken = callsAnswered(request);
      return broken === null ? [] : [`call ${no}: ${broken}`];
    }),

  'the invariant 12 holds of the requests whose replies were accepted': ({ turns, witness }) =>
    [...turns.values()].flatMap((turn) => growth(turn, witness)),

  'RUN-03 every record of a turn is appended once': ({ turns }) => [...turns.values()].flatMap(recordsOnce),

  'RUN-14 a model call has a receipt': receiptsMissing,
  'RUN-14 a receipt is written again only if nobody was told that it is written': saidOnce(receiptsOf),
  'RUN-03 so is a result that came too late': saidOnce(lateResultsOf),

  'RUN-03 every message of a producer is written once': ({ turns, scripts }) => {
    const written = [...turns.values()].flatMap(({ script, steering }) => [script, ...steering]);
    return repeated(written.flatMap((script) => script?.name ?? [])).filter((name) =>
      scripts.some((script) => script.name === name),
    );
  },
};

function growth({ id, view }: Turn, { applied, calls }: Testimony): readonly string[] {
  // A prompt refused as too long is planned anew, a reset takes steps away, and an eviction what stood before.
  if (view.rejections.length > 0 || view.reset !== null || view.evictions.length > 0) return [];
  const requests = applied.flatMap(({ commit: { records } }) => {
    const own = records.filter(({ turnId }) => turnId === id);
    if (!own.some(({ kind }) => kind === 'assistant-message')) return [];
    const [receipt] = bodies(own, 'work-receipt');
    return calls.filter(({ no }) => receipt?.model === `model#${no}`);
  });
  return requests.flatMap(({ no, request }, index) => {
    const before = requests[index - 1];
    const broken = before === undefined ? null : onlyGrows(before.request, request);
    return broken === null ? [] : [`call ${no}: ${broken}`];
  });
}

function recordsOnce({ records, view }: Turn): readonly string[] {
  const names = [
    ...bodies(records, 'assistant-message').map(({ step }) => `the message of step ${step}`),
    ...bodies(records, 'tool-result').map(({ step, index }) => `the result ${index} of step ${step}`),
    ...bodies(records, 'tool-result').flatMap(({ evidence }) =>
      evidence === null ? [] : [`evidence ${evidence}`],
    ),
    ...bodies(records, 'reset').map(() => 'a reset'),
    ...bodies(records, 'nudge').map(({ step }) => `the nudge of step ${step}`),
    ...bodies(records, 'turn-steered').map(({ step }) => `the steering of step ${step}`),
    ...bodies(records, 'call-retrying').map(({ child, attempt }) => `the retry ${attempt} of ${child}`),
    ...bodies(records, 'turn-context').map(() => 'its context'),
  ];
  return repeated(names).map((name) => `T${view.number} holds ${name} again`);
}

function receiptsMissing({ witness, quiet }: Evidence): readonly string[] {
  const named = witness.applied.flatMap(receiptsOf);
  const missing = witness.calls.filter(({ no, end }) => end !== 'silence' && !named.includes(`#${no}`));
  return quiet ? missing.map(({ no }) => `call #${no} has none`) : [];
}

/** What a worker has left to say of a call that moved on is said again only where it was not told that it is written. */
function saidOnce(names: (applied: Applied) => readonly string[]): Law {
  return ({ witness }) => {
    const written = witness.applied.flatMap((applied) =>
      names(applied).map((name) => ({ name, heard: applied.heard })),
    );
    return [...grouped(written, ({ name }) => name)]
      .filter(([, times]) => times.slice(0, -1).some(({ heard }) => heard))
      .map(([name]) => `${name} is written again`);
  };
}

/** The numbers of the model calls whose receipts a commit writes. */
function receiptsOf({ commit }: Applied): readonly string[] {
  return bodies(commit.records, 'work-receipt').flatMap(
    ({ model, problem }) => `${model} ${problem ?? ''}`.match(/#\d+/u)?.[0] ?? [],
  );
}

function lateResultsOf({ commit }: Applied): readonly string[] {
  return commit.records
    .filter(({ kind }) => kind === 'late-result')
    .map(({ turnId, body }) => `${turnId} ${body}`);
}
