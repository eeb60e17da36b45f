/** Laws of the work itself: how often a model is called and a tool run, and for what reason again. */
import { LEASE_MS } from '../world/process.ts';
import { ONCE } from '../world/tools.ts';
import type { Granted } from '../world/witness.ts';
import { bodies, type Evidence, grouped, type Law } from './evidence.ts';

export const CALL_LAWS: Readonly<Record<string, Law>> = {
  'RUN-04 a call is given to another worker only for a reason': ({ witness, ...rest }) => {
    const calls = grouped(witness.granted, ({ actor, child }) => `${actor}~${child}`);
    return [...calls].flatMap(([call, grants]) =>
      grants.flatMap((grant, index) => {
        const before = grants[index - 1];
        if (before === undefined || handedBack(witness, before) || troubled(witness, before, grant))
          return [];
        if (!rest.quiet && leaseRanOut(witness, before, grant)) return [];
        return [
          `${call} went from ${before.process} to ${grant.process}${rest.quiet ? ' in a quiet world' : ''}`,
        ];
      }),
    );
  },

  'RUN-04 a model is called once for each time its call was given to a worker': ({ witness, turns }) => {
    const asked = new Map<string, number>();
    for (const { process, script, purpose } of witness.calls) add(asked, askedBy(process, script, purpose));
    const given = new Map<string, number>();
    for (const { actor, src, process, heard } of witness.granted) {
      const turn = turns.get(actor);
      if (!heard) continue;
      // What is summarised names many turns, and is asked for beside them too.
      if (src === 'summary') add(given, askedBy(process, '', src));
      if (src === 'summary' || turn === undefined) continue;
      // A steered turn asks under the name of what was said last.
      for (const script of [turn.script, ...turn.steering])
        add(given, askedBy(process, script?.name ?? '', src));
    }
    return [...asked].filter(([key, times]) => times > (given.get(key) ?? 0)).map(([key]) => `by ${key}`);
  },

  'RUN-08 a tool with the effect once runs once, and again only by a decision': ({ witness, turns }) => {
    const runs = grouped(
      witness.effects.filter(({ tool }) => ONCE.has(tool)),
      ({ key }) => key,
    );
    return [...runs].flatMap(([key, own]) => {
      const records = turns.get(key.split('~')[0] ?? '')?.records ?? [];
      const reruns = bodies(records, 'turn-decided').filter(({ decision }) => decision === 'rerun').length;
      return own.length <= 1 + reruns ? [] : [`${own[0]?.tool} of ${key} ran ${own.length} times`];
    });
  },

  'a call that needs consent runs only with it': ({ witness, turns }) =>
    witness.effects
      .filter(({ tool }) => tool === 'grant')
      .filter(({ key }) => {
        const records = turns.get(key.split('~')[0] ?? '')?.records ?? [];
        return !bodies(records, 'turn-decided').some(({ decision }) => decision === 'approve');
      })
      .map(({ key }) => `${key} ran`),

  'RUN-08 an outcome is unknown only where a worker was in trouble': ({ quiet, turns }) =>
    [...turns.values()].flatMap(({ view, records }) =>
      quiet && bodies(records, 'tool-result').some(({ status }) => status === 'outcome_unknown')
        ? [`T${view.number} has one in a quiet world`]
        : [],
    ),
};

function askedBy(process: string, script: string, purpose: string): string {
  return purpose === 'summary' ? `${process} summary` : `${process} ${script} ${purpose}`;
}

/** The worker itself gave it back, for a later attempt or for another worker. */
function handedBack({ applied }: Evidence['witness'], { actor, child, fence, token }: Granted): boolean {
  return applied.some(
    ({ commit: { settle } }) =>
      settle?.actor === actor &&
      settle.child === child &&
      settle.fence === fence &&
      settle.token === token &&
      settle.status === 'queued',
  );
}

/** Its worker, or all of them, could not be counted on at some time from a lease before the first claim on. */
function troubled({ troubles }: Evidence['witness'], first: Granted, next: Granted): boolean {
  return troubles.some(
    ({ process, fromMs, toMs }) =>
      (process === null || process === first.process) && toMs >= first.atMs - LEASE_MS && fromMs <= next.atMs,
  );
}

/** A beat that is slow on its way is no trouble that anybody notes: then the lease ran out at some time between the claims. */
function leaseRanOut({ beats }: Evidence['witness'], first: Granted, next: Granted): boolean {
  const own = beats.filter(({ process }) => process === first.process).map(({ atMs }) => atMs);
  return own.some((beatMs, index) => {
    const outMs = beatMs + LEASE_MS;
    const backMs = own[index + 1] ?? Number.POSITIVE_INFINITY;
    return outMs < backMs && outMs < next.atMs && backMs > first.atMs;
  });
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
