/** A turn as it happens, a line an event: which pool worked, what it did, what it cost. */
import type { Usage } from '../../context/request.ts';
import { promptTokens } from '../../context/request.ts';
import { type Output, oneLine } from '../output.ts';
import type { Style } from '../style.ts';
import { count, duration, percent } from './figures.ts';

const POOL_WIDTH = 8;
const QUESTION_CHARS = 90;
const ANSWER_CHARS = 160;
const WHAT_WIDTH = 34;

export class Progress {
  readonly #output: Output;
  readonly #style: Style;

  constructor(output: Output, style: Style) {
    this.#output = output;
    this.#style = style;
  }

  note(text: string): void {
    this.#output.progress(this.#style.dim(text));
  }

  question(number: number, text: string): void {
    const { bold } = this.#style;
    this.#output.progress(`\n${bold(String(number).padStart(2))}  ${bold(oneLine(text, QUESTION_CHARS))}`);
  }

  step(step: number, tools: readonly string[], usage: Usage | null): void {
    const what = `${step} ${tools.length > 0 ? `calls ${tools.join(', ')}` : 'answers'}`;
    const cost =
      usage === null
        ? ''
        : `${count(promptTokens(usage)).padStart(7)} tokens  ${percent(usage.cacheReadTokens, promptTokens(usage)).padStart(4)} cached`;
    this.pool('step', `${oneLine(what, WHAT_WIDTH).padEnd(WHAT_WIDTH)}${this.#style.dim(cost)}`);
  }

  pool(pool: string, what: string): void {
    this.#output.progress(`    ${this.#style.note(pool.padEnd(POOL_WIDTH))} ${what}`);
  }

  end(outcome: string, reason: string, ms: number, answer: string | null): void {
    const { good, bad, dim } = this.#style;
    const mark = outcome === 'completed' ? good('✓ completed') : bad(`✗ ${outcome} (${reason})`);
    this.#output.progress(`    ${mark} ${dim(`in ${duration(ms)}`)}`);
    if (answer !== null) this.#output.progress(`    ${dim('“')}${oneLine(answer, ANSWER_CHARS)}${dim('”')}`);
  }
}
