/** How a directive reads: the vocabulary of the axes, and the shape in which a reading is recorded. */
import { z } from 'zod';
import { DOMAINS } from './domains.ts';

export const ACTS = [
  'converse',
  'answer',
  'locate',
  'analyze',
  'author',
  'modify',
  'operate',
  'verify',
  'orchestrate',
  'govern',
] as const;
export type Act = (typeof ACTS)[number];

/** How far the work reaches: this reply, several steps of work, or something that goes on by itself. */
export const HORIZONS = ['reply', 'task', 'standing'] as const;
/** What a mistake would cost: nothing much, work to undo it, or something nobody can undo. */
export const STAKES = ['low', 'elevated', 'high'] as const;
/** What the answer must rest on: the model's word, sources it names, or a check it made. */
export const EVIDENCE_STANDARDS = ['plain', 'sourced', 'verified'] as const;
export const CLARITIES = ['clear', 'partial', 'unclear'] as const;
/** The form the result takes. */
const MODALITIES = ['prose', 'code', 'data', 'visual'] as const;
/** Whether somebody is there to be asked. */
const ATTENDANCES = ['attended', 'unattended'] as const;

/** How a part of a directive stands to the part before it. */
const STRAND_RELATIONS = ['independent', 'sequential', 'dependent'] as const;
/** How a part stands to what was asked before; the last two only where the words say so. */
export const LINEAGES = ['new', 'continues', 'corrects', 'replaces'] as const;

const count = z.int().nonnegative();

/** A stretch of the directive's text, in UTF-16 units, `to` not included. */
const stretch = z.strictObject({ from: count, to: count });

export const strand = z.strictObject({
  from: count,
  to: count,
  act: z.enum(ACTS),
  relation: z.enum(STRAND_RELATIONS),
  lineage: z.enum(LINEAGES),
});
export type Strand = z.infer<typeof strand>;

/** What reads plainly is left out: the first value of each axis, no entities, a single strand. */
export const reading = z.strictObject({
  source: z.enum(['lexical', 'classifier']),
  /** Of the resolver: its rules and word lists. */
  version: count,
  act: z.enum(ACTS),
  alternates: z.array(z.enum(ACTS)).exactOptional(),
  domains: z.array(z.enum(DOMAINS)),
  /** Names, figures and quotations the directive is about, as written. */
  entities: z.array(z.string()).exactOptional(),
  horizon: z.enum(HORIZONS).exactOptional(),
  stakes: z.enum(STAKES).exactOptional(),
  evidence: z.enum(EVIDENCE_STANDARDS).exactOptional(),
  clarity: z.enum(CLARITIES).exactOptional(),
  modality: z.enum(MODALITIES).exactOptional(),
  attendance: z.enum(ATTENDANCES).exactOptional(),
  /** 0..1: the least of the axes. */
  confidence: z.number(),
  strands: z.array(strand).exactOptional(),
  /** Material the directive brings rather than asks. */
  pasted: z.array(stretch).exactOptional(),
});
export type Reading = z.infer<typeof reading>;
