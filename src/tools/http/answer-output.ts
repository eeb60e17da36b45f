/** What came of a request, as the result a model reads. */
import type { ToolOutput } from '../contract.ts';
import type { OutboundAnswer } from './guarded-request.ts';
import type { Mask } from './mask.ts';

/** What a model needs of an answer that is no success. */
const MAX_PROBLEM_BYTES = 4_000;
const TEXT_TYPE =
  /^(?:text\/|application\/(?:[\w.+-]{0,100}[+.-])?(?:json|xml|yaml|javascript|x-www-form-urlencoded)$)/;
const MAX_TYPE_CHARS = 120;

export interface Answering {
  readonly tool: string;
  readonly maxResultBytes: number;
  /** A request that was received may have changed something. */
  readonly mayHaveEffect: boolean;
  readonly mask: Mask;
}

export function outputOf(answer: OutboundAnswer, answering: Answering): ToolOutput {
  const { tool, mask } = answering;
  const doubt = answering.mayHaveEffect
    ? ' It may have taken effect all the same: check before calling it again.'
    : '';
  switch (answer.kind) {
    case 'unsent':
      return failure(mask.apply(`${tool} was not sent: ${answer.reason}.`));
    case 'lost':
      return failure(mask.apply(`${tool} got no answer: ${answer.reason}.${doubt}`));
    case 'answered': {
      const { status } = answer;
      if (status >= 200 && status < 300)
        return { content: contentOf(answer, answering.maxResultBytes, mask), isError: false };
      const maxBytes = Math.min(MAX_PROBLEM_BYTES, answering.maxResultBytes);
      const said = contentOf(answer, maxBytes, mask);
      if (status >= 500) return failure(`${tool} failed at the service, status ${status}.${doubt}\n${said}`);
      return failure(`${tool} was refused by the service, status ${status}.\n${said}`);
    }
  }
}

type Answered = Extract<OutboundAnswer, { readonly kind: 'answered' }>;

/** Masked before it is cut, so that no part of a secret is left at the end. */
function contentOf({ status, contentType, body, cut }: Answered, maxBytes: number, mask: Mask): string {
  if (body.length === 0) return `(no content, status ${status})`;
  const [type = ''] = (contentType ?? '').slice(0, MAX_TYPE_CHARS).split(';');
  const name = type.trim().toLowerCase();
  if (name !== '' && !TEXT_TYPE.test(name)) {
    const size = cut ? `more than ${body.length}` : String(body.length);
    return `(${size} bytes of ${JSON.stringify(name)}, which is no text, are not shown)`;
  }
  const masked = mask.apply(new TextDecoder().decode(body, { stream: cut }));
  const bytes = Buffer.from(masked, 'utf8');
  if (!cut && bytes.length <= maxBytes) return masked;
  const kept = new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true });
  return `${kept}\n(cut: the answer is longer than the ${maxBytes} bytes that are kept of it)`;
}

function failure(content: string): ToolOutput {
  return { content, isError: true };
}
