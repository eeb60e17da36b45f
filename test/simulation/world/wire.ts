/**
 * The way from a process to the database and the queue. Each call becomes two entries of the schedule: the effect,
 * when the request arrives, and the answer. In between everything may happen to whoever asked.
 */
import type { Claim, Commit } from '../../../src/db/contract.ts';
import type { Dice } from './dice.ts';
import { type Faults, noAnswer, refusal } from './faults.ts';
import type { Owner, Scheduler } from './scheduler.ts';

export type Server = 'database' | 'queue';

export interface Call {
  readonly server: Server;
  readonly method: string;
  readonly arguments: readonly unknown[];
  /** What the server does; its body runs at once. */
  readonly effect: () => Promise<unknown>;
}

export interface WireOptions {
  readonly scheduler: Scheduler;
  readonly faults: Pick<Faults, 'happens'>;
  readonly dice: Dice;
  readonly away: (server: Server) => boolean;
  readonly crash: (owner: Owner) => void;
  readonly saw: (owner: Owner, call: Call, end: WireEnd) => void;
}

/** `unsent`: its process died first. `refused`: nothing happened. `forgotten`: it happened, and only an error came. */
export type WireEnd =
  | { readonly kind: 'answered' | 'forgotten' | 'unheard'; readonly value: unknown }
  | { readonly kind: 'unsent' | 'refused' }
  | { readonly kind: 'failed'; readonly error: unknown };

const FASTEST_MS = 0.1;
const USUAL_MS = 2;
const SLOW_MS = 4_000;

export class Wire {
  readonly #options: WireOptions;

  constructor(options: WireOptions) {
    this.#options = options;
  }

  /** `target` as `owner` reaches it. */
  to<T extends object>(owner: Owner, server: Server, target: T): T {
    return new Proxy(target, {
      get: (held, name) => {
        const member: unknown = Reflect.get(held, name);
        if (typeof member !== 'function' || typeof name !== 'string') return member;
        return (...given: unknown[]) =>
          this.send(owner, {
            server,
            method: name,
            arguments: given,
            effect: () => Reflect.apply(member, held, given) as Promise<unknown>,
          });
      },
    });
  }

  send(owner: Owner, call: Call): Promise<unknown> {
    const { scheduler } = this.#options;
    return new Promise((resolve, reject) => {
      scheduler.after(this.latencyMs(), null, () => {
        void this.#arrive(owner, call).then((end) => {
          this.#options.saw(owner, call, end);
          if (end.kind === 'unheard') this.#options.crash(owner);
          scheduler.after(this.latencyMs(), owner, () => this.#answer(call, end, { resolve, reject }));
        });
      });
    });
  }

  latencyMs(): number {
    const { dice, faults } = this.#options;
    return faults.happens('slow') ? dice.between(USUAL_MS, SLOW_MS) : dice.between(FASTEST_MS, USUAL_MS);
  }

  async #arrive(owner: Owner, call: Call): Promise<WireEnd> {
    const { faults, dice, away, crash } = this.#options;
    const dies = owner.alive && faults.happens('crashBefore');
    if (dies) crash(owner);
    // What a dead process had sent may arrive all the same.
    if (!owner.alive && (dies || dice.chance(0.5))) return { kind: 'unsent' };
    if (away(call.server) || faults.happens('refused')) return { kind: 'refused' };
    if ((call.method === 'sweep' || call.method === 'admit') && call.server === 'database')
      if (faults.happens('lockHeld')) return { kind: 'answered', value: null };
    try {
      const value = await call.effect();
      if (owner.alive && faults.happens('crashAfter')) return { kind: 'unheard', value };
      return { kind: faults.happens('forgotten') ? 'forgotten' : 'answered', value };
    } catch (error) {
      return { kind: 'failed', error };
    }
  }

  #answer(
    { server }: Call,
    end: WireEnd,
    { resolve, reject }: { resolve: (value: unknown) => void; reject: (error: unknown) => void },
  ): void {
    if (end.kind === 'answered' || end.kind === 'unheard') resolve(end.value);
    else if (end.kind === 'failed') reject(end.error);
    else reject(end.kind === 'refused' ? refusal(server, this.#options.dice) : noAnswer(server));
  }
}

const SHOWN_CHARS = 40;

/** A call in one line. */
export function shown({ method, arguments: given }: Call, end: WireEnd): string {
  const asked = given.map((value) => brief(value)).join(', ');
  const answer = 'value' in end ? brief(end.value) : end.kind === 'failed' ? String(end.error) : '';
  return `${method}(${asked}) ${end.kind} ${answer}`.trimEnd();
}

function brief(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value ?? '').slice(0, SHOWN_CHARS);
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[${brief(value[0])} of ${value.length}]`;
  if ('baseSeq' in value) return commitInBrief(value as Commit);
  if ('call' in value) return `fence ${(value as Claim).call.fence}`;
  if ('ref' in value) return brief(value.ref);
  if ('actor' in value && typeof value.actor === 'string') {
    const { actor, child, dispatch } = value as { actor: string; child?: string; dispatch?: number };
    return [actor, child, dispatch].filter((part) => part !== undefined).join('~');
  }
  const plain = Object.entries(value).filter(([, member]) => typeof member !== 'object');
  return `{${plain.map(([name, member]) => `${name} ${String(member).slice(0, SHOWN_CHARS)}`).join(', ')}}`;
}

function commitInBrief({ baseSeq, settle, events, records, outbox, cancels }: Commit): string {
  const parts = [
    `at ${baseSeq}`,
    settle === undefined ? '' : `${settle.actor}~${settle.child} fence ${settle.fence} ${settle.status}`,
    events.map(({ actor, id }) => `${actor}:${id}`).join(' '),
    records.map(({ kind }) => kind).join(' '),
    outbox
      .map(({ child, dispatch, admitted }) => `→${child}~${dispatch}${admitted ? '' : ' held'}`)
      .join(' '),
    cancels.map(({ child }) => `✗${child}`).join(' '),
  ];
  return `[${parts.filter((part) => part !== '').join(' | ')}]`;
}
