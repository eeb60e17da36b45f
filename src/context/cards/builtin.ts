/**
 * The cards every deployment has. Every member costs tokens in each request that offers its card, so there are
 * few of them; what identifies a card is bounded by its schema, because every later turn carries it.
 */
import { z } from 'zod';
import { type CardDefinition, defineCard } from './define.ts';

const TITLE_CHARS = 200;
const LABEL_CHARS = 200;
const CELL_CHARS = 1_000;
const PROSE_CHARS = 4_000;

/** Bounded in code points, as JSON Schema counts; zod's own `max` counts UTF-16 units. */
function text(maxChars: number): z.ZodString {
  return z
    .string()
    .refine((value) => fits(value, maxChars), `a string of at most ${maxChars} characters`)
    .meta({ maxLength: maxChars });
}

function fits(value: string, maxChars: number): boolean {
  return value.length <= maxChars || (value.length <= 2 * maxChars && [...value].length <= maxChars);
}

const title = text(TITLE_CHARS);
const label = text(LABEL_CHARS);
/** A card links to the web or to nothing. */
const url = z
  .string()
  .refine((value) => value.length <= 2_000 && /^https?:\/\/\S+$/iu.test(value), 'an http or https address')
  .meta({ format: 'uri' });

/** Parts that are absent leave nothing. */
function line(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== '').join(' | ');
}

const metric = defineCard({
  type: 'metric',
  description: 'Shows one figure as a card.',
  schemaVersion: 1,
  schema: z.strictObject({
    title,
    value: z.union([z.number(), label]),
    unit: label.optional(),
    change: label.optional(),
    asOf: label.optional(),
    note: text(CELL_CHARS).optional(),
  }),
  title: (card) => card.title,
  identity: ({ title: name, value, unit = '', change, asOf, note }) =>
    line(`${name}: ${value} ${unit}`.trimEnd(), change, asOf && `as of ${asOf}`, note),
});

const table = defineCard({
  type: 'table',
  description: 'Shows rows and columns as a card. Every row has one cell for each column.',
  schemaVersion: 1,
  schema: z
    .strictObject({
      title,
      columns: z.array(label).min(1).max(20),
      rows: z.array(z.array(z.union([text(CELL_CHARS), z.number(), z.null()]))).max(1_000),
    })
    .superRefine(({ columns, rows }, context) => {
      for (const [index, row] of rows.entries())
        if (row.length !== columns.length)
          context.addIssue(listIssue(['rows', index], row, columns.length, 'cells, one for each column'));
    }),
  title: (card) => card.title,
  identity: ({ title: name, columns, rows }) =>
    line(
      name,
      `columns: ${columns.join(', ')}`,
      `${rows.length} rows`,
      rows[0] && `first row: ${rows[0].map((cell) => cell ?? '').join(', ')}`,
    ),
});

const chart = defineCard({
  type: 'chart',
  description: 'Shows series of numbers as a chart. Every series has one value for each label.',
  schemaVersion: 1,
  schema: z
    .strictObject({
      title,
      kind: z.enum(['line', 'bar', 'area', 'pie']),
      summary: text(CELL_CHARS).describe('The chart in words, for a reader who cannot see it'),
      labels: z.array(label).max(1_000),
      series: z.array(z.strictObject({ name: label, values: z.array(z.number().nullable()) })).max(20),
    })
    .superRefine(({ labels, series }, context) => {
      for (const [index, { values }] of series.entries())
        if (values.length !== labels.length)
          context.addIssue(
            listIssue(['series', index, 'values'], values, labels.length, 'values, one for each label'),
          );
    }),
  title: (card) => card.title,
  identity: ({ title: name, summary, series }) =>
    line(
      name,
      `series: ${series.map((one) => one.name).join(', ')}`,
      `${series.reduce((points, { values }) => points + values.length, 0)} points`,
      summary,
    ),
});

const entity = defineCard({
  type: 'entity',
  description: 'Shows a person, place, organisation or thing with its properties as a card.',
  schemaVersion: 1,
  schema: z.strictObject({
    title,
    kind: label,
    fields: z.array(z.strictObject({ label, value: text(CELL_CHARS) })).max(40),
  }),
  title: (card) => card.title,
  identity: ({ title: name, kind, fields }) =>
    line(name, kind, ...fields.map((field) => `${field.label}: ${field.value}`)),
});

const checklist = defineCard({
  type: 'checklist',
  description: 'Shows items to be done, or done, as a card.',
  schemaVersion: 1,
  schema: z.strictObject({
    title,
    items: z
      .array(z.strictObject({ label, done: z.boolean().optional(), note: text(CELL_CHARS).optional() }))
      .max(100),
  }),
  title: (card) => card.title,
  identity: ({ title: name, items }) => line(name, ...items.map((item) => item.label)),
});

const timeline = defineCard({
  type: 'timeline',
  description: 'Shows events in the order of their time as a card.',
  schemaVersion: 1,
  schema: z.strictObject({
    title,
    items: z.array(z.strictObject({ when: label, label, note: text(CELL_CHARS).optional() })).max(100),
  }),
  title: (card) => card.title,
  identity: ({ title: name, items }) => line(name, ...items.map((item) => item.label)),
});

const research = defineCard({
  type: 'research',
  description: 'Shows what was found out from several sources as a card: takeaways first, then the sources.',
  schemaVersion: 1,
  schema: z.strictObject({
    title,
    takeaways: z.array(text(500)).min(1).max(12),
    body: text(4 * PROSE_CHARS).optional(),
    sources: z
      .array(z.strictObject({ title, url: url.optional(), snippet: text(PROSE_CHARS).optional() }))
      .max(50),
  }),
  title: (card) => card.title,
  identity: ({ takeaways, sources }) =>
    line(...takeaways, ...sources.map((source) => `${source.title}${source.url ? ` <${source.url}>` : ''}`)),
});

export const BUILTIN_CARDS: readonly CardDefinition[] = [
  chart,
  checklist,
  entity,
  metric,
  research,
  table,
  timeline,
];

function listIssue(path: PropertyKey[], input: readonly unknown[], length: number, of: string) {
  return { code: 'custom' as const, path, input, message: `a list of ${length} ${of}` };
}
