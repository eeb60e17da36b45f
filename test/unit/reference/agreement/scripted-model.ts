/** A model that says what it is told to say next, and notes what it was asked. */
import type { ChatReply, ChatRequest } from '../../../../src/context/request.ts';
import type { AssistantBlock } from '../../../../src/ledger/blocks.ts';
import type { CallOutcome, Provider } from '../../../../src/providers/contract.ts';

export interface Saying {
  readonly content: readonly AssistantBlock[];
  /** Of its prompt, as it reports. */
  readonly inputTokens: number;
}

export class ScriptedModel {
  readonly asked: ChatRequest[] = [];
  readonly provider: Provider;
  #next: Saying | null = null;

  constructor() {
    this.provider = {
      searchesTools: false,
      embed: null,
      describe: () =>
        Promise.resolve({
          ok: true,
          metadata: { declaredWindow: null, maxOutputTokens: null, quantisation: null },
        }),
      call: (request) => Promise.resolve(this.#answer(request)),
    };
  }

  says(next: Saying): void {
    this.#next = next;
  }

  #answer(request: ChatRequest): CallOutcome {
    const said = this.#next;
    if (said === null) throw new Error('the model was asked out of turn');
    this.#next = null;
    this.asked.push(request);
    return { ok: true, reply: replyOf(said) };
  }
}

function replyOf({ content, inputTokens }: Saying): ChatReply {
  return {
    content,
    finish: content.some(({ type }) => type === 'tool_call') ? 'tool_calls' : 'stop',
    usage: { inputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 10 },
    model: 'scripted',
    firstTokenMs: 1,
    totalMs: 1,
  };
}
