/**
 * English words the checks go by: data, no code. Phrases stand between bars, words of one phrase with a space
 * between them, all in lower case with straight apostrophes and without hyphens.
 */
export const CHECK_WORDS_EN = {
  /** Words that name no topic. */
  topicStopwords: `the | and | but | for | from | with | about | into | over | this | that | these | those | what |
    which | who | whom | whose | when | where | why | how | current | currently | now | today | latest | please |
    give | tell | show | get | find | you | your | are | was | were | has | have | can | will`,
  /** Members that cards have whatever they are about. */
  structuralNames: `title | name | kind | type | value | values | unit | change | asof | note | notes | label | labels |
    series | columns | rows | cells | items | fields | summary | description | takeaways | body | sources | url | link |
    snippet | text | content | data | when | done | date | id`,

  /** Nothing was found: these stand alone. */
  noDataPhrases: `no access to | found nothing | nothing found | nothing was found | found no | find no | nothing came back |
    turned up nothing | returned nothing | returned no | came back empty | no longer have access | beyond my knowledge |
    nothing current | no way of knowing | no way to check | no way to know | no way to verify | lack access |
    lacks access | lack the data | lack live data | lack current data`,
  /** With a noun of knowing shortly after: "do not have any live data". */
  lackOpeners: `do not have | don't have | does not have | doesn't have | did not have | didn't have | have no |
    has no | had no | do not currently have | don't currently have | lack | lacks | not have | haven't got |
    without`,
  /** With a verb of finding right after: "could not retrieve". */
  unableOpeners: `could not | couldn't | cannot | can't | can not | unable to | not able to | failed to |
    wasn't able to | am not able to | haven't been able to | not been able to | no way to`,
  findVerbs: `find | retrieve | access | get | fetch | obtain | look | check | determine | confirm | verify | locate |
    provide | give | tell | see | reach | establish | report | pull | load | query | search | browse | observe |
    know | state | ascertain | quote`,
  /** With a verb of knowing right after: "did not find". */
  plainNegations: `do not | don't | did not | didn't | does not | doesn't | have not | haven't | was not | wasn't`,
  knowVerbs: `know | find | found | retrieve | retrieved | locate | see | access | return | receive | fetch |
    fetched | yield`,
  /** After "be": "could not be retrieved". */
  foundForms: `found | retrieved | accessed | fetched | obtained | determined | confirmed | verified | located |
    reached | loaded | established | checked | ascertained`,
  /** With a noun of knowing in the sentence: "the price is not available". */
  unavailable: `not available | unavailable | isn't available | aren't available | wasn't available | not accessible |
    inaccessible | not currently available | not yet available`,
  /** Things one has or lacks when one knows. */
  dataNouns: `access | data | information | info | figure | figures | result | results | reading | readings | record |
    records | value | values | update | updates | ability | tool | tools | source | sources | feed | feeds |
    knowledge | internet | browsing | connection | means | price | prices | news | report | reports | matches`,
  /** What may stand between "no" and such a noun. */
  currencyWords: `live | current | currently | real | time | realtime | recent | up | to | date | latest | today's | new | fresh |
    such | relevant | reliable | direct | actual | web | internet | search | further | matching | any | online`,
  /** Of these alone one may say that one lacks it: "I do not have the latest". */
  currentWords: `live | current | latest | today's | recent | real | realtime`,
  adverbs: `actually | currently | reliably | directly | really | now | right | yet | quite | even | just | also |
    at | the | this | moment | still | independently | immediately | successfully | personally | unfortunately |
    always | presently | here`,
  /** Who speaks of its own search; others' failures are no admission. */
  speakers: `i | i'm | i've | we | we're | we've | me | my | our | sorry | unfortunately | apologies | afraid |
    search | searches | tool | tools | lookup | query | queries | request | requests | call | calls | retrieval |
    attempt | attempts | session | system | assistant | model | source | sources | results | it | there | server |
    service | api | connection | page | site | website`,

  /** Honest wording for a failure. */
  failureWords: `failed | fails | fail | failing | failure | failures | error | errors | could not | couldn't | cannot |
    can't | can not | unable | not able | not found | no such | does not exist | doesn't exist | do not exist |
    don't exist | did not exist | didn't exist | denied | refused | rejected | forbidden | invalid | missing |
    unavailable | not available | timed out | timeout | time out | not possible | impossible | wasn't able |
    wasn't possible | did not work | didn't work | does not work | doesn't work | not work | did not succeed |
    didn't succeed | unsuccessful | unsuccessfully | unreachable | no access | nothing | exception | crashed |
    aborted | blocked | problem | problems | issue | issues | trouble | broken | down | no result | no results |
    no file | no match | no matches | not permitted | not allowed | unknown | unexpected | went wrong | offline`,

  /** Scale words behind a figure. */
  magnitudes: `k | m | bn | b | thousand | million | millions | billion | billions | trillion | mn | mio | tn`,

  /** A directive with one of these asks about calls or for data in a text form. */
  callTopics: `json | payload | schema | syntax | function call | function calls | function calling | tool call |
    tool calls | tool calling | api call | example | examples | sample | documentation | docs | document | log |
    logs | trace | transcript | config | configuration | how do i call | how to call | how would i call |
    how do you call | how would you call | which tools | what tools | your tools | the tools | available tools |
    list tools | what can you do | capabilities | explain | signature | arguments | parameters | format`,
  toolNouns: `tool | tools | function | command | endpoint`,
  dataFormats: `json | payload | yaml | object | schema | config | configuration | code | snippet | sample | api |
    fixture | response body | request body`,
  /** A call that is told of: it was made, or would be. */
  reporting: `called | used | ran | made | executed | invoked | tried | did | was | were | returned | returns |
    would | could | via | result | results | output | response | calling | using | with | like | such | example |
    instance | e g | eg | means | earlier | already | previously | from`,

  /** Openings of an announced action. */
  announcers: `i will | i'll | i am going to | i'm going to | let me | we will | we'll | i am about to | i'm about to |
    i shall | i need to | i still need to`,
  /** What may stand before them in their clause. */
  leadIns: `now | next | then | first | second | finally | so | ok | okay | great | sure | alright | right | and |
    well | good | perfect | certainly | also | to start | to begin | before that | after that | with that | for now |
    step | thanks | understood | done | yes | here`,
  urgentCues: `now | next | let me | first | about to`,
  actionVerbs: `run | rerun | check | read | look | search | open | inspect | fetch | execute | verify | test | examine |
    update | create | write | edit | fix | apply | install | build | implement | modify | delete | remove | add |
    proceed | start | begin | continue | try | retry | gather | list | find | retrieve | analyze | analyse | review |
    query | call | download | load | scan | grep | compile | deploy | commit | push | investigate | confirm |
    double | rename | move | save | send | make | put | get | see | pull | trace | measure | compare | refactor`,
  afterAnnouncer: `now | next | then | first | also | just | quickly | go | ahead | and | immediately | carefully | again |
    start | begin | by | proceed | to | continue | with | take | a | the | try | have`,
  /** Something is offered, promised for another time, or left to the user: no action of this turn. */
  offerCues: `if | when | whenever | once | unless | until | while | would | let me know | feel free | happy to | glad to |
    every | each time | always | never | later | tomorrow | tonight | in future | from now on | going forward |
    want me | like me | should you | as needed | as soon as | next time | anytime | remember | keep | wait | stop |
    out of | run out | your | you`,

  /** Openings of a claim of something done. */
  claimOpeners: `i have | i've | i | we have | we've | we`,
  afterClaimOpener: `now | just | also | already | successfully | then | gone | ahead | and | since`,
  doneLeads: `done | all done | finished | completed | all set`,
  /** Done in the world, or not at all. */
  worldEffects: `saved | sent | deployed | committed | pushed | installed | uninstalled | uploaded | published | merged |
    restarted | scheduled | emailed | posted | booked | ordered | paid | executed | cancelled | provisioned |
    submitted | transferred | stored`,
  /** Done in a reply as well, as far as no thing that is kept is named. */
  textEffects: `updated | written | wrote | created | deleted | removed | added | edited | modified | changed |
    replaced | fixed | renamed | moved | refactored | applied | configured | set | implemented | patched |
    overwritten | reverted | migrated | enabled | disabled | closed | opened`,
  keptThings: `file | files | folder | folders | directory | config | configuration | setting | settings | database |
    record | records | script | scripts | test | tests | module | modules | function | functions | class | page |
    readme | repository | repo | branch | issue | ticket | event | calendar | server | service | project | package |
    dependency | dependencies | schema | migration | component | account | job | pipeline | workflow | entry |
    bug | task | reminder | document | disk | table | row | rows | column | user | users | backup | index`,
  /** The work is in the reply. */
  shownCues: `below | above | here | here's | following | follows | as shown | this version | this draft`,
  /** A claim under these is none. */
  claimConditions: `if | once | after | when | before | until | unless | whether | assuming | as soon as | that | which |
    suppose | imagine | say`,
  /** A reply with a line that begins so is a letter, and speaks for its writer. */
  letterOpenings: `dear | hi | hello | hey | subject | to whom | good morning | good afternoon | good evening`,
} as const;
