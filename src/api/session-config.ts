/** A new session's settings from what a caller sent and the deployment has. Pure. */
import type { Config } from '../app/config.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { JsonObject } from '../ledger/json.ts';
import type { Leg } from '../providers/contract.ts';
import type { CostBudget } from '../runtime/budgets.ts';
import type { SessionConfig } from '../runtime/sessions.ts';
import type { NewFork } from './lineage-schemas.ts';
import type { NewSession } from './schemas.ts';

export interface Deployment extends Pick<Config, 'legs' | 'ladders' | 'defaultLeg'> {
  readonly tools: readonly string[];
}

/** @throws TurnwrightError `unknown_leg`, `unknown_tool` or `invalid_request`, naming what there is. */
export function sessionConfig(sent: NewSession, deployment: Deployment): SessionConfig {
  const { leg, ladder } = legsOf(sent, deployment);
  const tools = toolsOf(sent.tools, deployment.tools);
  return {
    leg,
    ...(ladder === null ? {} : { ladder: [...ladder] }),
    policy: policyOf(sent.policy),
    tools: tools === null ? null : [...tools],
    system: sent.system ?? '',
    ...(sent.workContract === undefined ? {} : { workContract: sent.workContract }),
    ...(sent.locale === undefined ? {} : { locale: sent.locale }),
    ...(sent.timezone === undefined ? {} : { timezone: sent.timezone }),
    ...budgetOf(sent.budget),
    metadata: sent.metadata ?? {},
  };
}

/**
 * A fork's settings: what was sent, and for the rest those of the session it goes on from, whose legs may be gone.
 *
 * @throws TurnwrightError `unknown_leg` naming those there are.
 */
export function forkedConfig(sent: NewFork, from: SessionConfig, deployment: Deployment): SessionConfig {
  const { leg: fromLeg, ladder: fromLadder, ...rest } = from;
  const legs: Pick<NewFork, 'leg' | 'ladder'> =
    sent.leg === undefined && sent.ladder === undefined
      ? fromLadder === undefined
        ? { leg: fromLeg }
        : { ladder: fromLadder }
      : sent;
  const { leg, ladder } = legsOf(legs, deployment);
  return {
    ...rest,
    leg,
    ...(ladder === null ? {} : { ladder: [...ladder] }),
    ...(sent.policy === undefined ? {} : { policy: policyOf(sent.policy) }),
    ...(sent.system === undefined ? {} : { system: sent.system }),
    ...(sent.metadata === undefined ? {} : { metadata: sent.metadata }),
  };
}

function policyOf(sent: NewSession['policy'] = 'plan'): SessionConfig['policy'] {
  if (typeof sent === 'string') return { name: sent, options: {} };
  return { name: sent.name, options: (sent.options ?? {}) as JsonObject };
}

/** As records hold it: left out where nothing is limited. */
export function budgetOf({ costMicroUsd, tokens }: NonNullable<NewSession['budget']> = {}): {
  readonly budget?: CostBudget;
} {
  if (costMicroUsd === undefined && tokens === undefined) return {};
  return {
    budget: {
      ...(costMicroUsd === undefined ? {} : { microUsd: costMicroUsd }),
      ...(tokens === undefined ? {} : { tokens }),
    },
  };
}

function legsOf(
  { leg, ladder }: Pick<NewSession, 'leg' | 'ladder'>,
  deployment: Deployment,
): { readonly leg: string; readonly ladder: readonly string[] | null } {
  if (leg !== undefined && ladder !== undefined)
    throw new TurnwrightError('invalid_request', 'A session takes a leg or a ladder; found both. Send one.');
  if (ladder !== undefined) {
    const names = typeof ladder === 'string' ? ladderNamed(ladder, deployment) : ladder;
    const first = names[0];
    if (first === undefined)
      throw new TurnwrightError('invalid_request', 'The ladder has no leg. Name at least one.');
    for (const name of names) legNamed(name, deployment);
    return { leg: first, ladder: names };
  }
  const chosen = leg ?? deployment.defaultLeg ?? deployment.legs[0]?.name;
  if (chosen === undefined)
    throw new TurnwrightError('unknown_leg', 'No leg is configured. Add one to turnwright.config.ts.');
  legNamed(chosen, deployment);
  return { leg: chosen, ladder: null };
}

function ladderNamed(name: string, { ladders }: Deployment): readonly string[] {
  const found = Object.hasOwn(ladders, name) ? ladders[name] : undefined;
  if (found !== undefined) return found;
  throw new TurnwrightError(
    'unknown_leg',
    `There is no ladder ${JSON.stringify(name)}. ${listed('ladders', Object.keys(ladders))}`,
  );
}

/** @throws TurnwrightError `unknown_leg`, naming those there are. */
export function legNamed(name: string, { legs }: Pick<Deployment, 'legs'>): Leg {
  const found = legs.find((leg) => leg.name === name);
  if (found !== undefined) return found;
  throw new TurnwrightError('unknown_leg', noSuchLeg(name, legs));
}

export function noSuchLeg(name: string, legs: Deployment['legs']): string {
  const names = legs.map((leg) => leg.name);
  return `There is no leg ${JSON.stringify(name)}. ${listed('legs', names)}`;
}

function toolsOf(sent: readonly string[] | undefined, known: readonly string[]): readonly string[] | null {
  if (sent === undefined) return null;
  const unknown = sent.filter((name) => !known.includes(name));
  if (unknown.length === 0) return [...new Set(sent)];
  const names = unknown.map((name) => JSON.stringify(name)).join(', ');
  throw new TurnwrightError('unknown_tool', `There is no tool ${names}. ${listed('tools', known)}`);
}

function listed(what: string, names: readonly string[]): string {
  return names.length === 0 ? `No ${what} are configured.` : `The ${what} are: ${names.join(', ')}.`;
}
