/** What checks say of a reply and what follows from it, as it is recorded. */
import { z } from 'zod';

const count = z.int().nonnegative();

/** What may be wrong with a reply, in the words of records, events and metrics. */
export const CHECKS = [
  'empty-step',
  'repeated-card',
  'freshness',
  'topic-mismatch',
  'uncited-source',
  'drift',
  'call-in-prose',
  'grounding',
  'malformed-fence',
  'repeated-fence',
  'presentation',
  'stop-gate',
  'tool-repair',
] as const;
export type Check = (typeof CHECKS)[number];

/** What followed: the reply goes back, a card is kept from being made, the turn closes on the system's words, or it is only noted. */
export const VERDICTS = ['redo', 'withheld', 'refused', 'noted'] as const;
export type Verdict = (typeof VERDICTS)[number];

const names = z.array(z.string());

/** What a check found, and what it was about, where it was about something. */
const found = {
  step: count,
  check: z.enum(CHECKS),
  /** Tools it names. */
  tools: names.exactOptional(),
  /** The turn it names. */
  turn: count.exactOptional(),
  /** Reason codes, or faults in words. */
  reasons: names.exactOptional(),
};

export const JUDGING_RECORDS = {
  /** The reply of the step goes back with a word on what was wrong. */
  nudge: z.strictObject(found),
  /** What a check that closes a turn has to say of what it found. */
  finding: z.strictObject({
    step: count,
    check: z.enum(CHECKS),
    /** The last figure that was recorded of what is asked, and when. */
    figure: z.strictObject({ text: z.string(), turn: count, utc: z.string() }).exactOptional(),
  }),
  /** The answer is the system's: the reply of the step does not stand. */
  statement: z.strictObject({ step: count, check: z.enum(CHECKS), text: z.string() }),
} as const;

export const checkFired = z.strictObject({
  step: count,
  check: z.enum(CHECKS),
  verdict: z.enum(VERDICTS),
  reasons: names.exactOptional(),
});
