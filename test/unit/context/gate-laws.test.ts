/** The evaluation gates as laws over random sessions: the requests that were really sent, read against the ledger. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rendered } from '../../../src/context/assemble/weigh.ts';
import type { CapacityProfile } from '../../../src/context/capacity/profile.ts';
import { tokensOf } from '../../../src/context/capacity/tokens.ts';
import { promptCeiling } from '../../../src/context/plan/budget.ts';
import { planOptions } from '../../../src/context/plan/options.ts';
import type { ChatRequest } from '../../../src/context/request.ts';
import type { SessionRef } from '../../../src/db/contract.ts';
import type { AssistantBlock } from '../../../src/ledger/blocks.ts';
import { byteLength, canonicalJson } from '../../../src/ledger/json.ts';
import { parseBody } from '../../../src/ledger/kinds.ts';
import { finalAnswer, type TurnView } from '../../../src/ledger/view.ts';
import type { PlanBody } from '../../../src/runtime/request.ts';
import { profileOf } from '../../../src/runtime/request-size.ts';
import { sessionPrefix } from '../../../src/runtime/session-prefix.ts';
import { type Conversation, openConversation, SIMPLE_CONFIG } from '../../support/conversation.ts';
import { measure, memoryParts, type OneProcess, openProcess } from '../../support/one-process.ts';
import { Tally } from '../ledger/sample.ts';
import {
  expectAppendOnly,
  expectEachTurnOnce,
  expectNothingCut,
  expectUnique,
  expectWeighed,
  type GateSession,
} from './gate-checks.ts';
import {
  asked,
  evidenceOf,
  lookupTool,
  measured,
  metric,
  prepareOpen,
  projectionOf,
  TENANT,
  textsOf,
  turnChoice,
  turnSaid,
  viewsOf,
} from './gate-sample.ts';

const SESSIONS = 200;
const LIMIT_MS = 240_000;
const LARGE = 2_000_000;
/** Large beside a card, so that a summariser of the same model has room of its own. */
const SYSTEM = 'Be brief. '.repeat(700);
/** Packets a turn waits for before it goes on without. */
const MOST_PACKETS = 2;
const OFFERED = ['lookup', 'recall', 'emit_metric_card'];

const session = fc.record({
  turns: fc.oneof(
    fc.array(turnChoice, { maxLength: 5 }),
    fc.array(turnChoice, { minLength: 18, maxLength: 30, size: 'max' }),
  ),
  /** Tokens beside the prefix. */
  room: fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 300, max: 1_000 }) },
    { weight: 1, arbitrary: fc.constantFrom(13_000, LARGE) },
    { weight: 2, arbitrary: fc.integer({ min: 1_000, max: 9_000 }) },
  ),
  asks: fc.constantFrom('subject', 'matter', 'back', 'new'),
  target: fc.nat({ max: 29 }),
  eligibility: fc.constantFrom('recency', 'recency', 'signal'),
  steady: fc.boolean(),
  /** Lines that each step of the open turn looks up; 0 shows a card. */
  steps: fc.array(fc.constantFrom(0, 1, 1, 5, 60, 900), { maxLength: 4 }),
  summariser: fc.constantFrom('good', 'good', 'fails', 'empty'),
});
type SessionChoice = typeof session extends fc.Arbitrary<infer T> ? T : never;

function directiveOf({ turns, asks, target }: SessionChoice): string {
  const known = turns.length === 0 ? 1 : (target % turns.length) + 1;
  switch (asks) {
    case 'subject':
      return 'Now tell me what else was written of the orchard.';
    case 'matter':
      return `Which figure did matter m${known}q have?`;
    case 'back':
      return 'Do that again.';
    case 'new':
      return 'Who painted the ceiling of the chapel?';
  }
}

interface Ran extends GateSession {
  readonly choice: SessionChoice;
  readonly view: TurnView;
  /** Every plan that the open turn was given, oldest first. */
  readonly plans: readonly PlanBody[];
  /** Requests of the open turn's steps, in order, without the summariser's. */
  readonly steps: readonly ChatRequest[];
  readonly summaries: number;
}

const isSummary = ({ tools }: ChatRequest): boolean => tools.length === 0;

