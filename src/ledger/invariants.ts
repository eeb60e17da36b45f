/**
 * What always holds of the ledger, of a turn and of a request, numbered. Each is a pure question that
 * answers null, or the first reason why it does not hold. Tests and simulations ask them by number.
 *
 *  1 numbers of records run from 1 without a gap       7 on a head one turn runs at a time
 *  2 every record follows the digest before it         8 numbers of turns, items, results, cards are never given twice
 *  3 every body is whole, or was erased on record      9 steps ascend, and results answer calls of their step
 *  4 every record fits its kind and class             10 only replies without a call are sent back
 *  5 a session is opened once, by its first records   11 each call of a request is answered right after it
 *  6 a turn is accepted first, and closed last, once  12 within a turn a request only grows
 *
 * Of a fork, 5 wants its link as the third record, and 8 wants its numbers above those of what it goes on from; 7 wants
 * a head at rest when it is cleared; 8 wants an eviction to take items that were recorded.
 */
import type { AssistantBlock, InputBlock, ToolResultBlock } from './blocks.ts';
import { blake3Hex, envelopeDigest, GENESIS_DIGEST } from './chain.ts';
import { evictionProblem, newestItem } from './evicted.ts';
import { byteLength, canonicalJson } from './json.ts';
import { type BodyOf, classOf, isKnownKind, parseBody, type RecordKind } from './kinds.ts';
import { linkProblem } from './link.ts';
import type { StoredRecord } from './verify.ts';
import { type TurnView, toolCalls, visibleText } from './view.ts';

/** Every record of a session, in the order in which it is stored. */
export interface LedgerOf {
  readonly session: string;
  readonly records: readonly StoredRecord[];
}

/** The part of a request these laws speak of. */
export interface RequestOf {
  readonly system: string;
  readonly tools: readonly { readonly name: string }[];
  readonly messages: readonly {
    readonly role: 'user' | 'assistant';
    readonly content: readonly (AssistantBlock | InputBlock | ToolResultBlock)[];
  }[];
}

type Answer = string | null;

export const LEDGER_INVARIANTS: ReadonlyMap<number, (ledger: LedgerOf) => Answer> = new Map([
  [1, gapFree],
  [2, chained],
  [3, bodiesHeld],
  [4, kindsFit],
  [5, openedOnce],
  [6, turnsBounded],
  [7, oneRunningTurn],
  [8, namesOnce],
]);

/** The first broken law of a ledger, as `<number>: <reason>`. */
export function brokenLaw(ledger: LedgerOf): Answer {
  for (const [number, law] of LEDGER_INVARIANTS) {
    const reason = law(ledger);
    if (reason !== null) return `${number}: ${reason}`;
  }
  return null;
}

function gapFree({ records }: LedgerOf): Answer {
  return first(records, (record, index) =>
    record.seq === index + 1 ? null : `stands at place ${index + 1}`,
  );
}

function chained({ session, records }: LedgerOf): Answer {
  return first(records, (record, index) => {
    const before = records[index - 1]?.digest ?? GENESIS_DIGEST;
    if (record.prevDigest !== before) return 'does not follow the record before it';
    return envelopeDigest({ ...record, session }) === record.digest
      ? null
      : 'has another digest than its own';
  });
}

function bodiesHeld({ records }: LedgerOf): Answer {
  const erased = new Map<number, string>();
  for (const record of records) {
    if (record.kind !== 'erased' || record.body === null) continue;
    const { seq, digest } = JSON.parse(record.body) as BodyOf<'erased'>;
    erased.set(seq, digest);
  }
  return first(records, ({ seq, body, bodyDigest, bytes }) => {
    if (body === null) return erased.get(seq) === bodyDigest ? null : 'has no body and was not erased';
    if (blake3Hex(body) !== bodyDigest) return 'has another body than it was written with';
    return byteLength(body) === bytes ? null : 'has another size than its body';
  });
}

function kindsFit({ records }: LedgerOf): Answer {
  return first(records, ({ kind, class: recordClass, body }) => {
    if (!isKnownKind(kind)) return recordClass === 'protocol' ? `is of the unknown kind ${kind}` : null;
    if (classOf(kind) !== recordClass) return `is ${recordClass}, which a ${kind} is not`;
    if (body === null) return null;
    try {
      return canonicalJson(parseBody(kind, JSON.parse(body))) === body ? null : 'is not in canonical form';
    } catch {
      return `does not fit the kind ${kind}`;
    }
  });
}

function openedOnce({ session, records }: LedgerOf): Answer {
  if (records[0]?.kind !== 'session-created') return 'the first record does not open the session';
  if (records[1]?.kind !== 'head-created') return 'the second record does not make a head';
  return first(records.slice(1), ({ seq, kind, body }) => {
    if (kind === 'session-created') return 'opens it again';
    if (kind !== 'inherited' || body === null) return null;
    const problem = linkProblem(session, seq, JSON.parse(body) as BodyOf<'inherited'>);
    return problem === null ? null : `is no link of a fork: ${problem}`;
  });
}

function turnsBounded({ records }: LedgerOf): Answer {
  const state = new Map<string, 'open' | 'closed'>();
  return first(records, ({ turnId, kind, class: recordClass }) => {
    if (turnId === null) return kind === 'turn-accepted' ? 'accepts no turn' : null;
    const before = state.get(turnId);
    if (kind === 'turn-accepted') state.set(turnId, 'open');
    if (kind === 'turn-closed') state.set(turnId, 'closed');
    if (kind === 'turn-accepted') return before === undefined ? null : 'accepts a turn again';
    if (before === undefined) return 'comes before its turn was accepted';
    return before === 'closed' && recordClass === 'protocol' ? 'comes after its turn was closed' : null;
  });
}

