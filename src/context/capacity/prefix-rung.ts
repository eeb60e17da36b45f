/** What a stable prefix weighs on a model, by the provider's own count: one request of it and next to nothing else. */
import type { Prefix } from '../assemble/prefix.ts';
import { weighMessages } from '../assemble/weigh.ts';
import type { UserMessage } from '../request.ts';
import type { ProbeRequest } from './filler.ts';

const ASK: UserMessage = { role: 'user', content: [{ type: 'text', text: 'ok' }] };

export function prefixRequest({ system, tools, bytes }: Prefix): ProbeRequest {
  return {
    request: { system, tools, messages: [ASK], maxTokens: 1 },
    requestBytes: bytes + weighMessages([ASK]),
  };
}

/** Tokens of the prefix, once the share of the message beside it is taken off what was counted. */
export function prefixTokens(prefix: Prefix, { requestBytes }: ProbeRequest, countedTokens: number): number {
  if (requestBytes === 0) return 0;
  return Math.round((countedTokens * prefix.bytes) / requestBytes);
}
