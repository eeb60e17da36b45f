/** What a request may be about and what a tool may serve: one vocabulary for readings and tools. */
export const DOMAINS = [
  'filesystem',
  'memory',
  'web',
  'live-data',
  'vcs',
  'code-exec',
  'documents',
  'observability',
] as const;
export type Domain = (typeof DOMAINS)[number];
