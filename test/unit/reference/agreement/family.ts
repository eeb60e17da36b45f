/**
 * A family of sessions as production runs it, over a store in memory: the same engine, hops and workers. Every act of
 * a script is what a user, a model, an operator or a dying process would do.
 */
import { z } from 'zod';
import { piecesOf } from '../../../../src/context/evict/pieces.ts';
import { residueMessages } from '../../../../src/context/evict/residue.ts';
import type { ChatMessage } from '../../../../src/context/request.ts';
import type { SessionHead, SessionRef } from '../../../../src/db/contract.ts';
import type { AssistantBlock } from '../../../../src/ledger/blocks.ts';
import { TurnwrightError } from '../../../../src/ledger/errors.ts';
import type { TurnView } from '../../../../src/ledger/view.ts';
import { acceptTurn } from '../../../../src/runtime/accept.ts';
import { checkOut } from '../../../../src/runtime/checkout.ts';
import { clearSession } from '../../../../src/runtime/clear.ts';
import { forkSession } from '../../../../src/runtime/fork.ts';
import { HeadIndexes } from '../../../../src/runtime/head-index.ts';
import { type HeadItems, HeadItemsReader } from '../../../../src/runtime/head-items.ts';
import { type ImportedMessage, importSession } from '../../../../src/runtime/imported-history.ts';
import { evictByOperator } from '../../../../src/runtime/operator-evict.ts';
import { createSession, type SessionConfig } from '../../../../src/runtime/sessions.ts';
import type { TranscriptIndex } from '../../../../src/runtime/transcript/answers.ts';
import { indexPage } from '../../../../src/runtime/transcript/index-page.ts';
import { foldRecords, TurnCache } from '../../../../src/runtime/turn-cache.ts';
import { defineTool } from '../../../../src/tools/define.ts';
import type { AskedEdit } from '../../../reference/evict/acts.ts';
import { TOOL } from '../../../reference/evict/messages.ts';
import { SIMPLE_CONFIG } from '../../../support/conversation.ts';
import { memoryParts, type OneProcess, openProcess } from '../../../support/one-process.ts';
import { type Saying, ScriptedModel } from './scripted-model.ts';

/** Tokens: far more than any script sends, so that only what the model reports fills it. */
const WINDOW = 1_000_000;
const CONFIG: SessionConfig = {
  ...SIMPLE_CONFIG,
  leg: 'scripted',
  policy: { name: 'evict', options: { contextWindow: WINDOW } },
  tools: [TOOL],
};
const LIMITS = { stepBudget: 500, deadlineMs: 600_000, escalate: false } as const;

const WORKER = '00000000-0000-7000-8000-ffffffffffff';
/** More than a script's calls take up. */
const SLOTS = 1_000;

type Job = OneProcess['waiting'][number];

interface Session {
  readonly ref: SessionRef;
  head: string;
}

/** How a head stands, read through one process. */
export interface Reading {
  readonly session: SessionHead;
  readonly open: TurnView | null;
  readonly items: HeadItems;
  /** What the next request would carry. */
  readonly messages: readonly ChatMessage[];
}

export class RealFamily {
  readonly model = new ScriptedModel();
  readonly #parts = memoryParts();
  readonly #sessions: Session[] = [];
  readonly #done = new Set<Job>();
  readonly #processes: OneProcess[] = [];
  #report: readonly string[] = [];
  #ids = 0;

  constructor() {
    this.restart();
  }

  get errors(): readonly unknown[] {
    return this.#processes.flatMap(({ errors }) => errors);
  }

  /** All that a process knew is gone; what was handed over is not. */
  restart(): void {
    const input = z.strictObject({ part: z.int() });
    const report = defineTool({
      name: TOOL,
      description: 'Reports.',
      input,
      effect: 'read',
      run: async (args) => this.#report[args.part] ?? '',
    });
    this.#processes.push(openProcess({ ...this.#parts, provider: this.model.provider, tools: [report] }));
  }

