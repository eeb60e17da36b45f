/** What a peer's process and the bench say to each other. */
import type { Loop } from './closed-loop.ts';

/** Names of sessions, and how many turns they run in all. */
export interface PeerLoad {
  readonly sessions: readonly string[];
  readonly turns: number;
}

export type FromPeer =
  | { readonly type: 'ready'; readonly versions: readonly string[]; readonly settings: string }
  | { readonly type: 'ran'; readonly loop: Loop; readonly cpuMs: number };
