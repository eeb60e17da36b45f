/**
 * A deep checkpoint as lines of JSON: everything that was recorded of a session, and of each session it goes on from as
 * far as it does. First what it holds; then each session's records from the first, oldest session first; then the events
 * of its own turns; last how many lines there were, with a digest over all of them. It needs nothing beside it.
 */
import { z } from 'zod';
import { blake3Hex, GENESIS_DIGEST } from './chain.ts';
import { TurnwrightError } from './errors.ts';
import { ChainVerifier, type StoredRecord } from './verify.ts';

export const CHECKPOINT_VERSION = 1;

const count = z.int().nonnegative();
const digest = z.string().regex(/^[0-9a-f]{64}$/u);
const at = z.iso.datetime();

const header = z.strictObject({
  type: z.literal('checkpoint'),
  version: z.int(),
  form: z.literal('deep'),
  session: z.uuid(),
  /** Those it goes on from first, itself last; `digest` is that of record `records`. */
  sessions: z.array(z.strictObject({ session: z.uuid(), records: z.int().min(1), digest })).min(1),
});

const record = z.strictObject({
  type: z.literal('record'),
  session: z.uuid(),
  seq: count,
  at,
  head: z.uuid(),
  turn: z.uuid().nullable(),
  kind: z.string(),
  class: z.enum(['protocol', 'display', 'forensic']),
  /** Canonical JSON; null where it was erased. */
  body: z.string().nullable(),
  bytes: count,
  body_digest: digest,
  digest,
  prev_digest: digest,
});

const event = z.strictObject({
  type: z.literal('event'),
  actor: z.uuid(),
  id: z.string(),
  event: z.string(),
  revision: count.nullable(),
  digest: digest.nullable(),
  at,
});

const end = z.strictObject({ type: z.literal('end'), lines: count, digest });

const line = z.discriminatedUnion('type', [header, record, event, end]);
type Line = z.infer<typeof line>;

export type CheckpointHeader = z.infer<typeof header>;
export type CheckpointRecord = z.infer<typeof record>;
export type CheckpointEvent = z.infer<typeof event>;

/** Lines as they are written, each with its break. */
export class CheckpointWriter {
  #lines = 0;
  #digest = GENESIS_DIGEST;

  line(entry: CheckpointHeader | CheckpointRecord | CheckpointEvent): string {
    const text = JSON.stringify(entry);
    this.#lines += 1;
    this.#digest = blake3Hex(`${this.#digest}${text}`);
    return `${text}\n`;
  }

  end(): string {
    return `${JSON.stringify({ type: 'end', lines: this.#lines, digest: this.#digest } satisfies Line)}\n`;
  }
}

/** Reads lines one at a time, each checked against all before it. Call `end` behind the last. */
export class CheckpointReader {
  #header: CheckpointHeader | null = null;
  /** Seen so far, that which is read included. */
  #lines = 0;
  #digest = GENESIS_DIGEST;
  #ended = false;
  /** Of `sessions`: whose records come now; all of them when the events do. */
  #at = 0;
  #verifier: ChainVerifier | null = null;
  #records = 0;

  /** @throws TurnwrightError `checkpoint_refused` naming the line. */
  next(text: string): Exclude<Line, { readonly type: 'end' }> | null {
    this.#lines += 1;
    const entry = this.#parsed(text);
    if (this.#ended) throw this.#refused('comes behind the end');
    if (entry.type === 'end') return this.#close(entry);
    this.#digest = blake3Hex(`${this.#digest}${text}`);
    if (entry.type === 'checkpoint') return this.#open(entry);
    if (this.#header === null) throw this.#refused('comes before the line of type "checkpoint"');
    if (entry.type === 'record') this.#record(this.#header, entry);
    else if (this.#at < this.#header.sessions.length)
      throw this.#refused('is an event, where records were left to come');
    return entry;
  }

  /** @throws TurnwrightError `checkpoint_refused` where the last line is missing. */
  end(): CheckpointHeader {
    if (this.#header === null || !this.#ended) {
      const found = `found ${this.#lines} lines and no line of type "end"`;
      throw refused(`The checkpoint is cut off: ${found}. Export it again.`);
    }
    return this.#header;
  }

  #parsed(text: string): Line {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw this.#refused('is no JSON');
    }
    const parsed = line.safeParse(value);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const where = issue === undefined || issue.path.length === 0 ? '' : `"${issue.path.join('.')}": `;
    throw this.#refused(`is no line of a checkpoint: ${where}${issue?.message ?? 'of an unknown shape'}`);
  }

  #open(entry: CheckpointHeader): CheckpointHeader {
    if (this.#header !== null) throw this.#refused('begins another checkpoint');
    if (entry.version !== CHECKPOINT_VERSION)
      throw this.#refused(`is of version ${entry.version}; this program reads ${CHECKPOINT_VERSION}`);
    const names = entry.sessions.map(({ session }) => session);
    if (names.at(-1) !== entry.session || new Set(names).size < names.length)
      throw this.#refused('does not name its session last, and each once');
    this.#header = entry;
    return entry;
  }

  #record({ sessions }: CheckpointHeader, entry: CheckpointRecord): void {
    const part = sessions[this.#at];
    if (part === undefined) throw this.#refused('is a record, and all that were announced have come');
    if (entry.session !== part.session)
      throw this.#refused(`is of session ${entry.session}, where ${part.session} was to go on`);
    this.#verifier ??= new ChainVerifier(part.session);
    this.#records += 1;
    if (this.#verifier.next(storedOf(entry)) && this.#records < part.records) return;
    const verdict = this.#verifier.end({ nextSeq: part.records + 1, lastDigest: part.digest });
    if (!verdict.ok) {
      const { seq, kind, problem } = verdict.fault;
      throw this.#refused(`breaks session ${part.session}: record ${seq} (${kind}): ${problem}`);
    }
    this.#at += 1;
    this.#verifier = null;
    this.#records = 0;
  }

  #close(entry: z.infer<typeof end>): null {
    const wanted = this.#header?.sessions.length ?? 1;
    if (this.#at < wanted) throw this.#refused('ends it, where records were left to come');
    if (entry.lines !== this.#lines - 1 || entry.digest !== this.#digest)
      throw this.#refused('names other lines than those that came: one was altered, added or lost');
    this.#ended = true;
    return null;
  }

  #refused(problem: string): TurnwrightError {
    return refused(`Line ${this.#lines} of the checkpoint ${problem}. Nothing was imported.`);
  }
}

function storedOf(entry: CheckpointRecord): StoredRecord {
  const { seq, kind, body, bytes, digest: own } = entry;
  return {
    seq,
    kind,
    class: entry.class,
    turnId: entry.turn,
    headId: entry.head,
    body,
    bytes,
    bodyDigest: entry.body_digest,
    digest: own,
    prevDigest: entry.prev_digest,
  };
}

function refused(message: string): TurnwrightError {
  return new TurnwrightError('checkpoint_refused', message);
}
