/**
 * What the Responses API keeps between calls: replies that were stored, each with the one it continues, and the
 * key that seals reasoning. Both live as long as the process.
 */
import { createHash } from 'node:crypto';
import { asString, type Untyped } from '../untyped.ts';
import { WireRefusal } from './contract.ts';
import { openaiInvalid } from './openai-failure.ts';
import type { Item } from './responses-items.ts';

/** How every sealed text of the API begins and how many of its ends a refusal shows. */
const SEAL_MARK = 'gAAAA';
const SHOWN_CHARS = 4;

export interface StoredResponse {
  readonly previous: StoredResponse | null;
  /** The request's items and the reply's. */
  readonly items: readonly Item[];
}

/** Oldest first. */
export function chainOf(stored: StoredResponse | null): readonly Item[] {
  const parts: (readonly Item[])[] = [];
  for (let one = stored; one !== null; one = one.previous) parts.push(one.items);
  return parts.toReversed().flat();
}

export class ResponsesMemory {
  readonly #responses = new Map<string, StoredResponse>();
  readonly #reasoning = new Map<string, string>();
  readonly #seed: number;

  /** @param seed stands for the account: reasoning sealed under one seed is refused under another. */
  constructor(seed: number) {
    this.#seed = seed;
  }

  store(id: string, response: StoredResponse): void {
    this.#responses.set(id, response);
    for (const item of response.items) {
      if (item.kind === 'reasoning') this.#reasoning.set(item.id, item.block.text);
    }
  }

  /** @throws WireRefusal in the API's words, https://github.com/maximhq/bifrost/issues/2441 */
  find(id: string): StoredResponse {
    const found = this.#responses.get(id);
    if (found !== undefined) return found;
    throw openaiInvalid(
      `Previous response with id '${id}' not found.`,
      'previous_response_id',
      'previous_response_not_found',
    );
  }

  seal(text: string): string {
    const payload = Buffer.from(text).toString('base64url');
    return `${SEAL_MARK}${payload}.${this.#mark(payload)}`;
  }

  /** The text of a reasoning item: from its sealed content, else from the stored reply it names. */
  readReasoning(item: Untyped): string {
    const sealed = asString(item.encrypted_content);
    if (sealed !== null) return this.#open(sealed);
    const id = asString(item.id) ?? '';
    const text = this.#reasoning.get(id);
    if (text !== undefined) return text;
    // https://github.com/vercel/ai/issues/7543
    const message = `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`;
    const error = { message, type: 'invalid_request_error', param: 'input', code: null };
    throw new WireRefusal(404, message, { error });
  }

  #open(sealed: string): string {
    const [payload = '', mark] = sealed.slice(SEAL_MARK.length).split('.');
    if (sealed.startsWith(SEAL_MARK) && mark === this.#mark(payload)) {
      return Buffer.from(payload, 'base64url').toString('utf8');
    }
    // https://github.com/Wei-Shaw/sub2api/issues/2863
    throw openaiInvalid(
      `The encrypted content ${sealed.slice(0, SHOWN_CHARS)}...${sealed.slice(-SHOWN_CHARS)} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
      null,
      'invalid_encrypted_content',
    );
  }

  #mark(payload: string): string {
    return createHash('sha256').update(`simulated\u0000${this.#seed}\u0000${payload}`).digest('base64url');
  }
}
