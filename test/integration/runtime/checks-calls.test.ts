/** Calls that fail again and again, and calls that are only written. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/tools/define.ts';
import { type ChecksStack, lastOf, openChecks, SOUND, slips, stubborn, wholeOf } from './checks-stack.ts';

const FILES = {
  'stores.md': '# Stores\n\nThe zinc price at Tarvo is 4127 marks.\n',
  'calls.md': '# Calls\n\nread({"path":"stores.md"}) is one of the calls.\n',
};
const ZINC = 'In stores.md, what is the zinc price at Tarvo?';
const ANSWER = 'In stores.md: The zinc price at Tarvo is 4127 marks.';
const ERROR_CHARS = 320;

/** It takes nothing, and says at length why. */
const fussy = z.string().refine(() => false, `a width ${'that the miller likes and '.repeat(20)}no other`);
const jammed = defineTool({
  name: 'open_sluice',
  description: 'Opens the sluice of the mill.',
  input: z.strictObject({ width: fussy, depth: fussy, slope: fussy }),
  effect: 'read',
  run: async () => 'It is open.',
});

describe('calls that fail', () => {
  let checks: ChecksStack;
  beforeAll(async () => {
    checks = await openChecks([jammed], FILES);
  });
  afterAll(() => checks.close());

  it('CHK-08 arguments that do not fit come back with what to correct, and the next call works', async () => {
    const seen = await checks.see(slips('badArguments'), ['read'], [ZINC]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', answer: ANSWER, fired: [] });
    expect(seen.results.map(({ status }) => status)).toEqual(['invalid_args', 'ok']);
    expect(lastOf(seen.requests[1])).toMatch(
      /path: found 0.*\nTo repair: correct the arguments and call read again\.$/su,
    );
    expect(lastOf(seen.requests[1])).not.toContain('"properties"');
  });

  it('CHK-08 the second failing batch shows the schema again, and the third ends the turn with tool and error', async () => {
    const seen = await checks.see(stubborn('badArguments'), ['read'], [ZINC]);
    expect(seen).toMatchObject({ outcome: 'degraded', reason: 'tool_repair_exhausted', steps: 3 });
    expect(seen.fired).toEqual([
      { step: 2, check: 'tool-repair', verdict: 'redo' },
      { step: 3, check: 'tool-repair', verdict: 'refused' },
    ]);
    expect(lastOf(seen.requests[2])).toContain('\nThe arguments of read: {"');
    expect(seen.answer).toMatch(
      /^No answer was produced: read could not be used in 3 attempts\. The last error was: The arguments of read do not fit: - path: found 0/u,
    );
  });

  it('CHK-08 F35 arguments that are no JSON are not dropped: they come back, and the third time ends the turn', async () => {
    checks.stack.sim.setFaults([{ match: { model: SOUND.name }, fault: { name: 'malformed_tool_args' } }]);
    const seen = await checks.see(SOUND.name, ['read'], [ZINC]).finally(() => checks.stack.sim.setFaults([]));
    expect(seen).toMatchObject({ outcome: 'degraded', reason: 'tool_repair_exhausted' });
    expect(seen.results.map(({ status }) => status)).toEqual([
      'invalid_args',
      'invalid_args',
      'invalid_args',
    ]);
    expect(seen.fired.map(({ check, verdict }) => [check, verdict])).toEqual([
      ['tool-repair', 'redo'],
      ['tool-repair', 'refused'],
    ]);
    checks.stack.sim.setFaults([
      { match: { model: SOUND.name, count: 2 }, fault: { name: 'malformed_tool_args' } },
    ]);
    const healed = await checks
      .see(SOUND.name, ['read'], [ZINC])
      .finally(() => checks.stack.sim.setFaults([]));
    expect(healed).toMatchObject({ outcome: 'completed', answer: ANSWER });
    expect(healed.fired.map(({ check, verdict }) => [check, verdict])).toEqual([['tool-repair', 'redo']]);
  });

  it('CHK-08 a call that fails once and is spoken of ends no turn', async () => {
    const seen = await checks.see(SOUND.name, ['read'], ['In missing.md, what is the zinc price?']);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', fired: [] });
    expect(seen.results.map(({ status }) => status)).toEqual(['error']);
  });

  it('CHK-08 the last words of a turn quote no more of an error than a line', async () => {
    const seen = await checks.see(stubborn('badArguments'), ['open_sluice'], ['Call the open_sluice tool.']);
    expect(seen).toMatchObject({ outcome: 'degraded', reason: 'tool_repair_exhausted' });
    expect(String(seen.results.at(-1)?.content).length).toBeGreaterThan(2 * ERROR_CHARS);
    const [said = '', error = ''] = (seen.answer ?? '').split(' The last error was: ');
    expect(said).toBe('No answer was produced: open_sluice could not be used in 3 attempts.');
    expect(error.length).toBeGreaterThan(ERROR_CHARS / 2);
    expect(error.length).toBeLessThanOrEqual(ERROR_CHARS);
    expect(error).not.toContain('\n');
  });

  it('CHK-06 F47 a call written as text goes back with the name of its tool, and the redo makes it', async () => {
    const seen = await checks.see(slips('writesCalls'), ['read'], [ZINC]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', answer: ANSWER });
    expect(seen.said[0]).toBe('read {"path":"stores.md"}');
    expect(seen.fired).toEqual([{ step: 1, check: 'call-in-prose', verdict: 'redo' }]);
    expect(seen.nudges).toEqual([{ step: 1, check: 'call-in-prose', tools: ['read'] }]);
    expect(lastOf(seen.requests[1])).toMatch(/^\[call-check\] Your reply wrote a call of read as text/u);
    expect(wholeOf(seen.requests[1])).not.toContain(JSON.stringify(seen.said[0]).slice(1, -1));
  });

  it('CHK-06 F47 a call written as text again stands as text, and is never made', async () => {
    const seen = await checks.see(stubborn('writesCalls'), ['read'], [ZINC]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', results: [] });
    expect(seen.fired).toEqual([{ step: 1, check: 'call-in-prose', verdict: 'redo' }]);
    expect(seen.answer).toBe('read {"path":"stores.md"}');
  });

  it('CHK-06 a file that tells of a call may be spoken of', async () => {
    const seen = await checks.see(SOUND.name, ['read'], ['Which lines does calls.md hold about the calls?']);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', fired: [] });
    expect(seen.answer).toContain('one of the calls');
  });
});
