import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LinkGraph } from '../../../src/context/links/graph.ts';
import { fileNames, walkLinks } from '../../../src/context/links/walk.ts';
import { Tally } from '../ledger/sample.ts';
import { indexOf, linksOf, numbersAs, planOf, type TurnSpec } from './plan-sample.ts';

/** Turns from T1 on, each by what links it. */
function graphOf(turns: readonly (readonly string[])[]): LinkGraph {
  const graph = new LinkGraph();
  for (const [at, said] of turns.entries())
    graph.append({ number: at + 1, thread: null, links: linksOf(...said) });
  return graph;
}

function reachedFrom(graph: LinkGraph, ...said: readonly string[]) {
  return walkLinks(graph, graph.anchorsOf({ thread: null, links: linksOf(...said) }), 0);
}

const idf = (turns: number, count: number) => Math.log(1 + count / turns) / Math.log(1 + count);

describe('names of files in a text', () => {
  it('PLN-05 are what ends in an extension of up to eight letters or digits, each once', () => {
    const text = 'Open `src/a.ts:12`, ./docs/notes.md, (b.tar.gz) and src/a.ts; then .env.local, x.mp4.';
    expect(fileNames(text)).toEqual(['src/a.ts', 'docs/notes.md', 'b.tar.gz', '.env.local', 'x.mp4']);
  });

  it('PLN-05 are no addresses, figures, patterns, abbreviations or plain words', () => {
    const text =
      'See https://example.org/a.html, me@example.org, www.example.org, 3.14, 1.5k, v1.2.3, *.ts, e.g. that. Done. a.verylongext .gitignore';
    expect(fileNames(text)).toEqual([]);
  });

  it('are found in one pass over millions of characters, and are at most 32', () => {
    for (const unit of ['a.', '.a', 'a/', ':1', '@']) fileNames(unit.repeat(2_000_000));
    const many = Array.from({ length: 100 }, (_, at) => `f${at}.ts`).join(' ');
    expect(fileNames(many)).toHaveLength(32);
  });
});

