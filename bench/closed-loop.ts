/** Load that waits for its own answers: each session asks anew when its last turn has ended. */

export interface Loop {
  /** Of every turn, in order of their ends. */
  readonly turnMs: readonly number[];
  readonly elapsedMs: number;
}

/** Runs `turns` turns in all; no session stays behind the others for longer than its last turn takes. */
export async function closedLoop<Session>(
  sessions: readonly Session[],
  turns: number,
  turn: (session: Session) => Promise<number>,
): Promise<Loop> {
  const turnMs: number[] = [];
  let begun = 0;
  const startedMs = performance.now();
  await Promise.all(
    sessions.map(async (session) => {
      while (begun < turns) {
        begun += 1;
        turnMs.push(await turn(session));
      }
    }),
  );
  return { turnMs, elapsedMs: performance.now() - startedMs };
}

export function perSecond({ turnMs, elapsedMs }: Loop): number {
  return (turnMs.length / elapsedMs) * 1_000;
}
