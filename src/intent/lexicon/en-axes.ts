/** English: how far a request reaches, what it may cost, what it must rest on, and what it is about. */
export const AXES_EN = {
  /** Work that comes again by itself. */
  schedules: `every morning, every evening, every night, every day, every hour, every week, every month, every year, every quarter,
    every minute, every monday, every tuesday, every wednesday, every thursday, every friday, every saturday, every sunday,
    every weekday, every weekend, every afternoon, every # minutes, every # hours, every # days, every # seconds, every # weeks,
    every two hours, every two weeks, every five minutes, every ten minutes, every other day, every time, each time, each morning,
    each evening, each night, each day, each hour, each week, each month, each monday, each friday, each quarter, once a day, once a week,
    once a month, once an hour, twice a day, twice a week, whenever, on a schedule, daily at, weekly at, nightly at, hourly at,
    on mondays, on tuesdays, on wednesdays, on thursdays, on fridays, on weekdays, on weekends, recurring, periodically, around the clock,
    every single day, every single morning, first of each month, first of every month, on the first of, a cron job`,
  /** They close a clause: "send it daily". */
  closingSchedules: 'daily, weekly, monthly, hourly, nightly, regularly',
  /** A rule for what comes after. */
  rules: `from now on, going forward, from here on, from today on, in future, in the future always, by default, henceforth, until further notice,
    until i say otherwise, for all future, in all future, in every future, for the rest of this, as a standing rule, at all times,
    from this point on, moving forward, for good, as a rule of thumb`,
  sequence:
    'first, then, finally, after that, afterwards, lastly, next, when done, when that is done, once done, once that is done, after which',
  task: `step by step, end to end, end-to-end, from scratch, whole project, entire project, whole codebase, entire codebase, all files,
    every file, until it passes, until they pass, until done, until it works, all the way, across the codebase, across the repo,
    throughout the, multi-step, in stages`,
  stakes: {
    /** Nobody can take these back. */
    irreversible: `delete, drop, wipe, erase, destroy, purge, shred, truncate, overwrite, force-push, force push, send, send out, publish, pay,
      transfer, wire, refund, charge, buy, purchase, order, revoke, terminate, format the disk, format the drive, email, e-mail, mail,
      post, tweet, announce, fire, rm, nuke, empty the trash, empty the bin, sell, donate, submit, unpublish, reset hard, hard reset,
      rewrite the history, rewrite history, get rid of, permanently remove, permanently delete, permanently, irreversibly, tear down,
      decommission, sign, dm, text`,
    /** These cost work to take back. */
    costly: `deploy, redeploy, release, ship, roll out, roll back, rollback, push, merge, rebase, migrate, restart, reboot, kill, shut down, shutdown,
      stop, disable, uninstall, remove, reset, revert, cancel, upgrade, downgrade, turn off, switch off, rotate, grant, invite, archive,
      scale down, scale, install, move, clear, flush, bulk, replace all, run the migration, run the migrations, drain, close all, reply to,
      restore, book, approve, reject, promote, seed, alter`,
    /** Where a costly step is past taking back. */
    grave:
      'production, prod, customers, all users, everyone, live database, live system, live site, main branch, master branch, payroll, the public',
    /** What reaches the one who asks, and nobody else. */
    toAsker: `send me, send us, send it to me, send them to me, email me, email us, mail me, text me, dm me, send myself, email myself, send it daily to me`,
    /** Kinds of "remove" and "delete" that only touch a text. */
    harmless: `comma, semicolon, sentence, paragraph, word, whitespace, line, bullet, typo, heading, adjective, emoji, trailing, import, comment,
      blank, space, draft text, hyphen, quote`,
  },
  evidence: {
    sourced: `with sources, cite, cited, citing, citations, citation, with references, with links, include links, include sources,
      include references, name your sources, your sources, the source of, source for, with a source, provide sources, give sources,
      list your sources, according to official, from official, primary sources, reputable sources, with footnotes, with evidence,
      back it up, backed by, link to the, links to the, sources please, with urls, reference your`,
    verified: `double-check, double check, make sure, verify, verified, confirm, validate, cross-check, prove, fact-check, sanity-check,
      sanity check, ensure, run the tests to, check your work, check that it, test it, test that it, be certain, be sure, recheck, re-check,
      and check that, and test, prove that`,
  },
  modality: {
    code: `code, script, function, program, class, regex, regular expression, query, snippet, method, module, component, unit test, unit tests,
      test, tests, api, endpoint, parser, hook, sql, migration, library, cli, implementation, algorithm, test case, dockerfile, makefile,
      config, type definition, types`,
    data: `as json, as csv, as yaml, as xml, as a csv, as a json, in json, in csv, in yaml, json format, csv format, yaml format, spreadsheet,
      as data, to json, to csv, to yaml, tsv, json file, csv file, csv of, json of, as markdown table, tabular, dataset, as tsv`,
    visual: `diagram, image, picture, drawing, illustration, visualization, visualisation, visualize, visualise, visual, flowchart, infographic,
      sketch, icon, logo, mockup, mock-up, wireframe, heatmap, map of, draw`,
  },
  unattended: `overnight, while i am away, while i am out, while i sleep, while i am asleep, while i am gone, while i am in, without asking me,
    without asking, do not ask me, do not ask, do not wait for me, no need to ask, unattended, in the background, i will be back, i am going to bed,
    i will be away, i will check in the morning, on your own, by yourself, do not bother me, do not interrupt me, autonomously,
    i am heading out, i am off to, when i am back, until i am back, i will be offline`,
  domains: {
    filesystem: `file, folder, directory, directories, path, code, source, readme, line, codebase, subfolder, source code, src, filename`,
    memory: `memory, memories, remember, recall, last time, you said, you told me, we discussed, we talked, we agreed, i told you, i said, earlier today,
      previous conversation, past conversation, past session, earlier session, previous session, our last, before we, you mentioned,
      i mentioned, you remember, what did we, what did i tell`,
    web: `web, internet, online, website, webpage, web page, url, search the web, article, blog post, homepage, hyperlink, browse, news site,
      on the net, wiki, news`,
    vcs: `git, commit, branch, branches, merge, rebase, pull request, pr, diff, repo, repository, repositories, stash, force-push, force push,
      checkout, blame, upstream, cherry-pick, changelog, merge conflict, release tag, revert`,
    'code-exec': `run, execute, rerun, re-run, script, compile, benchmark, unit test, unit tests, test suite, tests, the test, command, shell, terminal,
      reproduce, build the, the build, typecheck, type-check, linter, notebook, interpreter`,
    documents: `document, documents, report, email, e-mail, letter, slide, slides, slide deck, presentation, spreadsheet, pdf, docx, memo, essay,
      proposal, contract, invoice, word document, cover letter, resume, cv, newsletter, whitepaper, minutes, handbook, blog post, draft, deck`,
    observability: `logs, log, metrics, trace, traces, latency, dashboard, alert, alerts, cpu, memory usage, uptime, throughput, incident, outage, error rate,
      stack trace, stacktrace, p99, p95, telemetry, monitor, monitoring, crash, slow query, 5xx, error log, exception, health check`,
  },
} as const;
