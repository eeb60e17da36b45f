/** The scripts are what they claim, and the reference keeps its laws through all of them. */
import { describe, expect, it } from 'vitest';
import { countClasses, printScript, SCRIPT_CLASSES, writeScript } from '../../reference/evict/scripts.ts';
import { EvictFold } from '../../reference/evict-fold.ts';

const SCRIPTS = 150;
const LEAST_SHARE = 0.03;
/** What the project asks of every other class. */
const LEAST_RARE_SHARE = 0.01;
const RARE: readonly string[] = ['late-results', 'checkout', 'evicted-by-model', 'evicted-by-operator'];

const scripts = Array.from({ length: SCRIPTS }, (_, seed) => writeScript(seed));
const acts = scripts.flat();
const views = (fold: EvictFold) =>
  Array.from({ length: fold.sessions }, (_, session) =>
    JSON.stringify([fold.context(session), fold.index(session), fold.nextItem(session), fold.open(session)]),
  );

describe('scripts', () => {
  it('EVT-02 a seed gives one script, and another seed another', () => {
    expect(printScript(writeScript(42))).toBe(printScript(writeScript(42)));
    expect(new Set(scripts.map(printScript)).size).toBe(SCRIPTS);
    expect(JSON.parse(printScript(writeScript(42)).split('\n')[0] ?? '')).toMatchObject({
      do: 'start',
      session: 0,
    });
  });

  it('EVT-02 a script has 20 to 80 acts, of several sessions mostly', () => {
    expect(scripts.filter(({ length }) => length < 20 || length > 80)).toEqual([]);
    const several = scripts.filter((script) => new Set(script.map(({ session }) => session)).size > 1);
    expect(several.length).toBeGreaterThan(SCRIPTS / 2);
  });

  it('EVT-02 no class of act is rare', () => {
    const counts = scripts.map(countClasses);
    const shares = SCRIPT_CLASSES.map((name) => {
      const share = counts.reduce((sum, count) => sum + count[name], 0) / acts.length;
      return { name, share };
    });
    const told = shares.map(({ name, share }) => `${name} ${(share * 100).toFixed(1)} %`).join(', ');
    console.info(`${acts.length} acts: ${told}`);
    const poor = shares.filter(
      ({ name, share }) => share < (RARE.includes(name) ? LEAST_RARE_SHARE : LEAST_SHARE),
    );
    expect(poor).toEqual([]);
  });

  it('EVT-02 every reason to refuse a span is met, residues are swallowed, and forks of forks of forks are made', () => {
    const reasons = new Set<string>();
    let swallowed = 0;
    let behindPrompt = 0;
    let deepest = 0;
    for (const script of scripts) {
      const fold = new EvictFold(() => 300);
      const depths = new Map<number, number>();
      for (const act of script) {
        if (act.do === 'fork') depths.set(act.child, (depths.get(act.session) ?? 0) + 1);
        const [first] =
          fold.sessions > act.session ? fold.context(act.session).filter(({ kind }) => kind === 'item') : [];
        const outcome = fold.apply(act);
        if (act.do === 'evict' && !outcome.done) reasons.add(outcome.refusal);
        const span = outcome.done && act.do === 'evict-by-harness' ? outcome.span : null;
        if (span !== null && first?.kind === 'item' && span.from > first.item) behindPrompt += 1;
      }
      deepest = Math.max(deepest, ...depths.values());
      swallowed += views(fold).filter((view) => view.includes('"swallowed"')).length;
    }
    expect([...reasons].toSorted()).toEqual(
      ['backwards', 'empty', 'gone', 'never_recorded', 'only_residues', 'open', 'survivor'].toSorted(),
    );
    expect(swallowed).toBeGreaterThan(SCRIPTS / 3);
    expect(behindPrompt).toBeGreaterThan(SCRIPTS / 10);
    expect(deepest).toBeGreaterThanOrEqual(3);
  });
});

