/**
 * Sessions that begin with a conversation held elsewhere. Each message of the user opens a turn, and what was answered
 * closes it: cards, items and links are those it would have had here. No machine ran it, so a turn that came this way
 * has no actor; all else is as if it had closed here, in the one commit that opens the session.
 */
import type { SessionRef } from '../db/contract.ts';
import { readLexically } from '../intent/reading.ts';
import type { InputBlock, TextBlock } from '../ledger/blocks.ts';
import { visibleText } from '../ledger/view.ts';
import { askedBy } from './accept.ts';
import { recordClosing } from './closing.ts';
import type { CommitBuilder } from './commit-builder.ts';
import type { Engine } from './engine.ts';
import { viewOf } from './in-hop.ts';
import { openingOf, type SessionConfig } from './sessions.ts';

/** Why a turn that came with a history ended. */
export const IMPORTED_REASON = 'imported';

/** A long history takes a second to read: others of the process have their turn meanwhile. */
const TURNS_AT_ONCE = 25;

export type ImportedMessage =
  | { readonly role: 'user'; readonly content: readonly InputBlock[] }
  | { readonly role: 'assistant'; readonly content: readonly TextBlock[] };

export interface NewImport {
  readonly head: string;
  readonly config: SessionConfig;
  /** Oldest first; the first is the user's. */
  readonly messages: readonly ImportedMessage[];
  readonly newId: () => string;
}

/** A message of the user with what was answered until the next. */
interface Exchange {
  readonly input: readonly InputBlock[];
  readonly answers: (readonly TextBlock[])[];
}

/** The session is there with all of its history, or not at all. */
export async function importSession(
  engine: Engine,
  ref: SessionRef,
  { head, config, messages, newId }: NewImport,
): Promise<void> {
  const builder = openingOf(ref, head, config);
  const { nowUtc, timezone } = engine.hopContext();
  const heard = { utc: nowUtc, timezone, locale: config.locale };
  for (const [at, exchange] of exchangesOf(messages).entries()) {
    if (at % TURNS_AT_ONCE === TURNS_AT_ONCE - 1) await engine.clock.sleep(0);
    appendTurn(builder, { head, turn: newId() }, exchange, heard);
  }
  const result = await engine.commit(builder.build());
  if (result !== 'applied') throw new Error(`session ${ref.session} could not be opened: ${result}`);
}

function exchangesOf(messages: readonly ImportedMessage[]): readonly Exchange[] {
  const exchanges: Exchange[] = [];
  for (const { role, content } of messages) {
    if (role === 'user') exchanges.push({ input: content, answers: [] });
    else exchanges.at(-1)?.answers.push(content);
  }
  return exchanges;
}

function appendTurn(
  builder: CommitBuilder,
  { head, turn }: { readonly head: string; readonly turn: string },
  { input, answers }: Exchange,
  {
    locale,
    ...context
  }: { readonly utc: string; readonly timezone: string; readonly locale: string | undefined },
): void {
  const number = builder.takeTurnNumber();
  const accepted = {
    number,
    input: [...input],
    mode: 'enqueue' as const,
    priority: 0,
    asked: askedBy({ input }),
  };
  builder.append(head, { kind: 'turn-accepted', turnId: turn, body: { ...accepted, imported: true } });
  const reading = readLexically(visibleText(input), locale);
  builder.append(head, { kind: 'reading', turnId: turn, body: reading });
  builder.append(head, { kind: 'turn-context', turnId: turn, body: context });
  builder.lists.turns.push({ turn, head, number, priority: 0 });
  for (const [at, content] of answers.entries()) {
    const body = { step: at + 1, content: [...content], finish: 'stop' as const };
    builder.append(head, { kind: 'assistant-message', turnId: turn, body });
  }
  const ended = { outcome: 'completed' as const, reason: IMPORTED_REASON, steps: answers.length };
  recordClosing(builder, head, viewOf([], builder, turn), ended);
}
