/** Whether the ledger says what producers were told, keeps its numbered laws, and replays. Pure. */
import { brokenLaw, nudgesFit, stepsAnswered } from '../../src/ledger/invariants.ts';
import { ChainVerifier, type StoredRecord } from '../../src/ledger/verify.ts';
import { finalAnswer, foldTurn, type TurnView } from '../../src/ledger/view.ts';
import { MACHINES } from '../../src/machines/registry.ts';
import { replay, unfold } from '../../src/runtime/replay.ts';
import { overlap, type Violation, violation, type Witnesses } from './oracle.ts';
import type { Asked } from './producer.ts';
import type { QuestionKind } from './questions.ts';
import type { Leftovers, StoredActor, StoredSession, StoredTurn } from './read-ledger.ts';
import { BELL_SAYS, DEPTH_SAYS, DEPTH_TOOL, ONCE_TOOL } from './tools.ts';

/** As the API lists it. */
export interface StuckTurn {
  readonly id: string;
  readonly cause: string;
}

export interface Ledger {
  readonly sessions: readonly StoredSession[];
  readonly stuck: readonly StuckTurn[];
  readonly leftovers: Leftovers;
}

/** Kinds of which a turn, a step or a call has at most one, with the members that tell two apart. */
const ONCE: Readonly<Record<string, readonly string[]>> = {
  'turn-accepted': [],
  'turn-context': [],
  'turn-closed': [],
  'assistant-message': ['step'],
  'tool-result': ['step', 'index'],
};

export function judgeLedger(ledger: Ledger, witnesses: Witnesses): readonly Violation[] {
  const { asked } = witnesses.log;
  const stored = new Map(ledger.sessions.map((session) => [session.session, session]));
  return [
    ...asked.flatMap((turn) => judgeAsked(turn, stored.get(turn.session))),
    ...asked.flatMap((turn) => judgeOrdered(turn, stored.get(turn.session), witnesses)),
    ...ledger.sessions.flatMap((session) => judgeSession(session, asked)),
    ...ledger.stuck.map(({ id, cause }) => violation('stuck', id, cause)),
    ...Object.entries(ledger.leftovers).flatMap(([what, count]) =>
      count === 0 ? [] : [violation('stuck', what, `${count} are left though nothing is under way`)],
    ),
  ];
}

/** What a producer was told of a turn is what is stored of it. */
function judgeAsked(asked: Asked, session: StoredSession | undefined): readonly Violation[] {
  const { turn, end } = asked;
  const row = session?.turns.find((candidate) => candidate.turn === turn);
  if (session === undefined || row === undefined)
    return [violation('lost', turn, 'was accepted, and is not there')];
  const view = viewOf(session, turn);
  if (typeof view === 'string') return [violation('wrong', turn, view)];
  const found: Violation[] = [];
  const says = view.input.map((block) => (block.type === 'text' ? block.text : '')).join('');
  if (says !== asked.question.text) found.push(violation('wrong', turn, `holds another question: "${says}"`));
  if (end === null) return found;
  if (row.outcome !== end.outcome || view.closed?.outcome !== end.outcome)
    found.push(violation('wrong', turn, `was told to have ended ${end.outcome}, and ended ${row.outcome}`));
  if (end.outcome === 'completed' && finalAnswer(view) !== end.answer)
    found.push(violation('wrong', turn, 'was answered otherwise than its records say'));
  return found;
}

/** What each kind of question that orders a call has as that call's result. */
const ORDERED: Partial<Record<QuestionKind, { readonly tool: string; readonly says: string }>> = {
  bell: { tool: ONCE_TOOL, says: BELL_SAYS },
  depth: { tool: DEPTH_TOOL, says: DEPTH_SAYS },
};

