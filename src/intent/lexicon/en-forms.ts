/** English: the cards a request may ask for by name. */
export const FORMS_EN = {
  /** The nouns that name a card, by its type. */
  nouns: {
    table: 'table, comparison table, summary table, data table',
    chart: `chart, graph, plot, bar chart, line chart, pie chart, bar graph, line graph, histogram, scatter plot, area chart, scatterplot, trend line`,
    checklist: 'checklist, check-list, check list, to-do list, todo list, tick list, list of checkboxes',
    timeline: 'timeline, time line, time-line, chronology',
    metric: 'metric, metric card, kpi, kpi card, single metric, stat card, number card',
    entity: 'entity card, entity, profile card, fact sheet, info card, fact card',
    research:
      'research card, research brief, research summary, research report, research synthesis, synthesis',
  },
  /** Verbs that ask for a card by themselves. */
  verbs: { chart: 'plot, chart, graph', table: 'tabulate', timeline: 'timeline' },
  /** "in tabular form". */
  manners: {
    table:
      'in tabular form, in table form, in table format, in a tabular format, as tabular data, tabular format, table format, tabular',
    chart: 'in chart form, in graph form, graphically, as bars',
    checklist: 'in checklist form, in checklist format, with checkboxes',
    timeline: 'in timeline form, in timeline format, in chronological form',
  },
  as: 'as, as a, as an, as one, as my, in the form of a, in the form of an, into a, into an, in form of a, formatted as a',
  /** "in a table" asks for one only after a verb that presents. */
  inside: 'in a, in an, in one, using a, with a',
  presenting: `show, give, list, put, present, compare, summarize, summarise, display, format, organize, organise, arrange, lay, collect, provide, render,
    return, tell, gather, write, report, make, output, break, need, want, get, track, summarised, shown`,
  making: `make, create, draw, give, show, build, produce, generate, prepare, need, want, provide, render, get, have, put together, design, sketch,
    add, like, do, emit, see, send, draft, write, compile, using`,
  /** What may stand between a verb and the article. */
  between: 'me, us, it, this, that, them, together, up, out, please, just, also, the results, these',
  articles: 'a, an, one, another, some',
  card: 'card',
  /** After these, "as" says what something is, not how to show it. */
  beingAs:
    'counts, count, serves, serve, treat, treats, treated, known, used, acts, act, defined, such, same, well, far, long, soon, regarded, described, stored, saved, implemented, modelled, modeled, registered',
  /** "a table of contents" is no card. */
  exceptions:
    'table of contents, table of content, plot of the, plot twist, chart of accounts, graph database, table name, table names, table lamp, metric system',
  /** A noun that goes on so is part of another one's name or stands elsewhere. */
  elsewhere: `database, db, schema, readme, file, code, repo, repository, document, page, html, markdown file, module, component, app, frontend, backend, migration`,
  /** What may follow the noun. */
  after: `please, instead, too, showing, comparing, listing, summarizing, summarising, plotting, covering, tracking, containing, displaying, depicting,
    including, now, then, where, so, this, again, also, thanks, rather, only`,
  /** Right behind the noun: it stands in what follows. */
  into: 'in, into, inside, to, on, from',
  negations: 'not, no, never, without, avoid, instead of, rather than, skip, stop, nor',
} as const;
