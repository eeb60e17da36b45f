/**
 * How producers reach the deployment: a request goes to some process, and again to another when no answer came or
 * the answer was that it may be tried again. Earlier tries may still be under way then, as in life.
 */
import { TurnwrightError } from '../../../src/ledger/errors.ts';
import type { Dice } from './dice.ts';
import type { Process } from './process.ts';
import type { Scheduler } from './scheduler.ts';

export interface FrontOptions {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly living: () => readonly Process[];
}

export type Work<T> = (process: Process) => Promise<T>;
/** `sure`: no earlier try is under way, or was never heard of again. */
export type Told<T> = { readonly value: T } | { readonly error: unknown; readonly sure: boolean };
type Heard<T> = { readonly value: T } | { readonly error: unknown } | 'nothing';

const ANSWER_WITHIN_MS = 5_000;
const AGAIN_AFTER_MS = 700;
const WIRE_MS = 3;

export class Front {
  readonly #options: FrontOptions;

  constructor(options: FrontOptions) {
    this.#options = options;
  }

  async ask<T>(work: Work<T>, again: boolean): Promise<Told<T>> {
    let sure = true;
    for (;;) {
      const heard = await this.#try(work);
      if (heard !== 'nothing' && 'value' in heard) return heard;
      const error = heard === 'nothing' ? new Error('no answer came') : heard.error;
      if (isAnswer(error)) return { error, sure };
      sure = false;
      if (!again) return { error, sure };
      if (heard !== 'nothing') await this.pass(this.#options.dice.between(0.5, 1.5) * AGAIN_AFTER_MS);
    }
  }

  pass(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#options.scheduler.after(delayMs, null, resolve);
    });
  }

  #try<T>(work: Work<T>): Promise<Heard<T>> {
    const { scheduler, dice, living } = this.#options;
    const processes = living();
    return new Promise((resolve) => {
      const answer = (heard: Heard<T>) =>
        scheduler.after(dice.between(0, WIRE_MS), null, () => resolve(heard));
      scheduler.after(ANSWER_WITHIN_MS, null, () => resolve('nothing'));
      if (processes.length === 0) return;
      const process = dice.pick(processes);
      scheduler.after(dice.between(0, WIRE_MS), process, () => {
        work(process).then(
          (value) => answer({ value }),
          (error: unknown) => answer({ error }),
        );
      });
    });
  }
}

/** A refusal that another try would meet again. */
function isAnswer(error: unknown): boolean {
  return error instanceof TurnwrightError && (!error.retryable || error.code === 'turn_running');
}
