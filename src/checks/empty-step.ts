/** A reply with neither visible text nor a call is no answer: the model planned in its thinking and stopped. */
export function isEmptyStep(callCount: number, text: string): boolean {
  return callCount === 0 && text.trim() === '';
}
