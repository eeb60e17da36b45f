/** Ends a call without an answer: a refusal in its wire's words, or the silence a fault asks for. */
import type { Fault, SimOutcome } from './contract.ts';
import type { Desk } from './desk.ts';
import { sendRefusal } from './http.ts';
import type { Exchange, Received } from './receiving.ts';
import type { WireRefusal } from './wires/contract.ts';

export interface Call {
  readonly desk: Desk;
  readonly exchange: Exchange;
  readonly n: number;
  readonly atMs: number;
  readonly received: Received;
}

/** true when the fault ended the call; the others shape the answer. */
export async function failByFault(call: Call, fault: Fault): Promise<boolean> {
  const { wire, response, gone } = call.exchange;
  const outcome: SimOutcome = `fault:${fault.name}`;
  switch (fault.name) {
    case 'rate_limit':
    case 'overloaded':
    case 'server_error':
    case 'auth': {
      const retryAfterMs = fault.name === 'rate_limit' ? (fault.retryAfterMs ?? null) : null;
      const context = { model: call.received.modelName, retryAfterMs, atMs: call.atMs };
      refuse(call, wire.failure(fault.name, context), outcome);
      return true;
    }
    case 'over_length': {
      const { accepted, tokens } = call.received;
      if (accepted === null) return false;
      refuse(call, wire.pretendOverLength(accepted.request, tokens, accepted.served.model), outcome);
      return true;
    }
    case 'drop_connection':
      endCall(call, outcome, null, 0, 0);
      response.destroy();
      return true;
    case 'hang':
      await new Promise<void>((resolve) => {
        if (gone.aborted) resolve();
        else gone.addEventListener('abort', () => resolve(), { once: true });
      });
      endCall(call, outcome, null, 0, 0);
      return true;
    default:
      return false;
  }
}

export function refuse(call: Call, refusal: WireRefusal, outcome: SimOutcome): void {
  endCall(call, outcome, refusal.status, 0, 0);
  sendRefusal(call.exchange.response, refusal);
}

export function endCall(
  call: Call,
  outcome: SimOutcome,
  status: number | null,
  outputTokens: number,
  cachedTokens: number,
): void {
  call.desk.log.end(call.n, { outcome, status, outputTokens, cachedTokens });
}
