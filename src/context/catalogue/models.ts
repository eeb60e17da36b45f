import { CLAUDE_4 } from './claude-4.ts';
import { CLAUDE_5 } from './claude-5.ts';
import { GEMINI } from './gemini.ts';
import { GPT } from './gpt.ts';
import { OPEN_WEIGHTS } from './open-weights.ts';
import type { CatalogueModel } from './row.ts';

/** The newest day on which a row was looked up. */
export const CATALOGUE_VERSION = '2026-11-30';

export const MODELS: readonly CatalogueModel[] = [
  ...CLAUDE_5,
  ...CLAUDE_4,
  ...GPT,
  ...GEMINI,
  ...OPEN_WEIGHTS,
];
