/** The lexical tier: reads a directive from its own words, without a model. */

export const ACTS = [
  'converse',
  'answer',
  'locate',
  'analyze',
  'author',
  'modify',
  'operate',
  'verify',
] as const;
export type Act = (typeof ACTS)[number];

export interface Reading {
  readonly act: Act;
  readonly domains: readonly string[];
  /** 0..1; below `WEAK_BELOW` a classifier may be asked. */
  readonly confidence: number;
}

export const WEAK_BELOW = 0.75;

const SIGNALS: readonly { readonly act: Act; readonly words: RegExp }[] = [
  { act: 'locate', words: /^(?:where|which (?:files?|lines?|folders?)|find|list|search|locate)\b/iu },
  { act: 'verify', words: /^(?:check|verify|confirm|does|is it true|test whether)\b/iu },
  { act: 'analyze', words: /^(?:why|how|explain|compare|analy[sz]e|summari[sz]e|review)\b/iu },
  { act: 'author', words: /^(?:write|draft|compose|create|generate)\b/iu },
  { act: 'modify', words: /^(?:change|fix|edit|rename|replace|refactor|update|remove|add)\b/iu },
  { act: 'operate', words: /^(?:run|start|stop|deploy|install|build)\b/iu },
  { act: 'answer', words: /^(?:what|who|when|how many|how much|tell me|give me|show|read|name|say)\b/iu },
  { act: 'converse', words: /^(?:hi|hello|thanks|thank you|ok|okay|good (?:morning|evening))\b/iu },
];

/** An extension has a letter, so that a number is no file. */
const FILE_LIKE = /(?:^|[\s"'`(])[\w./-]+\.(?=\d*[A-Za-z])[A-Za-z0-9]{1,8}(?=$|[\s"'`).,:;?!])/u;
const FILE_WORDS = /\b(?:files?|folders?|director(?:y|ies)|paths?|code|source|readme|lines?)\b/iu;

export function readLexically(directive: string): Reading {
  const text = directive.trim();
  const matched = SIGNALS.find((signal) => signal.words.test(text));
  const domains = FILE_LIKE.test(text) || FILE_WORDS.test(text) ? ['filesystem'] : [];
  if (matched === undefined) return { act: 'answer', domains, confidence: 0.4 };
  return {
    act: matched.act,
    domains,
    confidence: domains.length > 0 || matched.act === 'converse' ? 0.9 : 0.75,
  };
}
