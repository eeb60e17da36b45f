/** Laws of what is written: the numbered invariants of the ledger, and everything exactly once. */
import {
  brokenLaw,
  callsAnswered,
  nudgesOnlyEmpty,
  onlyGrows,
  stepsAnswered,
} from '../../../src/ledger/invariants.ts';
import { ChainVerifier } from '../../../src/ledger/verify.ts';
import { bodies, type Evidence, type Law, repeated, type Testimony, type Turn } from './evidence.ts';

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
      [stepsAnswered(view), nudgesOnlyEmpty(view)].filter((no) => no !== null),
    ),

  'the invariant 11 holds of every request a model received': ({ witness }) =>
    witness.calls.flatMap(({ no, request }) => {
      const broken = callsAnswered(request);
      return broken === null ? [] : [`call ${no}: ${broken}`];
    }),

  'the invariant 12 holds of the requests whose replies were accepted': ({ turns, witness }) =>
    [...turns.values()].flatMap((turn) => growth(turn, witness)),

  'RUN-03 every record of a turn is appended once': ({ turns }) => [...turns.values()].flatMap(recordsOnce),

  'RUN-14 every model call has one receipt at most, and one if nothing went wrong': receiptsOnce,

  'RUN-03 every message of a producer is written once': ({ turns, scripts }) => {
    const written = [...turns.values()].flatMap(({ script, steering }) => [script, ...steering]);
    return repeated(written.flatMap((script) => script?.name ?? [])).filter((name) =>
      scripts.some((script) => script.name === name),
    );
  },
};

function growth({ id, view }: Turn, { applied, calls }: Testimony): readonly string[] {
  if (view.rejections.length > 0) return [];
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
    ...bodies(records, 'tool-result').map(({ evidence }) => `evidence ${evidence}`),
    ...bodies(records, 'nudge').map(({ step }) => `the nudge of step ${step}`),
    ...bodies(records, 'turn-steered').map(({ step }) => `the steering of step ${step}`),
    ...bodies(records, 'call-retrying').map(({ child, attempt }) => `the retry ${attempt} of ${child}`),
    ...bodies(records, 'late-result').map(
      ({ child, fence, digest }) => `the late result of ${child} under ${fence}, ${digest}`,
    ),
    ...bodies(records, 'turn-context').map(() => 'its context'),
  ];
  return repeated(names).map((name) => `T${view.number} holds ${name} again`);
}

function receiptsOnce({ turns, witness, quiet }: Evidence): readonly string[] {
  const receipts = [...turns.values()].flatMap(({ records }) => bodies(records, 'work-receipt'));
  const named = receipts.flatMap(
    ({ model, problem }) => `${model} ${problem ?? ''}`.match(/#\d+/u)?.[0] ?? [],
  );
  const missing = quiet
    ? witness.calls.filter(({ no, end }) => end !== 'silence' && !named.includes(`#${no}`))
    : [];
  return [
    // Known: a hand-back whose answer was lost is offered again, and may leave its receipt a second time.
    ...(quiet ? repeated(named) : repeated(repeated(named))).map(
      (name) => `call ${name} has another receipt`,
    ),
    ...missing.map(({ no }) => `call #${no} has no receipt`),
  ];
}
