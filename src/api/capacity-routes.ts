/** Models: which there are, what they were measured to use, and measuring them now. */
import { z } from 'zod';
import { rates } from '../app/catalogue.ts';
import { legAnswer, profileAnswer } from './capacity-answers.ts';
import { begunProbe, leg, newProbe, noProbe, profile, profileQuery } from './capacity-schemas.ts';
import { type ApiContext, type Route, route } from './contract.ts';
import { theLeg } from './found.ts';
import { beginProbe, probeState } from './probing.ts';
import { noQuery } from './schemas.ts';

const inPath = { leg: z.string() };

export const CAPACITY_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/legs',
    summary: 'List the configured legs with their windows, horizons and prices',
    access: 'turns:read',
    query: noQuery,
    answers: {
      200: {
        description: 'Legs, and ladders by name.',
        schema: z.strictObject({ legs: z.array(leg), ladders: z.record(z.string(), z.array(z.string())) }),
      },
    },
    errors: [],
    handle: async (context) => ({ status: 200, body: await legsOf(context) }),
  }),
  route({
    method: 'GET',
    path: '/v1/legs/:leg/profile',
    summary: 'Show what a model was measured to use, rung by rung, and how each figure came about',
    access: 'turns:read',
    inPath,
    missing: 'unknown_leg',
    query: profileQuery,
    answers: { 200: { description: 'The profile turns on this leg are sized by.', schema: profile } },
    errors: [],
    handle: async (context, call) => {
      const { services } = context;
      const found = theLeg(context, call);
      const [current, probe] = await Promise.all([
        services.legProfiles.current(found),
        probeState(services, call.caller.tenant, found, call.query.actor),
      ]);
      return { status: 200, body: profileAnswer(found.name, current, probe) };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/legs/:leg/probe',
    summary: 'Measure a model now',
    access: 'admin',
    inPath,
    missing: 'unknown_leg',
    body: newProbe,
    bodyOptional: true,
    answers: {
      202: { description: 'The probe that began; the profile route follows it.', schema: begunProbe },
      200: { description: 'None began, and why.', schema: noProbe },
    },
    errors: ['busy'],
    handle: async (context, call) => {
      const found = theLeg(context, call);
      const begun = await beginProbe(context.services, call.caller.tenant, found, call.body.force ?? false);
      if (!begun.begun) return { status: 200, body: { probe: null, reason: begun.reason } };
      const { actor, session } = begun;
      return { status: 202, body: { probe: { actor, session, leg: found.name, ladder: true } } };
    },
  }),
];

async function legsOf({ services }: ApiContext): Promise<unknown> {
  const { config, legProfiles, engine } = services;
  const { legs, ladders, defaultLeg = legs[0]?.name } = config;
  const rateOf = rates(config);
  const nowUtc = new Date(engine.clock.nowMs()).toISOString();
  const shown = await Promise.all(
    legs.map(async (each) => {
      const current = await legProfiles.current(each);
      return legAnswer(each, {
        profile: current,
        rate: rateOf(each, nowUtc),
        isDefault: each.name === defaultLeg,
      });
    }),
  );
  return { legs: shown, ladders };
}
