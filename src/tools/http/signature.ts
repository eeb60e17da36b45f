/** The signature of a request, so that its receiver knows who sent it, when, and that nobody changed it. */
import { createHmac, timingSafeEqual } from 'node:crypto';

export const SIGNATURE_HEADER = 'Turnwright-Signature';

/** How far a receiver's clock may be off, and how long a request may travel. */
const DEFAULT_TOLERANCE_MS = 300_000;
const MAX_HEADER_CHARS = 1_000;
const TIMESTAMP = /^t=(\d{1,12})$/;
const DIGEST = /^v1=([0-9a-f]{64})$/;

type Body = string | Uint8Array;

/** The header's value, `t=<seconds since 1970>,v1=<hex>`: HMAC-SHA256 over `<seconds>.<body>`. */
export function signatureOf(secret: string, body: Body, nowMs: number): string {
  const seconds = String(Math.floor(nowMs / 1_000));
  return `t=${seconds},v1=${digestOf(secret, seconds, body).toString('hex')}`;
}

/**
 * For a receiver. `body` is the body as it came, byte for byte; of a GET, which has none, its path and query. A
 * header may hold several `v1`, as while a secret is being changed: one that fits is enough.
 *
 * @returns false for a signature that does not fit, or that is further from `nowMs` than `toleranceMs`.
 */
export function verifySignature(
  secret: string,
  header: string,
  body: Body,
  nowMs: number,
  toleranceMs: number = DEFAULT_TOLERANCE_MS,
): boolean {
  if (header.length > MAX_HEADER_CHARS) return false;
  const parts = header.split(',').map((part) => part.trim());
  const seconds = parts.map((part) => TIMESTAMP.exec(part)?.[1]).find((found) => found !== undefined);
  if (seconds === undefined || Math.abs(nowMs - Number(seconds) * 1_000) > toleranceMs) return false;
  const expected = digestOf(secret, seconds, body);
  return parts.some((part) => {
    const found = DIGEST.exec(part)?.[1];
    return found !== undefined && timingSafeEqual(Buffer.from(found, 'hex'), expected);
  });
}

function digestOf(secret: string, seconds: string, body: Body): Buffer {
  return createHmac('sha256', secret).update(`${seconds}.`).update(body).digest();
}