function oneRunningTurn({ records }: LedgerOf): Answer {
  const running = new Map<string, string>();
  return first(records, ({ headId, turnId, kind }) => {
    const current = running.get(headId);
    if (kind === 'turn-closed' && current === turnId) running.delete(headId);
    if (kind === 'cleared') return current === undefined ? null : `clears a head while ${current} runs on it`;
    if (kind !== 'turn-context' || turnId === null) return null;
    running.set(headId, turnId);
    return current === undefined ? null : `starts a turn while ${current} runs on its head`;
  });
}

function namesOnce({ records }: LedgerOf): Answer {
  const given = new Set<string>();
  let next: Next = { turn: 1, item: 1, evidence: 1, presentation: 1 };
  let newest = 0;
  return first(records, ({ kind, body: text }) => {
    if (!isKnownKind(kind)) return null;
    const body: unknown = text === null ? null : JSON.parse(text);
    newest = newestItem(newest, kind, body);
    if (body === null) return null;
    if (kind === 'evicted') {
      const problem = evictionProblem(body as BodyOf<'evicted'>, newest);
      return problem === null ? null : `is no eviction: ${problem}`;
    }
    if (kind === 'inherited') next = (body as BodyOf<'inherited'>).next;
    const name = nameGiven(kind, body);
    if (name === null) return null;
    const { of, number } = name;
    const shown = `${MARKS[of]}${number}`;
    if (number < next[of]) return `gives the name ${shown}, which was given before the session began`;
    if (given.has(shown)) return `gives the name ${shown} again`;
    given.add(shown);
    return null;
  });
}

type Next = BodyOf<'inherited'>['next'];
type Name = { readonly of: keyof Next; readonly number: number };

const MARKS = { turn: 'T', item: '#', evidence: 'e', presentation: 'p' } as const satisfies Record<
  keyof Next,
  string
>;

/** What the record is the first to name, if anything. */
function nameGiven(kind: RecordKind, body: unknown): Name | null {
  switch (kind) {
    case 'turn-accepted':
      return { of: 'turn', number: (body as BodyOf<'turn-accepted'>).number };
    case 'turn-context':
    case 'assistant-message':
      return { of: 'item', number: (body as BodyOf<'turn-context'>).item };
    case 'presentation':
      return { of: 'presentation', number: ordinalOf((body as BodyOf<'presentation'>).presentation) };
    case 'tool-result': {
      const { evidence } = body as BodyOf<'tool-result'>;
      return evidence === null ? null : { of: 'evidence', number: ordinalOf(evidence) };
    }
    default:
      return null;
  }
}

function ordinalOf(id: string): number {
  return Number(id.slice(1));
}

/** Law 9. */
export function stepsAnswered(turn: TurnView): Answer {
  let before = 0;
  for (const { step, content, results } of turn.steps) {
    if (step <= before) return `step ${step} comes after step ${before}`;
    before = step;
    const calls = toolCalls(content);
    for (const [index, result] of results) {
      const call = calls[index];
      if (call === undefined) return `step ${step} has a result for call ${index}, which it does not make`;
      if (call.id !== result.callId)
        return `the result for call ${index} of step ${step} answers another call`;
    }
  }
  return null;
}

/** Law 10: as empty exactly where there is no text either. */
export function nudgesFit(turn: TurnView): Answer {
  for (const { step, nudge, content } of turn.steps) {
    if (nudge === null) continue;
    if (toolCalls(content).length > 0) return `step ${step} was sent back though it made a call`;
    const isEmpty = visibleText(content).trim() === '';
    if (isEmpty !== (nudge.check === 'empty-step'))
      return `step ${step} was sent back by ${nudge.check} though it ${isEmpty ? 'held no text' : 'held text'}`;
  }
  return null;
}

/** Law 11. */
export function callsAnswered({ messages }: RequestOf): Answer {
  for (const [index, message] of [...messages, { role: 'user', content: [] } as const].entries()) {
    const asked = (messages[index - 1]?.content ?? []).flatMap((block) =>
      block.type === 'tool_call' ? [block.id] : [],
    );
    const answered = message.content.flatMap((block) => (block.type === 'tool_result' ? [block.callId] : []));
    if (asked.join('\n') !== answered.join('\n'))
      return `message ${index} answers [${answered.join(', ')}] where [${asked.join(', ')}] was called`;
  }
  return null;
}

/** Law 12. */
export function onlyGrows(before: RequestOf, after: RequestOf): Answer {
  if (before.system !== after.system) return 'the system text changed';
  if (canonicalJson(before.tools) !== canonicalJson(after.tools)) return 'the tools changed';
  const sent = after.messages.map((message) => canonicalJson(message));
  const changed = before.messages.findIndex((message, index) => canonicalJson(message) !== sent[index]);
  return changed === -1 ? null : `message ${changed} changed`;
}

function first(
  records: readonly StoredRecord[],
  ask: (record: StoredRecord, index: number) => Answer,
): Answer {
  for (const [index, record] of records.entries()) {
    const reason = ask(record, index);
    if (reason !== null) return `record ${record.seq} (${record.kind}) ${reason}`;
  }
  return null;
}
