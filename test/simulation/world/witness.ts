/**
 * What was seen from outside while a world ran: by its producers, by the models and tools, and on the way to the
 * database. The oracle's expectations come from here, never from the database alone.
 */

import type { ChatRequest } from '../../../src/context/request.ts';
import type { Claim, ClaimedCall, Commit, KnownClaim, SweepResult } from '../../../src/db/contract.ts';
import type { BodyOf } from '../../../src/ledger/kinds.ts';
import { visibleText } from '../../../src/ledger/view.ts';
import { type Purpose, scriptNamed } from './replies.ts';
import type { Owner } from './scheduler.ts';
import type { Script } from './script.ts';
import type { Call, WireEnd } from './wire.ts';

/** A request a model received; `no` is unique in its world and stands in every reply. */
export interface ModelCall {
  readonly no: number;
  readonly process: string;
  readonly script: string;
  readonly purpose: Purpose;
  readonly request: ChatRequest;
  readonly atMs: number;
  /** What the model answered, or would have. */
  readonly end: string;
}

export interface Effect {
  readonly process: string;
  readonly tool: string;
  readonly key: string;
}

export interface Acknowledged {
  readonly script: Script;
  readonly turn: string;
  readonly created: boolean;
}

export interface Granted {
  readonly actor: string;
  readonly child: string;
  readonly src: string;
  readonly fence: number;
  readonly token: number;
  readonly process: string;
  readonly atMs: number;
  /** The claim reached the worker. */
  readonly heard: boolean;
}

export interface Applied {
  readonly commit: Commit;
  readonly process: string;
  readonly atMs: number;
  readonly databaseMs: number;
  /** The answer reached who asked. */
  readonly heard: boolean;
}

/** When a process could not be counted on, and why. `process: null` means all of them. */
export interface Trouble {
  readonly process: string | null;
  readonly what: string;
  readonly fromMs: number;
  readonly toMs: number;
}

const COUNTED_RECORDS: Readonly<Record<string, string>> = {
  packet: 'packets',
  reset: 'resets',
  evicted: 'evictions',
  'late-result': 'results too late',
  'turn-steered': 'turns steered',
  'call-retrying': 'calls retried',
  'capacity-feedback': 'requests too long',
  'evidence-body': 'results too large to show',
};

export class Witness {
  readonly calls: ModelCall[] = [];
  readonly effects: Effect[] = [];
  readonly acknowledged: Acknowledged[] = [];
  readonly refused: Script[] = [];
  /** Turns whose cancellation was confirmed, and those for which one was asked. */
  readonly cancelled = new Set<string>();
  readonly cancelAsked = new Set<string>();
  readonly granted: Granted[] = [];
  readonly applied: Applied[] = [];
  /** Heartbeats that were written. */
  readonly beats: { readonly process: string; readonly atMs: number }[] = [];
  readonly troubles: Trouble[] = [];
  readonly errors: { readonly process: string; readonly error: unknown }[] = [];
  readonly counts = new Map<string, number>();
  readonly #names = new Map<string, string>();

  /** The script of a turn. */
  scriptOf(turn: string): string | undefined {
    return this.#names.get(turn);
  }

  count(what: string, by = 1): void {
    if (by > 0) this.counts.set(what, (this.counts.get(what) ?? 0) + by);
  }

  /** Notes what a call did; returns the turn it accepted, if it did. */
  saw(owner: Owner, call: Call, end: WireEnd, atMs: number, databaseMs: number): void {
    if (end.kind !== 'answered') this.trouble(owner.name, `${call.method} ${end.kind}`, atMs, atMs);
    if (!('value' in end)) return;
    if (call.method === 'beat') this.beats.push({ process: owner.name, atMs });
    if (call.method === 'sweep')
      this.count('calls taken over', (end.value as SweepResult | null)?.taken ?? 0);
    if (call.method === 'claimKnown' && isRemembered(end.value)) this.count('claims from memory');
    const granted = claimedCall(call, end.value);
    if (granted !== null) this.#claimed(owner, call, granted, end.kind === 'answered', atMs);
    if (call.method === 'apply' && end.value === 'applied')
      this.#appliedBy(call.arguments[0] as Commit, {
        process: owner.name,
        atMs,
        databaseMs,
        heard: end.kind === 'answered',
      });
  }

  trouble(process: string | null, what: string, fromMs: number, toMs: number): void {
    this.troubles.push({ process, what, fromMs, toMs });
  }

  #claimed(
    owner: Owner,
    call: Call,
    { child, src, fence, token }: ClaimedCall,
    heard: boolean,
    atMs: number,
  ): void {
    const { actor } = call.arguments[0] as { readonly actor: string };
    this.granted.push({ actor, child, src, fence, token, process: owner.name, atMs, heard });
  }

  #appliedBy(commit: Commit, how: Omit<Applied, 'commit'>): void {
    this.applied.push({ commit, ...how });
    for (const { kind } of commit.records)
      if (kind in COUNTED_RECORDS) this.count(COUNTED_RECORDS[kind] ?? kind);
    this.count(
      'events left to another release',
      commit.events.filter(({ revision }) => revision === null).length,
    );
    this.count('timers fired', commit.events.filter(({ id }) => id.startsWith('timer.')).length);
    for (const { kind, turnId, body } of commit.records) {
      if (kind !== 'turn-accepted' || turnId === null) continue;
      const { input } = JSON.parse(body) as BodyOf<'turn-accepted'>;
      this.#names.set(turnId, scriptNamed(visibleText(input)) ?? '?');
    }
  }
}

function isRemembered(answer: unknown): boolean {
  return answer !== null && (answer as KnownClaim).changed === undefined;
}

function claimedCall({ method }: Call, answer: unknown): ClaimedCall | null {
  if (method === 'claim') return (answer as Claim | null)?.call ?? null;
  if (method !== 'claimKnown') return null;
  const known = answer as KnownClaim | null;
  if (known === null) return null;
  return known.changed === undefined ? known.call : known.changed.call;
}
