/** The transcript as the answers show it. */
import type { z } from 'zod';
import { explainItems } from '../context/evict/explain.ts';
import type { OperatorEvicted } from '../runtime/operator-evict.ts';
import type { Found, TranscriptIndex } from '../runtime/transcript/answers.ts';
import type { Part, TranscriptItem } from '../runtime/transcript/parts.ts';
import type * as schemas from './transcript-schemas.ts';

type Answer<Schema extends z.ZodType> = z.infer<Schema>;
type PartAnswer = Answer<
  typeof schemas.transcriptItems
>['items'][number]['messages'][number]['parts'][number];

export function indexAnswer(session: string, index: TranscriptIndex): Answer<typeof schemas.transcriptIndex> {
  const { items, evictions, unlisted, open, next } = index;
  return {
    session,
    items: items.map((row) => ({ ...row })),
    evictions: evictions.map((row) => ({ ...row })),
    unlisted: unlisted.map(({ turn, ...fault }) => ({ turn, ...faultAnswer(fault) })),
    open,
    next,
  };
}

export function itemsAnswer(
  session: string,
  items: readonly TranscriptItem[],
): Answer<typeof schemas.transcriptItems> {
  return {
    session,
    items: items.map(({ messages, ...item }) => ({
      ...item,
      messages: messages.map(({ role, parts }) => ({ role, parts: parts.map(partAnswer) })),
    })),
  };
}

export function foundAnswer(session: string, found: Found): Answer<typeof schemas.transcriptFound> {
  const { hits, total, skipped, complete } = found;
  const { first } = skipped;
  return {
    session,
    hits: hits.map((hit) => ({ ...hit })),
    total,
    skipped: {
      turns: skipped.turns,
      first: first === null ? null : { item: first.item, ...faultAnswer(first) },
    },
    complete,
    searched_to: found.complete ? null : { ...found.searchedTo },
  };
}

export function evictedAnswer(
  session: string,
  { evicted, seq, table }: OperatorEvicted,
): Answer<typeof schemas.evicted> {
  const { from, to, note } = evicted;
  const runs = explainItems(table);
  return {
    session,
    evicted: { from, to, note, record: seq },
    history_bytes: runs.reduce((sum, { bytes }) => sum + bytes, 0),
    pieces: runs.map((run) => ({ unit: 'item', ...run })),
  };
}

function faultAnswer(fault: { readonly session: string; readonly seq: number; readonly problem: string }) {
  return { session: fault.session, record: fault.seq, reason: fault.problem };
}

function partAnswer(part: Part): PartAnswer {
  switch (part.type) {
    case 'program':
      return { type: part.type, tool: part.tool, source: part.source, arg_names: [...part.argNames] };
    case 'result': {
      const { type, tool, callId, status, evidence, text } = part;
      return { type, tool, call_id: callId, status, evidence, text };
    }
    case 'binary':
      return { type: part.type, media_type: part.mediaType, bytes: part.bytes };
    case 'text':
    case 'reasoning':
    case 'custom':
      return part;
  }
}