function replies(choice: SessionChoice): (request: ChatRequest) => readonly AssistantBlock[] {
  let at = 0;
  return (request) => {
    if (isSummary(request)) {
      if (choice.summariser === 'fails') return [{ type: 'thinking', text: 'no words' }];
      const text = choice.summariser === 'empty' ? '   ' : 'Matters were looked up one after the other.';
      return [{ type: 'text', text }];
    }
    const lines = choice.steps[at];
    at += 1;
    if (lines === undefined) return [{ type: 'text', text: 'Here is what was found.' }];
    const number = 900 + at;
    const call =
      lines === 0
        ? { name: 'emit_metric_card', args: metric(number) }
        : { name: 'lookup', args: { number, lines } };
    return [{ type: 'tool_call', id: `x${at}`, ...call }];
  };
}

async function opened(choice: SessionChoice) {
  const parts = memoryParts();
  const process = openProcess({ ...parts, tools: [lookupTool], reply: replies(choice) });
  const options = { eligibility: choice.eligibility, steady: choice.steady };
  const policy = { name: 'plan' as const, options };
  const config = { ...SIMPLE_CONFIG, system: SYSTEM, tools: OFFERED, policy };
  const prefix = sessionPrefix(config, process.surface);
  const horizon = choice.room + tokensOf(prefix.bytes, measured(1));
  await measure(parts, process, measured(horizon));
  const conversation = await openConversation(process.engine, TENANT, config);
  await conversation.write(choice.turns.map((turn, at) => turnSaid(at + 1, turn)));
  const closed = await viewsOf(process, conversation, choice.turns.length);
  const preparing = { profile: measured(horizon), prefix, options };
  const directive = directiveOf(choice);
  const turn = await process.accept(conversation.ref, directive);
  const directives = choice.turns.map(({ about }, at) => asked(at + 1, about));
  return { process, conversation, closed, directive, directives, turn, preparing };
}

async function ran(choice: SessionChoice): Promise<Ran> {
  const { preparing: _, ...session } = await opened(choice);
  const { process, conversation, turn } = session;
  await process.run();
  if (process.errors.length > 0) throw process.errors[0];
  const view = await process.view(conversation.ref, turn);
  const steps = process.sent.filter((request) => !isSummary(request) && isOf(request, session.directive));
  const plans = await plansOf(process, conversation, turn);
  return { choice, ...session, view, plans, steps, summaries: process.sent.length - steps.length };
}

async function plansOf({ engine }: OneProcess, { ref }: Conversation, turn: string) {
  const records = await engine.store.turnRecords(ref, turn);
  return records.flatMap(({ kind, body }) =>
    kind === 'context-plan' ? [parseBody('context-plan', JSON.parse(body))] : [],
  );
}

const isOf = ({ messages }: ChatRequest, directive: string): boolean =>
  messages.some((message) => textsOf(message).includes(directive));

function classes({ choice, steps, view, plans, closed, summaries }: Ran): Readonly<Record<string, boolean>> {
  const has = (fidelity: string): boolean =>
    plans.some(({ runs }) => runs.some((run) => run.fidelity === fidelity));
  return {
    full: has('full'),
    card: has('card'),
    packet: has('packet'),
    'promoted turn': plans.some(({ promoted }) => promoted.length > 0),
    'packet of a summariser': plans.some(({ packet }) => packet?.quality === 'model'),
    'packet made from cards': plans.some(({ packet }) => packet?.quality === 'deterministic'),
    'summariser asked': summaries > 0,
    'degraded answer': view.closed?.reason === 'degraded_summary',
    reset: view.reset !== null,
    'turn of several steps': steps.length > 2,
    'windowed result': closed.some((turn) => evidenceOf(turn).some(({ windowed }) => windowed)),
    'no closed turn': choice.turns.length === 0,
    'closed turn without an answer': closed.some((turn) => finalAnswer(turn) === null),
    'card twice in a turn': choice.turns.some(({ kind }) => kind === 'twice'),
  };
}

async function law(name: string, check: (ran: Ran) => Promise<void> | void): Promise<void> {
  const tally = new Tally();
  await fc.assert(
    fc.asyncProperty(session, async (choice) => {
      const session = await ran(choice);
      tally.count(classes(session));
      await check(session);
    }),
    { numRuns: SESSIONS, endOnFailure: true },
  );
  tally.report(name);
}

