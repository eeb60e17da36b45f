/** Which fault, if any, a call meets. Rules are tried in order; the first that matches fires. */
import { type Fault, type FaultRule, faultRules, type SimWire } from './contract.ts';
import { draw } from './random.ts';
import { firstIssue } from './untyped.ts';

export interface FaultSubject {
  readonly n: number;
  readonly wire: SimWire;
  readonly model: string;
}

export class FaultPlan {
  readonly #seed: number;
  #rules: readonly FaultRule[] = [];
  #fired: number[] = [];

  constructor(seed: number, rules: readonly FaultRule[]) {
    this.#seed = seed;
    this.set(rules);
  }

  /** Counts start anew. */
  set(rules: readonly FaultRule[]): void {
    this.#rules = [...rules];
    this.#fired = rules.map(() => 0);
  }

  pick(subject: FaultSubject): Fault | null {
    for (const [index, rule] of this.#rules.entries()) {
      if (!this.#matches(rule, index, subject)) continue;
      this.#fired[index] = (this.#fired[index] ?? 0) + 1;
      return rule.fault;
    }
    return null;
  }

  #matches(rule: FaultRule, index: number, subject: FaultSubject): boolean {
    const match = rule.match ?? {};
    if (match.model !== undefined && match.model !== subject.model) return false;
    if (match.wire !== undefined && match.wire !== subject.wire) return false;
    if (match.fromCall !== undefined && subject.n < match.fromCall) return false;
    if (match.count !== undefined && (this.#fired[index] ?? 0) >= match.count) return false;
    return match.probability === undefined || draw(this.#seed, 'fault', index, subject.n) < match.probability;
  }
}

export type ParsedRules =
  | { readonly ok: true; readonly rules: readonly FaultRule[] }
  | { readonly ok: false; readonly message: string };

/** Reads rules that came over HTTP; the message names the first wrong field. */
export function parseFaultRules(value: unknown): ParsedRules {
  const parsed = faultRules.safeParse(value);
  if (parsed.success) return { ok: true, rules: parsed.data };
  return { ok: false, message: `fault rules refused at ${firstIssue(parsed.error)}` };
}