/** What the ledger says of a call is what the tool did; not to know is for a disturbed `once` call alone. */
function judgeOrdered(
  { turn, question, acceptedAtMs, end }: Asked,
  session: StoredSession | undefined,
  { effects, faults }: Witnesses,
): readonly Violation[] {
  const ordered = ORDERED[question.kind];
  if (ordered === undefined || end?.outcome !== 'completed' || session === undefined) return [];
  const { tool, says } = ordered;
  const results = session.records
    .filter(({ kind, turnId }) => kind === 'tool-result' && turnId === turn)
    .map(({ body }) => JSON.parse(body ?? '{}') as { name?: string; status?: string; content?: string });
  const [result] = results;
  if (results.length !== 1 || result?.name !== tool)
    return [violation('wrong', turn, `has ${results.length} results where one of ${tool} was ordered`)];
  const ran = effects.some((effect) => effect.tool === tool && effect.call.startsWith(`${turn}~`));
  if (result.status === 'ok' && result.content === says)
    return ran ? [] : [violation('lost', turn, `says that ${tool} ran, and it did not`)];
  const disturbed = faults.some((fault) => fault.repeatsCalls && overlap(fault, acceptedAtMs, end.atMs));
  if (result.status === 'outcome_unknown' && tool === ONCE_TOOL)
    return disturbed ? [] : [violation('wrong', turn, 'does not know the outcome of an undisturbed call')];
  return [violation('wrong', turn, `has a result of ${tool} that says ${String(result.status)}`)];
}

function judgeSession(session: StoredSession, asked: readonly Asked[]): readonly Violation[] {
  const known = new Set(asked.map(({ turn }) => turn));
  return [
    ...session.turns
      .filter(({ turn }) => !known.has(turn))
      .map(({ turn }) => violation('duplicate', turn, 'is a turn that no producer was told of')),
    ...judgeRecords(session),
    ...session.turns.flatMap((turn) => judgeTurn(session, turn)),
    ...session.actors.flatMap(judgeActor),
  ];
}

function judgeRecords({ session, records, nextSeq, lastDigest }: StoredSession): readonly Violation[] {
  const found: Violation[] = [];
  const broken = brokenLaw({ session, records });
  if (broken !== null) found.push(violation('wrong', session, `breaks ledger law ${broken}`));
  const verifier = new ChainVerifier(session);
  for (const record of records) if (!verifier.next(record)) break;
  const verdict = verifier.end({ nextSeq, lastDigest });
  if (!verdict.ok)
    found.push(violation('wrong', session, `record ${verdict.fault.seq}: ${verdict.fault.problem}`));
  const seen = new Set<string>();
  for (const record of records) {
    const key = onceKey(record);
    if (key === null) continue;
    if (seen.has(key)) found.push(violation('duplicate', `record ${record.seq} of ${session}`, key));
    seen.add(key);
  }
  return found;
}

function onceKey({ kind, turnId, body }: StoredRecord): string | null {
  const members = ONCE[kind];
  if (members === undefined) return null;
  const parsed = JSON.parse(body ?? '{}') as Readonly<Record<string, unknown>>;
  return [turnId, kind, ...members.map((member) => String(parsed[member]))].join(' ');
}

function judgeTurn(session: StoredSession, { turn, status }: StoredTurn): readonly Violation[] {
  const closes = session.records.filter(({ kind, turnId }) => kind === 'turn-closed' && turnId === turn);
  const view = viewOf(session, turn);
  if (typeof view === 'string') return [violation('wrong', turn, view)];
  const broken = stepsAnswered(view) ?? nudgesFit(view);
  return [
    ...(status === 'closed' && closes.length !== 1
      ? [violation('wrong', turn, `is closed by ${closes.length} records`)]
      : []),
    ...(broken === null ? [] : [violation('wrong', turn, broken)]),
  ];
}

/** Its events, run again from the first, end in the snapshot that is stored, through every one between. */
function judgeActor({
  actor,
  machine,
  version,
  snapshot,
  status,
  events,
}: StoredActor): readonly Violation[] {
  if (status === 'parked') return [violation('stuck', actor, 'is parked')];
  try {
    const steps = replay(MACHINES, machine, version, unfold(events));
    const other = steps.find(({ matches }) => !matches);
    if (other !== undefined)
      return [violation('wrong', actor, `replays otherwise from event ${other.id} on`)];
    const last = steps.at(-1);
    return last?.snapshot === snapshot ? [] : [violation('wrong', actor, 'replays to another snapshot')];
  } catch (error) {
    return [violation('wrong', actor, `cannot be replayed: ${String(error)}`)];
  }
}

function viewOf(session: StoredSession, turn: string): TurnView | string {
  const records = session.records.filter(({ turnId }) => turnId === turn);
  try {
    return foldTurn(
      records.map((record) => ({ ...record, body: JSON.parse(record.body ?? 'null') as unknown })),
    );
  } catch (error) {
    return String(error);
  }
}
