/**
 * Searches a transcript that is made as it is pulled and never held, in a process of its own, and says what the process
 * grew by. Its arguments: how many turns, and how many bytes the texts of each have.
 */
import { systemClock } from '../../../../src/app/clock.ts';
import type { TurnText } from '../../../../src/runtime/transcript/contract.ts';
import { grepTurns } from '../../../../src/runtime/transcript/grep.ts';
import { call, Transcript, text } from './transcript-sample.ts';

const LIMITS = { deadlineMs: 60_000, clock: systemClock, signal: new AbortController().signal };
const COLLECTED_EACH_BYTES = 2_000_000;
const LINE = 'the quick brown fox jumps over the lazy dog, and again: ';

const [turns = 0, turnBytes = 0] = process.argv.slice(2).map(Number);
let peakBytes = 0;
let madeBytes = 0;
let collectedBytes = 0;

const run = async (count: number, pattern: string) =>
  grepTurns(made(count), { pattern, items: null, newest: 2 * count }, LIMITS);

// What every search needs once: a thread's own modules, and room that the process keeps.
await run(2, 'nothing of it');
const beforeBytes = process.memoryUsage.rss();
madeBytes = 0;
collectedBytes = 0;
const startedMs = performance.now();
const answer = await run(turns, 'needle in turn \\d+7$');
const seconds = (performance.now() - startedMs) / 1_000;
sample();
const total = answer.kind === 'found' ? answer.total : -1;
console.log(JSON.stringify({ total, madeBytes, grownBytes: peakBytes - beforeBytes, seconds }));

async function* made(count: number): AsyncGenerator<TurnText> {
  const transcript = new Transcript();
  for (let number = 1; number <= count; number += 1) {
    const line = `${LINE}${number}\n`;
    const whole = `${line.repeat(Math.ceil(turnBytes / line.length))}needle in turn ${number}`;
    const results = [{ evidence: 'e1', content: line, whole }];
    yield await Promise.resolve(
      transcript.write({ input: [text('look')], steps: [{ content: [call('look', {})], results }] }),
    );
    madeBytes += whole.length;
    sample();
  }
}

function sample(): void {
  // What the making of turns left behind is none of the search's. What the search still holds stays.
  if (madeBytes - collectedBytes >= COLLECTED_EACH_BYTES) {
    globalThis.gc?.();
    collectedBytes = madeBytes;
  }
  peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
}
