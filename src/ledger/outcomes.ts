/** How a turn may end. */
export const OUTCOMES = ['completed', 'degraded', 'failed', 'cancelled'] as const;
export type Outcome = (typeof OUTCOMES)[number];
