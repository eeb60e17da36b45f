/** Streams a reply to whoever watches: coalesced, and not at all while nobody does. */
import type { Clock } from '../ledger/clock.ts';
import { byteLength, type Json } from '../ledger/json.ts';
import type { Bus, DeltaFrame } from '../queues/bus.ts';

const FLUSH_MS = 50;
const FLUSH_BYTES = 2_048;

export interface DeltaSource {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly topic: string;
  /** The last durable record before the call: frames sort after it. */
  readonly seq: number;
  readonly attempt: number;
  readonly step: number;
  /** Frames numbered before this stream's first: parallel calls share a record and a fence. */
  readonly after?: number;
}

export class DeltaStream {
  readonly #source: DeltaSource;
  #text = '';
  #n: number;
  #stopTimer: (() => void) | null = null;

  constructor(source: DeltaSource) {
    this.#source = source;
    this.#n = source.after ?? 0;
  }

  started(type: 'step.started' | 'tool.started', data: Json): void {
    this.#send(type, data);
  }

  text(text: string): void {
    this.#text += text;
    if (byteLength(this.#text) >= FLUSH_BYTES) this.#flush();
    else this.#stopTimer ??= this.#source.clock.after(FLUSH_MS, () => this.#flush());
  }

  /** The reply will not stand: a client drops what it showed of it. */
  discarded(reason: string): void {
    this.end();
    this.#send('step.discarded', { step: this.#source.step, attempt: this.#source.attempt, reason });
  }

  end(): void {
    this.#flush();
  }

  #flush(): void {
    this.#stopTimer?.();
    this.#stopTimer = null;
    if (this.#text === '') return;
    const text = this.#text;
    this.#text = '';
    this.#send('step.delta', { step: this.#source.step, attempt: this.#source.attempt, text });
  }

  #send(type: DeltaFrame['type'], data: Json): void {
    const { bus, topic, seq, attempt } = this.#source;
    this.#n += 1;
    void bus.publish(topic, [{ id: `${seq}.${attempt}.${this.#n}`, type, data }]);
  }
}

/** The bus's name for a turn. */
export function turnTopic(ref: { readonly tenant: string; readonly session: string }, turn: string): string {
  return `${ref.tenant}~${ref.session}~${turn}`;
}