describe('the link signal', () => {
  it('PLN-05 weighs what was written, recalled and its own at 1, what was read, served or named at 0.8', () => {
    const graph = graphOf([['wrote a.ts'], ['read b.ts'], ['serves GOAL'], ['named c.ts'], [], []]);
    const value = (said: string, number: number) => reachedFrom(graph, said).get(number - 1)?.value;
    expect(value('wrote a.ts', 1)).toBeCloseTo(1);
    expect(value('read a.ts', 1)).toBeCloseTo(0.8);
    expect(value('read b.ts', 2)).toBeCloseTo(0.64);
    expect(value('serves GOAL', 3)).toBeCloseTo(0.64);
    expect(value('named c.ts', 4)).toBeCloseTo(0.64);
    expect(value('recalled T5', 5)).toBeCloseTo(1);
  });

  it('PLN-05 leads from a continued thread to its first turn at 0.7, and to those that went on with it', () => {
    const index = indexOf([{}, { links: linksOf('continues T1') }, {}, {}]);
    const reached = walkLinks(index.graph, index.graph.anchorsOf({ thread: 1, links: [] }), 0);
    expect(reached.get(0)?.value).toBeCloseTo(0.7 * idf(2, 4));
    expect(reached.get(1)?.value).toBeCloseTo(0.7 * 0.7 * idf(2, 4));
    expect(reached.get(1)?.path).toEqual(['thread:T1', 'turn:T2']);
  });

  it('PLN-05 goes a second step for half of what arrived, and records the way', () => {
    const graph = graphOf([['wrote b.ts'], ['wrote a.ts', 'read b.ts'], [], []]);
    const reached = reachedFrom(graph, 'wrote a.ts');
    expect(reached.get(1)?.path).toEqual(['file:a.ts', 'turn:T2']);
    expect(reached.get(0)?.value).toBeCloseTo(0.5 * 0.8 * idf(2, 4));
    expect(reached.get(0)?.path).toEqual(['file:a.ts', 'turn:T2', 'file:b.ts', 'turn:T1']);
  });

  it('PLN-05 adds up the ways to one turn, and never to more than was carried', () => {
    const graph = graphOf([['read a.ts', 'read b.ts'], [], ['read a.ts']]);
    const reached = reachedFrom(graph, 'read a.ts', 'read b.ts');
    expect(reached.get(0)?.value).toBe(1);
    expect(reached.get(2)?.value).toBeCloseTo(0.64 * idf(2, 3));
  });

  it('PLN-05 means by a name the file of that path, of that end, or of that last segment', () => {
    const graph = graphOf([['wrote app/src/a.ts'], ['read lib/a.ts'], ['read lib/aa.ts']]);
    const meant = (name: string) => graph.filesNamed(name).map(({ node }) => node.name);
    expect(meant('a.ts')).toEqual(['file:lib/a.ts', 'file:app/src/a.ts']);
    expect(meant('src/A.ts')).toEqual(['file:app/src/a.ts']);
    expect(meant('other/a.ts')).toEqual([]);
  });

  it('PLN-05 goes on from the eight turns it reached best', () => {
    const ends = Array.from({ length: 16 }, (_, at) => [`wrote x${at}.ts`]);
    const ways = ends.map((said, at) => [...said, at < 8 ? 'wrote a.ts' : 'read b.ts']);
    const reached = reachedFrom(graphOf([...ends, ...ways]), 'wrote a.ts', 'wrote b.ts');
    expect([...reached.keys()].filter((position) => position < 16)).toEqual([7, 6, 5, 4, 3, 2, 1, 0]);
    expect([...reached.keys()].filter((position) => position >= 16)).toHaveLength(16);
  });

  it('PLN-05 is bounded: eight turns a node, eight turns that go on, two steps, 1 at most', () => {
    const tally = new Tally();
    const files = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'), { maxLength: 3 });
    fc.assert(
      fc.property(fc.array(files, { minLength: 1, maxLength: 80, size: 'max' }), (turns) => {
        const graph = graphOf(turns.map((names) => names.map((name) => `wrote ${name}.ts`)));
        const reached = reachedFrom(graph, 'wrote a.ts');
        const withA = turns.flatMap((names, at) => (names.includes('a') ? [at] : []));
        const direct = [...reached].filter(([, { path }]) => path.length === 2).map(([position]) => position);
        for (const position of direct) expect(withA.slice(-8)).toContain(position);
        for (const [position, { value, path }] of reached) {
          expect(value).toBeGreaterThan(0);
          expect(value).toBeLessThanOrEqual(1);
          expect(path.at(-1)).toBe(`turn:T${position + 1}`);
          expect(path.length).toBeLessThanOrEqual(4);
        }
        tally.count({
          'beyond one step': [...reached.values()].some(({ path }) => path.length > 2),
          'more turns than a node gives': withA.length > 8,
          'nothing reached': reached.size === 0,
        });
      }),
      { numRuns: 300 },
    );
    tally.report('walks');
  });
});

describe('links in a plan', () => {
  const filler = (count: number): readonly TurnSpec[] =>
    Array.from({ length: count }, () => ({ asked: 'violin' }));

  it('PLN-05 a link without a shared word makes an old turn whole, and says by which way', () => {
    const index = indexOf([{ asked: 'orchid', links: linksOf('wrote src/a.ts') }, ...filler(29)]);
    const plan = planOf({ index, budget: 700, query: { text: 'mend a.ts please' } });
    expect(numbersAs(plan, 'full')).toContain(1);
    expect(plan.promoted).toEqual([
      { number: 1, by: 'link', value: 0.8, path: ['file:src/a.ts', 'turn:T1'] },
    ]);
  });

  it('PLN-05 a file that most turns touch links none of them', () => {
    const touched = { asked: 'violin', links: linksOf('wrote README.md') };
    const index = indexOf([...Array.from({ length: 200 }, () => touched), ...filler(100)]);
    const scene = { index, budget: 9_000 };
    expect(planOf({ ...scene, query: { text: 'look at README.md', act: 'modify' } }).promoted).toEqual([]);
  });
});
