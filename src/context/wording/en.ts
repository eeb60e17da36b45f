/** What the runtime says to a model, and in its place to a user: English. `{…}` is filled in; what fills it was made harmless. */

export const WORDING_EN = {
  /** A reply goes back with one of these. Each begins with its own mark, which no other text can carry. */
  nudges: {
    'empty-step':
      '[empty-step] Your last reply held neither text nor a tool call, so nothing was done. If you planned an action, take it now by calling the tool; if you know the answer, write it. A call whose arguments were not valid JSON may have been dropped.',
    freshness:
      '[freshness-check] A value is asked for as it stands now, and nothing was looked up in this turn. {look}',
    drift:
      '[steering-drift] Your reply repeats the answer of T{turn} word for word. Answer what is asked in this turn.',
    'call-in-prose':
      '[call-check] Your reply wrote a call of {tools} as text, so nothing was run. Make the call, or answer without it.',
    grounding:
      '[grounding-check] Your answer uses nothing of what was just looked up. Answer from those results, or say that they do not hold it.',
    'malformed-fence': '[card-check] A card in your answer cannot be shown. {reasons}',
    presentation:
      '[presentation-check] The form that is asked for is made by {tools}. Call it with what you found; if text serves better, send your answer again.',
    'stop-gate':
      '[stop-check] The work does not look finished: {reasons}. Finish it, or say plainly what is not done.',
  },
  /** The result of a card call that was not made. */
  withheld: {
    freshness:
      '[freshness-check] Not shown: the card states a value as it stands now, and nothing was looked up in this turn. {look}',
    'topic-mismatch':
      '[topic-mismatch] Not shown: the card shares no word with the request or with what was found in this turn. Make it from those results.',
    'uncited-source':
      '[uncited-source] Not shown: nothing that was found names {reasons}. Name only sources that the results hold.',
  },
  look: {
    some: 'Call {tools} first, then answer from the result.',
    none: 'No tool here can look it up: say that you have no current value.',
  },
  /** The system's answer, where a turn ends on it. */
  statements: {
    freshness: 'No current value was retrieved for this request.{figure}',
    'topic-mismatch': 'No card could be made that fits the request. What was found:{evidence}',
    'uncited-source': 'No card could be made whose sources were found. What was found:{evidence}',
    drift: 'No answer was produced: an earlier answer was repeated {times} times instead.',
    'tool-repair':
      'No answer was produced: {tools} could not be used in {times} attempts. The last error was: {error}',
  },
  figure: ' The last one on record, of {utc}, reads: {text} It may have changed since.',
  reasons: {
    plan_unfinished: 'it ends on an action that was announced and not taken',
    verification_missing: 'nothing was looked at to verify it',
    verification_stale: 'something was changed after the last look at it',
    receipt_missing: 'it says that something was done, and no call did it',
    tool_failure_unresolved: 'the last calls failed, and the answer does not say so',
    condition_unmet: 'a condition set for this work is not met',
  },
  /** By what an answer must rest on. Never so worded that it keeps a tool from being used. */
  stance: {
    sourced: 'Say where each fact comes from; look up what you do not have.',
    verified: 'Check before you say that it holds; the tools are there for that.',
  },
  stakes: {
    elevated: 'What is changed here takes work to undo: look before you change it.',
    high: 'What is done here cannot be undone: be sure of what it will touch before you call what does it.',
  },
} as const;
