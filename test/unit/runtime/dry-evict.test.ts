/** Dry plans under `evict` against the loop: what is said to leave is what then leaves. */
import { describe, expect, it } from 'vitest';
import { dryEvict } from '../../../src/runtime/dry-evict.ts';
import { itemsContext } from '../../../src/runtime/items-context.ts';
import type { SessionConfig } from '../../../src/runtime/sessions.ts';
import { openConversation, SIMPLE_CONFIG } from '../../support/conversation.ts';
import { memoryParts, type OneProcess, openProcess } from '../../support/one-process.ts';
import { sayingTool } from '../../support/tools.ts';

const WINDOW = 8_000;
const TURNS = 10;
const CONFIG: SessionConfig = {
  ...SIMPLE_CONFIG,
  leg: 'scripted',
  policy: { name: 'evict', options: { contextWindow: WINDOW } },
  tools: ['report'],
};
/** About 700 tokens. */
const REPORT = `The lamp of station nine burns oil.\n${'It was looked at and found as it was.\n'.repeat(70)}`;

async function open(config: SessionConfig = CONFIG) {
  const parts = memoryParts();
  const process = openProcess({
    ...parts,
    tools: [sayingTool('report', 'Reports.', REPORT)],
    reply: (_, at) =>
      at % 2 === 1
        ? [{ type: 'tool_call', id: 'c', name: 'report', args: {} }]
        : [{ type: 'text', text: `Answer ${at}.` }],
  });
  const { ref, head } = await openConversation(process.engine, 'tenant', config);
  const evicted = async () => {
    const found: { readonly seq: number; readonly from: number; readonly to: number }[] = [];
    for await (const { seq, kind, body } of parts.store.records(ref))
      if (kind === 'evicted')
        found.push({ seq, ...(JSON.parse(body ?? '{}') as { from: number; to: number }) });
    return found;
  };
  return { process, ref, head, evicted };
}

const depsOf = ({ engine, planning, profiles, surface }: OneProcess) => ({
  engine,
  planning,
  profiles,
  surface,
  configs: engine.configs,
});

describe('a dry plan under evict', () => {
  it('PLN-01 EVT-01 says what will leave before the next request, at most one span, and writes nothing', async () => {
    const { process, ref, evicted } = await open();
    let [due, quiet] = [0, 0];
    for (let turn = 1; turn <= TURNS; turn++) {
      const text = `What does report ${turn} say?`;
      const before = await evicted();
      const dry = await dryEvict(depsOf(process), ref, { text, leg: process.leg });
      expect(await evicted()).toEqual(before);
      const view = await process.ask(ref, text);
      const [first] = view.steps;
      const left = (await evicted()).find(
        ({ seq }) => !before.some((one) => one.seq === seq) && seq < (first?.seq ?? 0),
      );
      expect([turn, dry.due]).toEqual([turn, left === undefined ? null : { from: left.from, to: left.to }]);
      if (dry.due === null) quiet += 1;
      else {
        due += 1;
        expect(dry.runs[0]).toMatchObject({
          ...dry.due,
          fidelity: 'residue',
          reason: 'evicted by the harness',
        });
      }
      expect(dry.number).toBe(turn);
    }
    expect([due > 0, quiet > 0]).toEqual([true, true]);
  });

  it('PLN-01 shows the recorded evictions as residues, every item once, and the lines of the window', async () => {
    const { process, ref } = await open();
    for (let turn = 1; turn <= TURNS; turn++) await process.ask(ref, `Report ${turn}?`);
    const { runs, room } = await dryEvict(depsOf(process), ref, { text: null, leg: process.leg });
    expect(runs[0]).toMatchObject({ from: 1, fidelity: 'residue' });
    const ends = runs.flatMap(({ from, to }) => [from, to]);
    expect(ends).toEqual(ends.toSorted((a, b) => a - b));
    expect(runs.at(-1)?.to).toBe(3 * TURNS);
    expect(room).toMatchObject({ unit: 'tokens' });
    const limit = room.limit ?? 0;
    expect(room.dueFrom).toBe(limit - Math.floor(limit / 4) + 1);
    expect(room.pressureFrom).toBe(limit - 2 * Math.floor(limit / 4) + 1);
    expect(limit).toBeLessThanOrEqual(WINDOW);
  });

  it('PLN-01 can be made of a session that plans otherwise', async () => {
    const { process, ref } = await open({ ...CONFIG, policy: { name: 'plan', options: {} } });
    await process.ask(ref, 'Report 1?');
    const { runs } = await dryEvict(depsOf(process), ref, { text: null, leg: process.leg });
    expect(runs).toMatchObject([
      { from: 1, to: 3, fidelity: 'verbatim', reason: 'carried as it was recorded' },
    ]);
  });

  it('PLN-03 tells what the newest request carried, the items of its own turn too, and how full it was', async () => {
    const { process, ref, head } = await open();
    for (let turn = 1; turn < TURNS; turn++) await process.ask(ref, `Report ${turn}?`);
    const turn = await process.ask(ref, `Report ${TURNS}?`);
    const state = await process.engine.store.loadSession(ref, null);
    if (state === null) throw new Error('no session');
    const { runs, room } = await itemsContext(
      { engine: process.engine, configs: process.engine.configs },
      state.session,
      { head, turn },
    );
    expect(runs.at(-1)).toMatchObject({ to: 3 * TURNS, fidelity: 'verbatim' });
    expect(runs.some(({ fidelity }) => fidelity === 'residue')).toBe(true);
    const measured = turn.measures.at(-1);
    expect(room).toMatchObject({
      used: (turn.evictions.at(-1)?.seq ?? 0) > (measured?.seq ?? 0) ? null : measured?.tokens,
    });
  });
});
