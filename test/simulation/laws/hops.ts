/** Laws of hops: events applied once and in order, results accepted once and under their fence, timers on time. */
import type { Applied, Granted } from '../world/witness.ts';
import { type Evidence, grouped, type Law, repeated } from './evidence.ts';

export const HOP_LAWS: Readonly<Record<string, Law>> = {
  'RUN-03 every event of an actor is applied once, at the next revision': ({ witness }) => {
    // Without a digest it came after the end, and is noted as having changed nothing.
    const events = witness.applied.flatMap(({ commit }) =>
      commit.events.filter(({ digest }) => digest !== null),
    );
    const revisions = grouped(events, ({ actor }) => actor);
    const gaps = [...revisions].filter(([, own]) =>
      own.some(({ revision }, index) => revision !== index + 1),
    );
    return [
      ...repeated(events.map(({ actor, id }) => `event ${id} of ${actor}`)),
      ...gaps.map(
        ([actor, own]) => `${actor} has the revisions ${own.map(({ revision }) => revision).join(' ')}`,
      ),
    ];
  },

  'RUN-09 LED-03 the invariants 13 to 20 hold of every session at any moment': ({ inspected }) => inspected,

  'RUN-06 nothing is given out or accepted of an actor that has ended': ({ witness }) => {
    const endedMs = new Map<string, number>();
    for (const { commit, atMs } of witness.applied)
      for (const { actor, status } of commit.actors) if (status === 'done') endedMs.set(actor, atMs);
    const isLate = (actor: string, atMs: number) => (endedMs.get(actor) ?? atMs) < atMs;
    const given = witness.granted.filter(({ actor, atMs }) => isLate(actor, atMs));
    const accepted = witness.applied.flatMap(({ commit: { settle }, atMs }) =>
      settle !== undefined && isLate(settle.actor, atMs) ? [settle] : [],
    );
    return [...given, ...accepted].map(({ actor, child }) => `${actor}~${child}`);
  },

  'RUN-03 the result of a side call is accepted once': ({ witness }) =>
    repeated(settled(witness.applied).map(({ actor, child }) => `${actor}~${child} is settled again`)),

  'RUN-03 a result is accepted under the newest fence alone': newestFence,

  'RUN-06 no result is accepted of a call that was cancelled': ({ witness }) => {
    const cancelled = new Set<string>();
    return witness.applied.flatMap(({ commit }) => {
      const { settle, cancels } = commit;
      const late = settle !== undefined && cancelled.has(`${settle.actor}~${settle.child}`);
      for (const { actor, child } of cancels) cancelled.add(`${actor}~${child}`);
      return late ? [`${settle.actor}~${settle.child} was cancelled`] : [];
    });
  },

  'RUN-07 no timer fires before its time': early,

  'RUN-10 turns of a head start in the order they were accepted': ({ dump, turns }) =>
    dump.sessions.flatMap(({ records }) => {
      const started = records.filter(({ kind }) => kind === 'turn-context');
      const numbers = started.map(({ turnId }) => turns.get(turnId ?? '')?.view.number ?? 0);
      return numbers.some((number, index) => number <= (numbers[index - 1] ?? 0))
        ? [`they started as ${numbers.join(' ')}`]
        : [];
    }),
};

function settled(applied: readonly Applied[]) {
  return applied.flatMap(({ commit: { settle } }) =>
    settle === undefined || settle.status === 'queued' ? [] : [settle],
  );
}

/** A crash of the database takes claims back, and with them their fences: then another has that fence, or a lower one. */
function newestFence({ witness }: Evidence): readonly string[] {
  const crashed = witness.troubles.some(({ what }) => what === 'database crash');
  const grants = grouped(witness.granted, ({ actor, child }) => `${actor}~${child}`);
  const wrong = [...grants].filter(
    ([, own]) => !crashed && own.some(({ fence }, index) => fence !== index + 1),
  );
  const stale = witness.applied.flatMap(({ commit: { settle }, atMs }) => {
    if (settle === undefined) return [];
    const newest = grants.get(`${settle.actor}~${settle.child}`)?.findLast((grant) => grant.atMs <= atMs);
    const isIts = newest?.fence === settle.fence && newest.token === settle.token;
    return isIts ? [] : [`${settle.actor}~${settle.child} under ${settle.fence}`];
  });
  const fences = (own: readonly Granted[]) => own.map(({ fence }) => fence).join(' ');
  return [...wrong.map(([key, own]) => `${key} had the fences ${fences(own)}`), ...stale];
}

function early({ witness, latestDatabaseMs }: Evidence): readonly string[] {
  const set = new Map<string, { readonly atMs: number; readonly dueMs: number }>();
  return witness.applied.flatMap(({ commit, atMs, databaseMs }) => {
    const fired = commit.events.flatMap(({ actor, id }) => {
      if (!id.startsWith('timer.')) return [];
      const timer = set.get(`${actor}~${id}`);
      if (timer === undefined) return [`${id} of ${actor} was never set`];
      return latestDatabaseMs(timer.atMs, atMs) < timer.dueMs ? [`${id} of ${actor} came early`] : [];
    });
    for (const { actor, timer, revision, delayMs } of commit.timers)
      set.set(`${actor}~timer.${timer}.${revision}`, { atMs, dueMs: databaseMs + delayMs });
    return fired;
  });
}
