/**
 * English: how a directive falls into parts, and how a part points at what was asked before. Small letters throughout;
 * words are parted by white space, phrases by bars. Punctuation between the words of a phrase does not matter.
 */

/** Come after the part before; each opens a part wherever a request follows it. */
const SEQUENCE = `
  and then | after that | and after that | afterwards | and afterwards | and finally | finally | lastly |
  once that is done | when that is done | when you are done | when you're done | as a last step | in a
  second step | then
`;

/** The same, and only at the beginning of a sentence or behind a comma. */
const WEAK_SEQUENCE = 'next | second | secondly | third | thirdly';

/** Stand beside the part before; each opens a part wherever a request follows it. */
const ADDITION = `
  in addition | and in addition | additionally | and also | apart from that | besides that | on top of that
  | as another thing
`;

/** The same, and only at the beginning of a sentence or behind a comma. */
const WEAK_ADDITION = 'also | besides | separately | plus | furthermore | moreover';

/** Right before a marker: it is a point in time, or part of what is said, and opens nothing. */
const BINDS_MARKER = 'since by until even back but can may not only';

/** Open a condition: a marker behind one belongs to it. */
const CONDITIONS = 'if when whenever unless';

/** Skipped at the beginning of a part, before its verb is looked for. */
const OPENERS = `
  please kindly now and but so ok okay well first firstly just hey hi hello oh sorry wait hm actually yes no
  right you could can would will let let's us me quickly again instead always never don't do not go ahead
`;

/** Open a request as its first word behind the openers. */
const REQUEST_VERBS = `
  add adjust analyse analyze answer apply append archive ask assess audit book build calculate call cancel
  change chart check clean clone close collect commit compare compile compose compute configure confirm
  connect continue convert copy correct count create cut debug define delete deploy describe design diagnose
  disable document download draft draw drop edit email enable ensure estimate evaluate examine execute
  explain export extract fetch figure fill filter find finish fix follow forget format generate get give
  grep group help identify ignore implement import improve include insert inspect install investigate invite
  keep list locate log look mail make measure merge migrate monitor move name notify open optimise optimize
  order outline parse paste plan plot post prepare present print profile propose publish pull push put rank
  read rebase recommend record refactor release reload remind remove rename repeat rephrase replace reply
  report reproduce research reset restart restore revert review rewrite roll run save say scan schedule
  scrap search see send set share shorten show simplify sketch skip sort split start state stop store
  subscribe suggest summarise summarize switch sync tell test tidy total trace track translate try turn undo
  uninstall update upgrade upload use validate verify visualise visualize watch work wrap write
`;

/** Open a question as its first word. */
const QUESTION_WORDS = `
  what what's which who who's whom whose where where's when why how how's is are was were does did has have
  should shall am
`;

/** Make a request of any sentence they stand in. */
const REQUEST_PHRASES = `
  please | can you | could you | would you | will you | i want | i need | i'd like | i would like | we need
  | let's | make sure | help me | tell me | show me | give me | let me know | you should | your task | your
  job
`;

/** Open a sentence that tells rather than asks. */
const STATEMENT_STARTERS = `
  i i'm i've we we're we've he she they it it's its this that that's these those there here here's the a an
  my our your his her their some most all every each because since although if thanks thank context
  background note for in
`;

/** Point back by themselves, wherever they stand. */
const DEICTICS = `
  it | them | those | these | its | again | the same | this one | that one | these ones | those ones | the
  result | the results | the output | the outcome | the above | the previous | the former | the latter | the
  first one | the second one | the other one | the last one
`;

/** Point back at the end of a clause, or before one of the words below; else a noun or clause of their own follows. */
const OPEN_DEICTICS = 'that this';

const AFTER_DEICTIC = `
  to into in on for with without as and or but again too instead first then from at by before after over up
  out please now once more so works
`;

/** Right behind what would point back: it is named after all, as in "the result of the test". */
const NAMED_AFTER = 'of';

/** Open a noun of the part's own: what points back behind it points at that noun. */
const ANTECEDENTS = 'the a an my our your all every each some any';

/** Before a command: it says what not to do. */
const NEGATIONS = "don't not never";

/** Open a part that goes on with what was asked before. */
const CONTINUES = `
  continue | carry on | go on | keep going | proceed | resume | as before | more of the same
`;

/** Open a part that puts right what was asked before. */
const CORRECTS = `
  correction | no i meant | no i mean | i meant | what i meant was | what i meant is | i misspoke | let me
  correct that | let me correct myself | i have to correct myself
`;

/** The same, where nothing of their own follows: "correct that: …", not "correct that typo". */
const CORRECTS_CLOSED = 'correct that | correct this | not that';

/** Open a part that stands in the place of what was asked before. */
const REPLACES = `
  replace my last request with | replace my previous request with | replace the last request with | replace
  the previous request with | replace my last request by | ignore my last request | ignore my previous
  request | ignore my last message | disregard my last request | disregard my previous request | forget my
  last request | forget my previous request | forget what i asked | forget what i said | forget about that |
  instead of what i asked
`;

const REPLACES_CLOSED = `
  instead of that | forget that | forget it | scrap that | scrap it | never mind that | nevermind that |
  disregard that | ignore that | rather than that
`;

/** May follow a command that names nothing of its own, beside punctuation and a verb. */
const AFTER_COMMAND = "and instead please i we just let's rather now altogether";

/** A full stop behind one of these ends no sentence. */
const ABBREVIATIONS = `
  e.g i.e etc vs cf approx ca dr mr mrs ms prof nr fig vol inc ltd jan feb mar apr jun jul aug sep sept oct
  nov dec a.m p.m
`;

/** Name no subject, as the verbs and question words above name none: no thread goes on by one of these. */
const NO_KEYWORDS = `
  the and for with from into onto about over under between that this these those then than there here them
  they their its our your you his her him she are was were been being has have had does did doing done can
  could will would shall should may might must not but any all some each every both one ones other another
  same such only also too very more most much many few less least just now today yesterday tomorrow again
  still yet already once before after while because though although whether please kindly thanks thank hello
  okay want need like know think mean meant thing things something anything everything nothing way lot bit
  kind sort time times day week month year last next first second third previous current currently latest
  recent new old good bad better best request question answer number word words sentence line lines using
  without within per via who whom whose don't doesn't isn't it's let's i'm i've i'd instead finally
  afterwards additionally short brief briefly quick exactly really quite even
`;

export const STRAND_WORDS_EN = {
  sequence: SEQUENCE,
  weakSequence: WEAK_SEQUENCE,
  addition: ADDITION,
  weakAddition: WEAK_ADDITION,
  bindsMarker: BINDS_MARKER,
  conditions: CONDITIONS,
  openers: OPENERS,
  requestVerbs: REQUEST_VERBS,
  questionWords: QUESTION_WORDS,
  requestPhrases: REQUEST_PHRASES,
  statementStarters: STATEMENT_STARTERS,
  deictics: DEICTICS,
  openDeictics: OPEN_DEICTICS,
  afterDeictic: AFTER_DEICTIC,
  namedAfter: NAMED_AFTER,
  antecedents: ANTECEDENTS,
  negations: NEGATIONS,
  continues: CONTINUES,
  corrects: CORRECTS,
  correctsClosed: CORRECTS_CLOSED,
  replaces: REPLACES,
  replacesClosed: REPLACES_CLOSED,
  afterCommand: AFTER_COMMAND,
  abbreviations: ABBREVIATIONS,
  noKeywords: NO_KEYWORDS,
} as const;
