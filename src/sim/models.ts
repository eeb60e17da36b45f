/** The models served when none are given: one whose limits a short session reaches, one with room. */
import { type SimModel, simModels } from './contract.ts';
import { firstIssue } from './untyped.ts';

export const SIM_DESCRIPTION = 'simulated model: answers from the request alone, no language model behind it';

/** Sent with every response, so that no reader takes a simulated answer for a real one. */
export const SIM_HEADERS: Readonly<Record<string, string>> = { 'x-simulated': 'true' };

export const DEFAULT_SIM_MODELS: readonly SimModel[] = [
  {
    name: 'sim-small',
    window: 8_192,
    horizon: 6_500,
    tokensPerByte: 0.27,
    maxOutputTokens: 1_024,
    prefillTokensPerSecond: 1_500,
    decodeTokensPerSecond: 60,
    quantisation: 'Q4_K_M',
    supportsImages: false,
  },
  {
    name: 'sim-large',
    window: 131_072,
    horizon: 60_000,
    tokensPerByte: 0.24,
    maxOutputTokens: 8_192,
    prefillTokensPerSecond: 8_000,
    decodeTokensPerSecond: 120,
    quantisation: 'F16',
    supportsImages: true,
  },
];

export type ParsedModels =
  | { readonly ok: true; readonly models: readonly SimModel[] }
  | { readonly ok: false; readonly message: string };

/** Reads models that came over HTTP; the message names the first wrong field. */
export function parseModels(value: unknown): ParsedModels {
  const parsed = simModels.safeParse(value);
  if (parsed.success) return { ok: true, models: parsed.data };
  return { ok: false, message: `models refused at ${firstIssue(parsed.error)}` };
}