describe('laws of the reference', () => {
  /** Calls `check` after every act of every script. */
  const always = (check: (fold: EvictFold, session: number) => void) => {
    for (const script of scripts) {
      const fold = new EvictFold((from, to) => 200 + String(from).length + String(to).length);
      for (const act of script) {
        fold.apply(act);
        if (act.session < fold.sessions) check(fold, act.session);
      }
    }
  };

  it('EVT-02 a resident answer stands behind its resident prompt', () => {
    always((fold, session) => {
      const { items } = fold.index(session);
      const resident = items.filter(({ role, held }) => role === 'assistant' && held === 'resident');
      const prompts = resident.map(({ item }) =>
        items.findLast((row) => row.role === 'user' && row.item < item),
      );
      expect(prompts.filter((prompt) => prompt?.held !== 'resident')).toEqual([]);
    });
  });

  it('EVT-02 the open item is resident, and the harness would take neither it nor its prompt', () => {
    always((fold, session) => {
      const open = fold.open(session);
      if (open === null) return;
      const { items } = fold.index(session);
      const prompt = items.findLast((row) => row.role === 'user')?.item ?? 0;
      expect(items.find(({ item }) => item === open)?.held).toBe('resident');
      const plan = fold.plan(session);
      expect(plan === null || plan.to < prompt || (plan.from > prompt && plan.to < open)).toBe(true);
    });
  });

  it('EVT-03 pieces of a context rise and never overlap, and evictions are nested or apart', () => {
    always((fold, session) => {
      const spans = fold
        .context(session)
        .map((piece) => (piece.kind === 'item' ? [piece.item, piece.item] : [piece.from, piece.to]));
      const numbers = spans.flat();
      expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
      expect(new Set(spans.map(([from]) => from)).size).toBe(spans.length);
      const { evictions } = fold.index(session);
      const crossed = evictions.filter((one) =>
        evictions.some((other) => one.from < other.from && other.from <= one.to && one.to < other.to),
      );
      expect(crossed).toEqual([]);
    });
  });

  it('EVT-03 what the harness takes has an item in it, leaves one residue over all of it, and weighs less than before', () => {
    for (const script of scripts) {
      const fold = new EvictFold(() => 5);
      for (const act of script) {
        const before = fold.sessions > act.session ? fold.context(act.session) : [];
        const beforeBytes = fold.sessions > act.session ? fold.historyBytes(act.session) : 0;
        const outcome = fold.apply(act);
        if (act.do !== 'evict-by-harness' || !outcome.done || outcome.span === null) continue;
        const { from, to } = outcome.span;
        const within = (piece: (typeof before)[number]) =>
          piece.kind === 'item'
            ? piece.item >= from && piece.item <= to
            : piece.from >= from && piece.to <= to;
        expect(before.filter((piece) => piece.kind === 'item').some(within)).toBe(true);
        expect(fold.context(act.session).filter(within)).toEqual([{ kind: 'residue', from, to, note: null }]);
        expect(fold.historyBytes(act.session)).toBeLessThan(beforeBytes);
      }
    }
  });

  it('LIN-01 an act changes the session it names and no other, and a refused act or a reload changes none', () => {
    for (const script of scripts) {
      const fold = new EvictFold(() => 300);
      for (const act of script) {
        const before = views(fold);
        const outcome = fold.apply(act);
        const still = outcome.done && act.do !== 'reload' && act.do !== 'fork' ? act.session : -1;
        const after = views(fold);
        expect(before.filter((_, session) => session !== still)).toEqual(
          after.slice(0, before.length).filter((_, session) => session !== still),
        );
      }
    }
  });

  it('LIN-01 numbers rise in a session, whatever is cleared, left or inherited', () => {
    for (const script of scripts) {
      const fold = new EvictFold(() => 300);
      const newest = new Map<number, number>();
      for (const act of script) {
        const outcome = fold.apply(act);
        if (act.do === 'fork') newest.set(act.child, fold.nextItem(act.session) - 1);
        if (!outcome.done || outcome.item === null || act.do === 'start') continue;
        expect(outcome.item).toBe(fold.nextItem(act.session) - 1);
        expect(outcome.item).toBeGreaterThan(newest.get(act.session) ?? 0);
        newest.set(act.session, outcome.item);
      }
    }
  });
});
