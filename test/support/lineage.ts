/** Sessions in memory whose model a test scripts, and the forks made of them. */
import { randomUUID } from 'node:crypto';
import type { ChatRequest } from '../../src/context/request.ts';
import type { SessionRef, Store } from '../../src/db/contract.ts';
import type { AssistantBlock } from '../../src/ledger/blocks.ts';
import { canonicalJson, type Json } from '../../src/ledger/json.ts';
import type { StoredRecord } from '../../src/ledger/verify.ts';
import { CommitBuilder } from '../../src/runtime/commit-builder.ts';
import { type ForkRequest, forkSession } from '../../src/runtime/fork.ts';
import type { SessionConfig } from '../../src/runtime/sessions.ts';
import { openConversation, SIMPLE_CONFIG } from './conversation.ts';
import { memoryParts, openProcess, type ProcessOptions, type Scripted } from './one-process.ts';
import { sayingTool } from './tools.ts';

const REPORT = sayingTool('report', 'Reports.', 'The lamp of station nine burns oil.');

export const say = (text: string): readonly AssistantBlock[] => [{ type: 'text', text }];
export const call = (name: string, args: Json = {}): readonly AssistantBlock[] => [
  { type: 'tool_call', id: 'c', name, args },
];

export function configOf(policy: SessionConfig['policy']['name']): SessionConfig {
  return { ...SIMPLE_CONFIG, leg: 'scripted', policy: { name: policy, options: {} }, tools: ['report'] };
}

export type Lineage = Awaited<ReturnType<typeof openLineage>>;

/** One process over a store in memory, and a session in it; `reply` answers requests by their count from 1. */
export async function openLineage(
  config: SessionConfig,
  reply: (request: ChatRequest, at: number) => Scripted = (_, at) => say(`Answer ${at}.`),
) {
  const parts = memoryParts();
  const options: ProcessOptions = { ...parts, reply, tools: [REPORT] };
  const process = openProcess(options);
  const { ref } = await openConversation(process.engine, randomUUID(), config);
  const { store, engine } = { store: parts.store, engine: process.engine };
  return {
    parts,
    store,
    process,
    engine,
    ref,
    /** Another process of the deployment: it knows nothing yet. */
    another: () => openProcess(options),
    fork: async (
      from: SessionRef = ref,
      request: Pick<ForkRequest, 'settings'> = {},
    ): Promise<SessionRef> => {
      const child = { tenant: from.tenant, session: randomUUID() };
      await forkSession(engine, from, { ...request, session: child.session, head: randomUUID() });
      return child;
    },
    /** A process over another store, and its engine. */
    processOver: (over: Store) => openProcess({ ...options, store: over }),
    engineOver: (over: Store) => openProcess({ ...options, store: over }).engine,
    evict: (session: SessionRef, from: number, to: number, note: string | null = null) =>
      appendTo(store, session, (builder, head) => {
        const body = { from, to, note, author: 'operator' as const };
        const seq = builder.append(head, { kind: 'evicted', turnId: null, body });
        builder.lists.evictions.push({ ...body, head, seq });
      }),
    records: (session: SessionRef = ref) => recordsOf(store, session),
    lastSent: () => textOf(process.sent.at(-1)),
  };
}

export function textOf(request: ChatRequest | undefined): string {
  return (request?.messages ?? []).map((message) => canonicalJson(message)).join('\n');
}

export async function recordsOf(store: Store, ref: SessionRef): Promise<readonly StoredRecord[]> {
  const records: StoredRecord[] = [];
  for await (const record of store.records(ref)) records.push(record);
  return records;
}

/** The store, with one session's records as `spoil` leaves them; null takes one away. */
export function spoilt(
  store: Store,
  session: string,
  spoil: (record: StoredRecord) => StoredRecord | null,
): Store {
  async function* records(...[ref, run]: Parameters<Store['records']>) {
    for await (const record of store.records(ref, run)) {
      const left = ref.session === session ? spoil(record) : record;
      if (left !== null) yield left;
    }
  }
  return new Proxy(store, {
    get: (of, name) => {
      if (name === 'records') return records;
      const member: unknown = Reflect.get(of, name);
      return typeof member === 'function' ? member.bind(of) : member;
    },
  });
}

async function appendTo(
  store: Store,
  ref: SessionRef,
  write: (builder: CommitBuilder, head: string) => void,
): Promise<void> {
  const state = await store.loadSession(ref, null);
  if (state === null) throw new Error(`there is no session ${ref.session}`);
  const builder = new CommitBuilder(state.session);
  write(builder, state.session.liveHead);
  const result = await store.apply(builder.build());
  if (result !== 'applied') throw new Error(`the records were not written: ${result}`);
}
