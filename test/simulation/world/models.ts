/**
 * The models: one service outside every process. It says what the script of the turn says at this point, which it
 * reads off the request, and keeps a log of all it was asked.
 */
import type { ChatReply, ChatRequest } from '../../../src/context/request.ts';
import type {
  CallOptions,
  CallOutcome,
  Leg,
  Provider,
  ProviderFailure,
} from '../../../src/providers/contract.ts';
import type { Dice } from './dice.ts';
import type { Faults } from './faults.ts';
import { classification, failureOf, type Reading, reading, replyOf, summaryOf } from './replies.ts';
import type { Owner, Scheduler } from './scheduler.ts';
import type { Round, Script } from './script.ts';
import type { Witness } from './witness.ts';

/** So few broken connections a turn that they alone never use up its attempts. */
const BROKEN_PER_TURN = 2;
const WIRE_MS = 30;
const QUICKEST_MS = 20;
const QUICK_MS = 1_500;
/** Longer than a lease. */
const SLOW_MS = 9_000;
const SLOW_REPLIES = 0.1;
const TIMEOUT_MS = 30_000;
const WINDOW_TOKENS: Readonly<Record<Script['leg'], number>> = { wide: 60_000, narrow: 1_500 };

type Failed = { readonly failed: ProviderFailure };
type Said<T> = T | Failed | 'silence';
type Limits = Pick<CallOptions, 'signal' | 'timeoutMs'>;

export interface ModelsOptions {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly faults: Pick<Faults, 'happens' | 'quiet'>;
  readonly witness: Witness;
  readonly scripts: ReadonlyMap<string, Script>;
}

export class Models {
  readonly #options: ModelsOptions;
  /** Requests received so far for one round of one script. */
  readonly #asked = new Map<string, number>();
  readonly #broken = new Map<string, number>();
  #no = 0;

  constructor(options: ModelsOptions) {
    this.#options = options;
  }

  leg(name: string): Leg {
    const window = WINDOW_TOKENS[name as Script['leg']];
    return { name, provider: 'openai', model: name, window, maxOutputTokens: 200, timeoutMs: TIMEOUT_MS };
  }

  /** As one process reaches them. */
  reachedBy(owner: Owner): Provider {
    const metadata = { declaredWindow: 80_000, maxOutputTokens: 400, quantisation: null };
    return {
      searchesTools: false,
      embed: null,
      call: (request, options) => this.#call(owner, request, options),
      describe: async (options) => {
        const said = await this.#exchange(owner, options, 'metadata', () => ({ metadata }));
        return 'failed' in said ? { ok: false, failure: said.failed } : { ok: true, ...said };
      },
    };
  }

  async #call(owner: Owner, request: ChatRequest, options: CallOptions): Promise<CallOutcome> {
    const asked = reading(request);
    const said = await this.#exchange(owner, options, asked.script, () => this.#say(owner, request, asked));
    return 'failed' in said ? { ok: false, failure: said.failed } : { ok: true, reply: said };
  }

  /** There and back, once: aborted, timed out, broken off, or what the model said. */
  #exchange<T extends object>(
    owner: Owner,
    { signal, timeoutMs }: Limits,
    script: string,
    say: () => Said<T>,
  ): Promise<T | Failed> {
    const { scheduler, dice, faults } = this.#options;
    return new Promise((resolve) => {
      let received = '';
      const fail = (failure: ProviderFailure) => () =>
        resolve({ failed: { ...failure, message: `${failure.message}${received}` } });
      const onAbort = fail({ kind: 'aborted', message: 'aborted' });
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
      scheduler.after(timeoutMs, owner, fail({ kind: 'retryable', code: 'timeout', message: 'timed out' }));
      scheduler.after(dice.between(1, WIRE_MS), null, () => {
        // What a dead process had sent may arrive all the same.
        if (signal.aborted || (!owner.alive && dice.chance(0.5))) return;
        const breaks = this.#breaks(script);
        const arrives = !breaks || dice.chance(0.5);
        const said = arrives ? say() : 'silence';
        if (arrives) received = `#${this.#no}`;
        const slow = !faults.quiet && dice.chance(SLOW_REPLIES);
        const tookMs = dice.between(QUICKEST_MS, slow ? SLOW_MS : QUICK_MS);
        const broken = fail({ kind: 'retryable', code: 'network', message: 'the connection broke' });
        if (breaks) scheduler.after(tookMs, owner, broken);
        else if (said !== 'silence') scheduler.after(tookMs, owner, () => resolve(said));
      });
    });
  }

  #breaks(script: string): boolean {
    const before = this.#broken.get(script) ?? 0;
    if (before >= BROKEN_PER_TURN || !this.#options.faults.happens('networkBroken')) return false;
    this.#broken.set(script, before + 1);
    this.#options.witness.count('connections broken');
    return true;
  }

  #say(owner: Owner, request: ChatRequest, { script, round, purpose }: Reading): Said<ChatReply> {
    const { witness, scheduler, scripts } = this.#options;
    this.#no += 1;
    const no = this.#no;
    const place = `${script}/${purpose}/${round}`;
    const earlier = this.#asked.get(place) ?? 0;
    this.#asked.set(place, earlier + 1);
    const scripted: Round = scripts.get(script)?.rounds[round] ?? { says: 'answer', failures: [] };
    const failure = purpose === 'step' ? scripted.failures[earlier] : undefined;
    const end = failure ?? (purpose === 'step' ? scripted.says : purpose);
    witness.calls.push({ no, process: owner.name, script, purpose, request, atMs: scheduler.nowMs, end });
    if (failure !== undefined) return { failed: failureOf(failure, no) };
    if (purpose === 'intent') return classification(no, request);
    if (purpose === 'summary') return summaryOf(no, request);
    return scripted.says === 'silence' ? 'silence' : replyOf(scripted, script, no, request);
  }
}
