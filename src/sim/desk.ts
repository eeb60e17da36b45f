/** What a running simulator holds: its models with their caches, its faults and its log. */
import type { CallLog } from './call-log.ts';
import type { SimModel, SimWire } from './contract.ts';
import type { FaultPlan } from './faults.ts';
import { PrefixCache } from './prefix-cache.ts';
import type { SharedPrefixes } from './shared-prefixes.ts';

export interface ServedModel {
  readonly model: SimModel;
  /** One a wire: each stands for a provider of its own. */
  readonly caches: Readonly<Record<SimWire, PrefixCache>>;
}

export interface Desk {
  readonly seed: number;
  readonly paced: boolean;
  readonly clock: () => number;
  /** Replaced as a whole while the server runs; a call keeps the model it arrived for. */
  models: ReadonlyMap<string, ServedModel>;
  readonly faults: FaultPlan;
  readonly log: CallLog;
  readonly prefixes: SharedPrefixes;
}

export function serveModels(models: readonly SimModel[]): ReadonlyMap<string, ServedModel> {
  return new Map(models.map((model) => [model.name, serve(model)]));
}

function serve(model: SimModel): ServedModel {
  const caches = {
    openai: new PrefixCache(model),
    'openai-responses': new PrefixCache(model),
    anthropic: new PrefixCache(model),
    ollama: new PrefixCache(model),
  };
  return { model, caches };
}