  async start(imports: readonly { readonly prompt: string; readonly answer: string }[]): Promise<void> {
    const messages = imports.flatMap(({ prompt, answer }): readonly ImportedMessage[] => [
      { role: 'user', content: [{ type: 'text', text: prompt }] },
      { role: 'assistant', content: [{ type: 'text', text: answer }] },
    ]);
    const session = { ref: { tenant: this.#id(), session: this.#id() }, head: this.#id() };
    const tenant = this.#sessions[0]?.ref.tenant ?? session.ref.tenant;
    this.#sessions.push({ ...session, ref: { ...session.ref, tenant } });
    const { ref, head } = this.#at(this.#sessions.length - 1);
    const { engine } = this.#live;
    if (messages.length === 0) await createSession(engine, ref, head, CONFIG);
    else await importSession(engine, ref, { head, config: CONFIG, messages, newId: () => this.#id() });
  }

  async prompt(session: number, text: string): Promise<void> {
    await this.#accept(session, text, 'enqueue');
  }

  async steer(session: number, text: string): Promise<void> {
    await this.#accept(session, text, 'steer');
  }

  /** The step that waits is run, and the model says this. */
  async reply(session: number, said: Saying): Promise<void> {
    this.model.says(said);
    await this.#makeRoom();
    await this.#run(session, 'step');
  }

  /** Every call that waits is run, those of turns that ended too. */
  async results(session: number, contents: readonly string[]): Promise<void> {
    this.#report = contents;
    for (let left = 1; left > 0; ) left = await this.#run(session, 'tool');
    await this.#makeRoom();
    await this.#run(session, 'tool');
  }

  async cancel(session: number): Promise<void> {
    const { ref } = this.#at(session);
    const turn = (await this.#live.engine.store.loadSession(ref, null))?.openTurn ?? '';
    const event = { type: 'turn.cancel', reason: 'cancelled' };
    await this.#live.engine.deliver({ ...ref, actor: turn }, { id: 'cancel', event });
  }

  async clear(session: number): Promise<void> {
    await clearSession(this.#live.engine, this.#at(session).ref);
  }

  async fork(session: number): Promise<void> {
    const parent = this.#at(session);
    const child = { ref: { ...parent.ref, session: this.#id() }, head: this.#id() };
    this.#sessions.push(child);
    await forkSession(this.#live.engine, parent.ref, { session: child.ref.session, head: child.head });
  }

  /** False where there are fewer turns. */
  async back(session: number, back: number): Promise<boolean> {
    const at = this.#at(session);
    try {
      const { head } = await checkOut(this.#live.engine, at.ref, { back }, this.#id());
      at.head = head;
      return true;
    } catch (error) {
      if (error instanceof TurnwrightError && error.code === 'turn_not_found') return false;
      throw error;
    }
  }

  /** False where it is refused. */
  async evict(session: number, asked: AskedEdit): Promise<boolean> {
    try {
      await evictByOperator(this.#live.engine, this.#at(session).ref, asked);
      return true;
    } catch (error) {
      if (error instanceof TurnwrightError && !error.retryable) return false;
      throw error;
    }
  }

  /** Through the process that lives, or from what is stored alone. */
  async read(session: number, through: 'live' | 'fresh' = 'live'): Promise<Reading> {
    const { ref } = this.#at(session);
    const { engine } = this.#live;
    const { store } = engine;
    const reader =
      through === 'live' ? engine.items : new HeadItemsReader(new HeadIndexes(store), new TurnCache(store));
    const state = await engine.store.loadSession(ref, null);
    if (state === null) throw new Error('there is no such session');
    const { openTurn, session: row } = state;
    const open = openTurn === null ? null : foldRecords(await engine.store.turnRecords(ref, openTurn));
    const place = { head: row.liveHead, epoch: row.epoch, before: open?.number ?? row.nextTurn };
    const items = await reader.read({ ref, place, open, workContract: null });
    const messages = piecesOf(items.table).flatMap((piece) =>
      piece.kind === 'item' ? items.pieceOf(piece.row.item).messages : residueMessages(piece.eviction),
    );
    return { session: row, open, items, messages };
  }

  /** What the transcript lists. */
  async index(session: number): Promise<TranscriptIndex> {
    const { store } = this.#live.engine;
    const { ref } = this.#at(session);
    const row = (await store.loadSession(ref, null))?.session;
    return indexPage(
      store,
      { ref, head: row?.liveHead ?? '', nextItem: row?.nextItem ?? 0 },
      { after: 0, limit: 1_000 },
    );
  }

  get #live(): OneProcess {
    const live = this.#processes.at(-1);
    if (live === undefined) throw new Error('no process lives');
    return live;
  }

  async #accept(session: number, text: string, mode: 'enqueue' | 'steer'): Promise<void> {
    await acceptTurn(this.#live.engine, this.#at(session).ref, {
      turn: this.#id(),
      input: [{ type: 'text', text }],
      mode,
      priority: 0,
      idempotencyKey: null,
      limits: LIMITS,
    });
  }

  /** Calls of turns that ended take up room until somebody looks how much there is. */
  async #makeRoom(): Promise<void> {
    await this.#parts.upkeep.beat({ id: WORKER, host: 'here', pid: 1, pools: { step: SLOTS, tool: SLOTS } });
    await this.#live.engine.admission.refresh();
  }

  /** How many jobs of the pool waited, whichever process was handed them. */
  async #run(session: number, pool: Job['pool']): Promise<number> {
    const { ref } = this.#at(session);
    const jobs = this.#processes
      .flatMap(({ waiting }) => waiting)
      .filter((job) => job.pool === pool && job.ref.session === ref.session && !this.#done.has(job));
    for (const job of jobs) {
      this.#done.add(job);
      await this.#live.perform(job);
    }
    return jobs.length;
  }

  #at(session: number): Session {
    const found = this.#sessions[session];
    if (found === undefined) throw new Error(`There is no session ${session}.`);
    return found;
  }

  #id(): string {
    this.#ids += 1;
    return `00000000-0000-7000-8000-${this.#ids.toString(16).padStart(12, '0')}`;
  }
}

/** What a message of text and calls is made of. */
export function blocksOf(
  text: string,
  calls: readonly { readonly name: string; readonly args: Readonly<Record<string, string | number>> }[],
): readonly AssistantBlock[] {
  return [
    { type: 'text', text },
    ...calls.map(({ name, args }, at) => ({ type: 'tool_call', id: `c${at}`, name, args }) as const),
  ];
}
