/** Who calls, and what the key allows. */
import type { FastifyRequest } from 'fastify';
import type { Services } from '../app/services.ts';
import { findKey, type KeyHolder, keyFingerprint, type Scope } from '../db/keys.ts';
import { TurnwrightError } from '../ledger/errors.ts';

/** A revoked key works no longer than this. */
const KNOWN_FOR_MS = 3_000;
const MAX_KNOWN = 1_000;

export class Authority {
  readonly #pool: Services['pool'];
  readonly #nowMs: () => number;
  readonly #known = new Map<string, { readonly holder: KeyHolder; readonly untilMs: number }>();

  constructor(pool: Services['pool'], nowMs: () => number) {
    this.#pool = pool;
    this.#nowMs = nowMs;
  }

  /** @throws TurnwrightError `unauthorized` without a valid bearer key, `forbidden` without the scope. */
  async bearer(request: FastifyRequest, scope: Scope): Promise<KeyHolder> {
    const key = /^Bearer +(\S+)$/iu.exec(request.headers.authorization ?? '')?.[1];
    if (key === undefined)
      throw new TurnwrightError('unauthorized', 'Send a key as "Authorization: Bearer tw_…".');
    return this.#holds(await this.#find(key), scope);
  }

  /** An admin key, as bearer or as the password of Basic credentials, which browsers ask a person for. */
  async operator(request: FastifyRequest): Promise<KeyHolder> {
    const header = request.headers.authorization ?? '';
    const basic = /^Basic +([A-Za-z0-9+/=_-]+)$/iu.exec(header)?.[1];
    if (basic === undefined) return this.bearer(request, 'admin');
    const text = Buffer.from(basic, 'base64').toString('utf8');
    return this.#holds(await this.#find(text.slice(text.indexOf(':') + 1)), 'admin');
  }

  async #find(key: string): Promise<KeyHolder> {
    const name = keyFingerprint(key);
    const nowMs = this.#nowMs();
    const known = this.#known.get(name);
    if (known !== undefined && known.untilMs > nowMs) return known.holder;
    this.#known.delete(name);
    const holder = await findKey(this.#pool, key);
    if (holder === null)
      throw new TurnwrightError('unauthorized', 'The key is unknown, revoked or expired. Create a new one.');
    this.#known.set(name, { holder, untilMs: nowMs + KNOWN_FOR_MS });
    if (this.#known.size > MAX_KNOWN) this.#known.delete(this.#known.keys().next().value ?? '');
    return holder;
  }

  #holds(holder: KeyHolder, scope: Scope): KeyHolder {
    if (holder.scopes.includes(scope)) return holder;
    throw new TurnwrightError(
      'forbidden',
      `This needs the scope ${scope}; the key has ${holder.scopes.join(', ')}. Use a key with that scope.`,
    );
  }
}
