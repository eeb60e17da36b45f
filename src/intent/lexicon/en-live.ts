/** English: when a request is about how things stand now, and when it only sounds so. */
export const LIVE_EN = {
  /** They say "now" of the whole clause. */
  now: `right now, as of now, as of today, as of this, at the moment, at this moment, at present, presently, currently, today, tonight, this morning,
    this afternoon, this evening, this week, this weekend, this month, real-time, real time, up-to-date, up to date, up-to-the-minute,
    nowadays, these days, so far today, just now, as we speak, this very moment, this instant, rn, atm, this minute, this second,
    at this time, at this point`,
  /** They say it of the noun that follows. */
  adjectives:
    'current, latest, newest, most recent, most current, most up-to-date, present-day, up-to-date, breaking, real-time, todays, ongoing',
  /** What there is news of follows: "the latest on the merger". */
  newsOf: 'on, about, from, regarding, in, with, around',
  /** It counts at the end of a clause only: "how much is it now". */
  closing: 'now, yet',
  live: {
    word: 'live',
    /** After these "live" is an adjective. */
    after: `the, a, an, any, some, me, us, of, for, with, get, show, find, see, want, need, fetch, give, check, is, are, what, which, on, to, and, from,
      follow, stream, today`,
    /** Before these it is the verb, or says how something is shown. */
    before: `in, at, on, with, near, by, to, for, of, from, under, within, without, among, between, alone, together, here, there, forever, long, longer,
      longest, happily, and, or, but, if, up, out, off, through, like, as, a, an, the, my, your, our, their, his, her, it, that, is, are, was, were,
      now, then, today, tonight, only, more, less, better, where, when, well, around, next, inside, outside, under, abroad, without, together`,
    /** Who lives. */
    subjects:
      'i, we, you, they, he, she, who, people, that, which, to, not, can, could, will, would, should, do, does, did, may, might, must, go, goes, going, went',
  },
  /** Another time than now. */
  otherTime: `yesterday, tomorrow, last week, last month, last year, last night, last quarter, last season, last decade, last century, last monday,
    last tuesday, last wednesday, last thursday, last friday, last saturday, last sunday, last summer, last winter, last spring, last autumn,
    next week, next month, next year, next quarter, next monday, next friday, next season, next decade, ago, at the time, at that time,
    back then, back in, in those days, in the past, previously, historically, used to, formerly, once upon a time, years earlier,
    the year before, the day before, the week before, the day after, in the future, by then, in ancient, in medieval, in history,
    last time, the other day, a while back, during the war, when i was, earlier this year, in the nineties, in the eighties, as of last`,
  /** A year after one of these is another time. */
  beforeYear:
    'in, during, of, by, until, before, after, around, circa, for, from, early, late, mid, summer, winter, spring, autumn, fall, year, back, january, february, march, april, june, july, august, september, october, november, december',
  /** Between these each part has its own time: "today's price and last year's". */
  partings: 'and, but, with, than, versus, vs, against, whereas, while, or',
  /** What is at hand: the caller's own files, work and tools. */
  local: `directory, directories, folder, subfolder, file, path, branch, branches, commit, workspace, repository, repositories, repo, code,
    codebase, page, session, conversation, chat, thread, plan, config, configuration, setting, build, test, tests, suite, server, mode, task,
    todo, to-do, inbox, memory, function, class, classes, method, parser, schema, module, script, component, diff, patch, patches, pr,
    pull request, migration, log, variable, process, processes, queue, worker, agent, prompt, message, document, doc, note, cache, line, terminal,
    shell, tab, cursor, selection, user, implementation, approach, approaches, structure, layout, endpoint, handler, loop, step, turn,
    workflow, pipeline, backlog, sprint, standup, stand-up, agenda, calendar, reminder, deployment, deploy, instance, database, db, column, row,
    cell, sheet, lockfile, linter, formatter, env, sandbox, project, logic, regex, query, queries, hook, stack trace, stacktrace, error message,
    exception, tree, stash, checkout, changelog, readme, wording, paragraph, sentence, chapter, section, behaviour, behavior, interface, setup,
    theme, context, summary, date, timezone, slide, spreadsheet, screen, iteration, experiment, run, upload, attachment, screenshot, transcript,
    clipboard, timeout, retry delay, todos, architecture, draft`,
  /** Whose a thing is, when it is somebody's here. */
  owners: 'you, your, yours, my, mine, our, ours, this, these, those, yourself, here',
  /** After "did", "have" and the like these ask for one's own doings. */
  selves: 'i, we',
  /** One's own in name only: a place is not at hand. */
  places: `city, town, area, region, country, neighbourhood, neighborhood, village, state, county, district, zip, street, planet, world, continent, location,
    market, industry, currency, time of year, part of the world`,
  /** A version of what is at hand is at hand, one of something else is not. */
  versions: 'version, release, status, state, size, number, name, length, progress, value, count, list',
  /** Asked of a clock, which every request carries. */
  clock: 'time, day, date, year, month, weekday, hour, timezone',
} as const;
