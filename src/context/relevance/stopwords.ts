/** Words that name no subject. Left out of what is indexed and of what is asked alike. */

const ARTICLES_AND_PRONOUNS = `a an the this that these those it its i me my mine we us our ours you your yours he him
  his she her hers they them their theirs one ones some any all both each every either neither other another such
  same someone something anyone anything everyone everything nobody nothing itself myself yourself`;
const PREPOSITIONS_AND_CONJUNCTIONS = `of in on at by to from into onto out up down off over under with without within
  for about between among across per via against through along around behind beside beyond despite toward towards
  upon and or nor but if then than so as because though although unless whether while`;
const AUXILIARIES = `is are was were be been being am do does did done doing have has had having can could will would
  shall should may might must need ought let lets im ive id isn aren wasn weren don doesn didn hasn haven hadn couldn
  wouldn shouldn won ll ve re`;
const QUESTIONS = 'what which who whom whose where when why how';
const TIMES = `now today tonight tomorrow yesterday currently current latest recent recently earlier later before after
  again still yet already soon ago always never sometimes often once last next first second third previous previously
  above below morning evening week month year day time times`;
const INSTRUCTIONS = `please kindly thanks thank hello hi hey okay ok yes no not tell give show find look see check get
  got fetch say says said answer reply respond respond explain describe define make made take use using used call want
  like know think help try put set go going come continue keep number amount list name mention repeat word words
  sentence sentences line lines question thing things just only also too even really quite very exactly briefly short
  quick quickly more most much many few less least enough here there well back new`;

const STOPWORDS: ReadonlySet<string> = new Set(
  [ARTICLES_AND_PRONOUNS, PREPOSITIONS_AND_CONJUNCTIONS, AUXILIARIES, QUESTIONS, TIMES, INSTRUCTIONS]
    .join(' ')
    .split(/\s+/),
);

/** `word` in lower case. */
export function isStopword(word: string): boolean {
  return STOPWORDS.has(word);
}
