/** One thing that was looked at, and how it stands. */

/**
 * `warn`: works, but not as a deployment should. `skipped`: could not be looked at, because of an earlier finding or
 * because there is nothing to look at. `unreachable`: does not answer.
 */
export type Finding = 'ok' | 'warn' | 'fail' | 'unreachable' | 'skipped';

export interface Check {
  readonly name: string;
  readonly finding: Finding;
  /** What was found, and what to do unless it is well. */
  readonly detail: string;
}

export function check(name: string, finding: Finding, detail: string): Check {
  return { name, finding, detail };
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