describe('the gates, over random sessions', () => {
  it(
    'EVA-01 EVA-02 EVA-03 EVA-05 ASM-02 ASM-05 hold for every request that is sent',
    () =>
      law('gates', async (session) => {
        expectBudget(session);
        const leftOut = session.view.reset === null ? session.view.plan?.leftOut : session.plans[0]?.leftOut;
        for (const request of session.steps) {
          expectEachTurnOnce(session, request, leftOut ?? 0);
          expectUnique(session, request);
        }
        const [first, last] = [session.steps[0], session.steps.at(-1)];
        if (first !== undefined) await expectNothingCut(session, first);
        if (last !== undefined) await expectNothingCut(session, last);
        expectAppendOnly(session.steps);
        expectWeighed(session);
      }),
    LIMIT_MS,
  );

  it(
    'EVA-04 a larger model gets every turn whole from the same ledger, and the smaller one its packet again, byte for byte',
    async () => {
      const tally = new Tally();
      await fc.assert(
        fc.asyncProperty(session, async (choice) => {
          const { process, conversation, turn, preparing, directive, directives } = await opened(choice);
          const { ref } = conversation;
          const works = choice.summariser === 'good';
          const { asked: wanted, packetless } = await writePackets(process, ref, turn, { preparing, works });
          tally.count({ 'packet written': wanted && !packetless, 'no packet': !wanted, packetless });
          const at = (profile: CapacityProfile) =>
            prepareOpen(process, ref, turn, { ...preparing, packetless, profile });
          const small = await at(preparing.profile);
          const large = await at(measured(LARGE));
          const again = await at(preparing.profile);
          if (large.kind !== 'request') throw new Error(`a large model does not need ${large.kind}`);
          const { shown, packet } = projectionOf(large.assembled.request, directives, directive);
          expect(packet).toBeNull();
          if (choice.eligibility === 'recency') for (const as of shown.values()) expect(as).toEqual(['full']);
          if (small.kind !== 'request' || again.kind !== 'request')
            throw new Error(`the stored packet was not reused: ${small.kind}`);
          const messages = canonicalJson(small.assembled.request.messages);
          expect(canonicalJson(again.assembled.request.messages)).toBe(messages);
          expect(again.assembled.requestDigest).toBe(small.assembled.requestDigest);
          const summaries = process.sent.filter(isSummary).length;
          const before = process.sent.length;
          await process.run(({ pool }) => pool === 'summary');
          expect(canonicalJson(process.sent[before]?.messages ?? [])).toBe(messages);
          expect(process.sent.filter(isSummary).length).toBe(summaries);
        }),
        { numRuns: SESSIONS, endOnFailure: true },
      );
      tally.report('two-model replay');
    },
    LIMIT_MS,
  );
});

interface PacketsWritten {
  readonly asked: boolean;
  /** The turn goes on without the summariser. */
  readonly packetless: boolean;
}

/** Runs the turn up to the step that sends, with every packet it waits for. */
async function writePackets(
  process: OneProcess,
  ref: SessionRef,
  turn: string,
  { preparing, works }: { readonly preparing: Parameters<typeof prepareOpen>[3]; readonly works: boolean },
): Promise<PacketsWritten> {
  const most = works ? MOST_PACKETS : 1;
  for (let round = 1; ; round++) {
    const prepared = await prepareOpen(process, ref, turn, preparing);
    const asked = round > 1;
    if (prepared.kind !== 'packet-wanted') return { asked, packetless: asked && !works };
    if (round > most) return { asked, packetless: true };
    const now = [`step-${round}`, `summary-${round}`];
    await process.run((job) => !now.includes(job.ref.child));
  }
}

function expectBudget({ plans, steps, choice }: Ran): void {
  for (const { spentTokens, budgetTokens } of plans) expect(spentTokens).toBeLessThanOrEqual(budgetTokens);
  const [plan] = plans;
  const [first] = steps;
  if (plan === undefined || first === undefined || plan.budgetTokens === 0 || plan.reset !== null) return;
  const profile = profileOf(plan);
  const ceiling = promptCeiling(profile, planOptions());
  const bytes = byteLength(canonicalJson({ system: first.system, tools: first.tools }));
  const weighed = rendered(first.messages).bytes;
  expect(tokensOf(bytes + weighed, profile), `room ${choice.room}`).toBeLessThanOrEqual(ceiling);
}
