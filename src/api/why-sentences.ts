/** What a turn waits for, or how it ended, in a few plain sentences. Pure: made of the facts alone. */
import type { StuckWords } from '../runtime/stuck-reasons.ts';
import type { CallFact, WhyFacts } from './why-schema.ts';

/** Of more calls than these only their number is told; the facts hold all. */
const MAX_CALLS_TOLD = 4;

/** What the codes of outcomes mean. A code without an entry is told as it is. */
const REASONS: Readonly<Record<string, string>> = {
  answered: 'it answered',
  card_answered: 'its card is the answer',
  card_repeated: 'it only showed the same card again, which is the answer',
  cancelled: 'it was cancelled',
  cancelled_while_parked: 'it was cancelled while it was parked',
  interrupted: 'a newer turn interrupted it',
  step_budget: 'its budget of steps was spent',
  time_budget: 'its deadline passed',
  turn_cost_budget: "its next call could have passed the turn's budget of cost",
  turn_tokens_budget: "its next call could have passed the turn's budget of tokens",
  session_cost_budget: "its next call could have passed the session's budget of cost",
  session_tokens_budget: "its next call could have passed the session's budget of tokens",
  tenant_cost_budget: "its next call could have passed the tenant's budget of cost for the day",
  approval_expired: 'nobody decided in time',
  decision_expired: 'nobody decided in time',
  client_expired: 'the client did not send the results of its calls in time',
  stale_data_refused: 'a current value was asked for and nothing was looked up, twice',
  topic_mismatch_refused: 'its cards shared nothing with what was found, twice',
  uncited_source_refused: 'its cards named sources that were not found, twice',
  model_drift: 'the model repeated an earlier answer three times in a row',
  tool_repair_exhausted: 'no call worked in three batches in a row',
  degraded_summary: 'its answer rests on a packet that no summariser wrote',
  empty_step: 'the model replied with nothing twice in a row',
  no_usable_horizon: 'its request did not fit the model, however small it was made',
  transport_exhausted: 'the provider failed at every attempt',
  auth: "the provider refused the leg's key",
  bad_request: 'the provider refused the request as malformed',
  content_refused: 'the provider refused the content',
  response_not_cached: 'only kept replies were wanted, and there was none for its request',
  workers_died: 'too many workers died at one of its calls',
  internal: 'a defect of this program stopped it',
};

/** Who must do what, by what the turn waits for. */
const AWAITED: Readonly<Record<string, string>> = {
  approval: 'A person must approve or deny its calls',
  outcome: 'A person must decide whether calls whose outcome is unknown run again',
  client: 'The client must send the results of its calls (tool_result)',
};

export function whySentences(
  turn: string,
  facts: WhyFacts,
  stuck: (StuckWords & { readonly stuck_seconds: number }) | null,
): readonly string[] {
  if (facts.state === 'closed') return ended(turn, facts);
  return [
    state(facts),
    ...place(facts),
    ...decision(turn, facts),
    ...calls(facts),
    ...events(facts),
    ...lastError(facts),
    ...timers(facts),
    ...budget(facts),
    stuck === null
      ? 'It is not stuck.'
      : `It has been stuck for ${inWords(stuck.stuck_seconds)}: ${stuck.reason} What to do: ${stuck.action}`,
  ];
}

function ended(turn: string, facts: WhyFacts): readonly string[] {
  const { outcome, reason, steps, accepted_at, closed_at } = facts;
  const took = inWords((Date.parse(closed_at ?? accepted_at) - Date.parse(accepted_at)) / 1_000);
  const code = reason ?? 'unknown';
  const because = Object.hasOwn(REASONS, code) ? REASONS[code] : code;
  const first = `${nameOf(facts.number)} ended ${outcome ?? 'closed'} ${took} after it was accepted, with ${counted(steps.begun, 'step')}: ${because}.`;
  if (outcome === 'completed') return [first];
  const again = `POST /v1/turns/${turn}/retry enqueues its directive as a new turn.`;
  return [first, ...lastError(facts), again];
}

function state({
  number,
  state: name,
  phase,
  phase_means,
  changed_seconds,
  parked_reason,
}: WhyFacts): string {
  const since = inWords(changed_seconds);
  if (name === 'parked')
    return `${nameOf(number)} has been parked in the state ${phase} for ${since}: ${sentence(parked_reason ?? 'no reason was kept')}`;
  const means = phase_means === null ? '' : `: ${lowered(phase_means.replace(/\.$/u, ''))}`;
  return `${nameOf(number)} has been ${phase} for ${since}${means}.`;
}

