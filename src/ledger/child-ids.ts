/** Ids of what a call of a tool begins in a session of its own: the same call names the same ones, wherever it runs. */
import { blake3Hex } from './chain.ts';
import { uuidv7 } from './ids.ts';

export interface CallPlace {
  readonly tenant: string;
  readonly session: string;
  readonly turn: string;
  readonly step: number;
  readonly index: number;
}

export interface ChildIds {
  readonly session: string;
  readonly head: string;
  readonly turn: string;
}

/** Hex digits of a UUIDv7 that tell its time. */
const TIME_DIGITS = 12;

/** UUIDv7s, in order of time beside the turn that calls. */
export function childIds(place: CallPlace): ChildIds {
  return {
    session: derivedId('session', place),
    head: derivedId('head', place),
    turn: derivedId('turn', place),
  };
}

function derivedId(what: keyof ChildIds, { tenant, session, turn, step, index }: CallPlace): string {
  const digest = blake3Hex([what, tenant, session, turn, step, index].join('/'));
  const atMs = Number.parseInt(turn.replaceAll('-', '').slice(0, TIME_DIGITS), 16);
  return uuidv7(atMs, Buffer.from(digest, 'hex'));
}
