/** The people and programs in front of the deployment. Each sends its script, and keeps a log of what it was told. */
import type { ActorRef, SessionRef } from '../../../src/db/contract.ts';
import { acceptTurn } from '../../../src/runtime/accept.ts';
import { Front, type FrontOptions } from './front.ts';
import type { Process } from './process.ts';
import type { Script } from './script.ts';
import type { Witness } from './witness.ts';

const COPIES_WITHIN_MS = 40;
const ASK_STATE_MS = 500;

export interface ProducersOptions extends FrontOptions {
  readonly witness: Witness;
  readonly sessions: readonly SessionRef[];
  readonly newId: () => string;
  readonly note: (who: string, what: string) => void;
}

export class Producers {
  readonly #options: ProducersOptions;
  readonly #front: Front;
  #open = 0;

  constructor(options: ProducersOptions) {
    this.#options = options;
    this.#front = new Front(options);
  }

  /** Nobody waits for an answer any more. */
  get idle(): boolean {
    return this.#open === 0;
  }

  /** Somebody will come to decide for this turn. */
  decideFor(turn: string): boolean {
    const told = this.#options.witness.acknowledged.filter((acknowledged) => acknowledged.turn === turn);
    return told.some(({ script }) => script.decision !== 'never');
  }

  start(scripts: readonly Script[]): void {
    for (const script of scripts)
      for (let copy = 0; copy < script.copies; copy += 1)
        void this.#awaited(() => this.#produce(script, copy));
  }

  async #awaited(work: () => Promise<void>): Promise<void> {
    this.#open += 1;
    await work();
    this.#open -= 1;
  }

  async #produce(script: Script, copy: number): Promise<void> {
    const apartMs = copy === 0 ? 0 : this.#options.dice.between(0, COPIES_WITHIN_MS);
    await this.#front.pass(script.sentMs + apartMs);
    const turn = await this.#send(script);
    // Of those with one key, one takes care of the turn.
    if (turn === null || copy > 0) return;
    if (script.decision !== 'never') void this.#decide(script, turn);
    if (script.cancelAfterMs !== null) await this.#cancel(script, turn, script.cancelAfterMs);
  }

  async #send(script: Script): Promise<string | null> {
    const { witness, note } = this.#options;
    // Without a key a second try could be a second turn.
    const told = await this.#front.ask((process) => this.#accept(process, script), script.key !== null);
    if ('error' in told) {
      note(script.name, `was refused: ${String(told.error)}`);
      if (told.sure) witness.refused.push(script);
      return null;
    }
    const { turn, created } = told.value;
    note(script.name, `was accepted as ${turn}${created ? '' : ', known'}`);
    witness.acknowledged.push({ script, turn, created });
    return turn;
  }

  #accept({ engine }: Process, script: Script) {
    const { stepBudget, deadlineMs, priority, mode, key } = script;
    return acceptTurn(engine, this.#session(script), {
      turn: this.#options.newId(),
      input: [{ type: 'text', text: script.directive }],
      mode,
      priority,
      idempotencyKey: key,
      limits: { stepBudget, deadlineMs: Math.round(deadlineMs), escalate: true },
    });
  }

  async #cancel(script: Script, turn: string, afterMs: number): Promise<void> {
    const { witness, note } = this.#options;
    await this.#front.pass(afterMs);
    witness.cancelAsked.add(turn);
    const ref = { ...this.#session(script), actor: turn };
    const event = { id: 'cancel', event: { type: 'turn.cancel' } };
    const told = await this.#front.ask(({ engine }) => engine.deliver(ref, event), true);
    const answer = 'value' in told ? told.value : String(told.error);
    note(script.name, `cancel: ${answer}`);
    if (answer === 'applied') witness.cancelled.add(turn);
  }

  /** Looks now and then whether the turn waits for a person, and decides for it, until it has ended. */
  async #decide(script: Script, turn: string): Promise<void> {
    const ref = { ...this.#session(script), actor: turn };
    for (;;) {
      await this.#front.pass(this.#options.dice.between(0.5, 1.5) * ASK_STATE_MS);
      const told = await this.#front.ask((process) => this.#decideOnce(process, ref, script), true);
      if ('value' in told && told.value === 'ended') return;
    }
  }

  async #decideOnce({ engine }: Process, ref: ActorRef, { decision }: Script): Promise<string> {
    const loaded = await engine.store.load(ref);
    if (loaded === null || loaded.actor.status === 'done') return 'ended';
    const { value, context } = JSON.parse(loaded.actor.snapshot) as {
      readonly value: unknown;
      readonly context: { readonly waitingFor: string | null };
    };
    if (value !== 'waiting') return 'moving';
    const consent = decision === 'deny' ? 'deny' : 'approve';
    const outcome = decision === 'rerun' ? 'rerun' : 'report';
    const chosen = context.waitingFor === 'outcome' ? outcome : consent;
    this.#options.witness.count(`decisions: ${chosen}`);
    await engine.submit(ref, `decide.${loaded.actor.revision}`, { type: `turn.${chosen}` });
    return 'decided';
  }

  #session({ session }: Script): SessionRef {
    const ref = this.#options.sessions[session];
    if (ref === undefined) throw new Error(`there is no session ${session}`);
    return ref;
  }
}