function place({ state: name, behind, waiting_before }: WhyFacts): readonly string[] {
  if (name !== 'accepted') return [];
  const before =
    waiting_before === 0
      ? ''
      : `; ${counted(waiting_before, 'accepted turn')} ${waiting_before === 1 ? 'starts' : 'start'} before it`;
  if (behind === null) return [`No turn runs on its head${before}.`];
  const how = behind.state === 'running' ? behind.phase : behind.state;
  return [`It waits its place behind ${nameOf(behind.number)} (${behind.turn}), which is ${how}${before}.`];
}

function decision(turn: string, { state: name, waiting_for }: WhyFacts): readonly string[] {
  if (name !== 'waiting') return [];
  const known = waiting_for !== null && Object.hasOwn(AWAITED, waiting_for) ? AWAITED[waiting_for] : null;
  return [`${known ?? 'A person must decide'}: POST /v1/turns/${turn}/signals.`];
}

function calls({ calls: all }: WhyFacts): readonly string[] {
  const told = all.length > MAX_CALLS_TOLD ? all.slice(0, MAX_CALLS_TOLD) : all;
  const rest = all.slice(told.length);
  const running = rest.filter((call) => call.status === 'running').length;
  return [
    ...told.map(call),
    ...(rest.length === 0
      ? []
      : [`${counted(rest.length, 'more call')}: ${running} running, ${rest.length - running} waiting.`]),
  ];
}

function call(fact: CallFact): string {
  const { child, pool, since_seconds, due_in_seconds, rows_before, rate_limited } = fact;
  const attempt = `attempt ${fact.attempt}${fact.max_attempts === null ? '' : ` of ${fact.max_attempts}`}`;
  const slots = counted(fact.pool_slots, 'live slot');
  const since = inWords(since_seconds ?? 0);
  switch (fact.place) {
    case 'running':
      return `${child} has run for ${since} in the pool ${pool}, ${attempt}, ${worker(fact)}.`;
    case 'handed_over':
      return `${child} was handed to the queue ${since} ago and waits for the pool ${pool} (${slots}), ${attempt}.`;
    case 'held_back':
      return `${child} has been held back in Postgres for ${since}: the pool ${pool} (${slots}) has ${counted(rows_before ?? 0, 'row')} of this tenant before it, ${attempt}.`;
    case 'delayed':
      if (fact.waits_for !== null)
        return `${child} waits for ${fact.waits_for} and looks again in ${inWords(due_in_seconds ?? 0)}.`;
      return rate_limited
        ? `${child} waits for its provider's rate limit and is due in ${inWords(due_in_seconds ?? 0)}, ${attempt}.`
        : `${child} is due again in ${inWords(due_in_seconds ?? 0)}, ${attempt}.`;
    case 'lost':
      return `${child} is queued for the pool ${pool}, and no row hands it over, ${attempt}.`;
  }
}

function worker({ worker: found }: CallFact): string {
  if (found === null) return 'by a worker nobody knows';
  if (found.silent_seconds === null) return 'by a worker that is gone';
  const who = `the worker on ${found.host ?? 'an unknown host'} (process ${found.pid ?? 'unknown'})`;
  return `by ${who}, which was heard ${inWords(found.silent_seconds)} ago and ${found.alive ? 'is alive' : 'counts as gone'}`;
}

function events({ events: all }: WhyFacts): readonly string[] {
  const [oldest] = all;
  if (oldest === undefined) return [];
  const names = [...new Set(all.map(({ type }) => type))].join(', ');
  const wait = all.length === 1 ? 'waits' : 'wait';
  return [
    `${counted(all.length, 'event')} ${wait} to be applied (${names}), the oldest for ${inWords(oldest.waiting_seconds)}.`,
  ];
}

function lastError({ last_error: found }: WhyFacts): readonly string[] {
  if (found === null) return [];
  return [`The last error was at ${found.child}, attempt ${found.attempt}: ${sentence(found.message)}`];
}

function timers({ timers: all }: WhyFacts): readonly string[] {
  const subjects: Readonly<Record<string, string>> = {
    deadline: 'Its deadline',
    waited: 'The end of the wait',
  };
  return all.map(({ name, due_in_seconds }) => {
    const subject = Object.hasOwn(subjects, name) ? (subjects[name] ?? '') : `Its timer ${name}`;
    return due_in_seconds > 0
      ? `${subject} is in ${inWords(due_in_seconds)}.`
      : `${subject} was ${inWords(-due_in_seconds)} ago; the next sweep acts on it.`;
  });
}

function budget({ steps }: WhyFacts): readonly string[] {
  if (steps.budget === null) return [];
  return [`It has used ${steps.counted} of ${counted(steps.budget, 'step')}.`];
}

export function inWords(seconds: number): string {
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

function nameOf(number: number): string {
  return `T${number}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function sentence(text: string): string {
  return /[.!?…]$/u.test(text) ? text : `${text}.`;
}

function lowered(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}
