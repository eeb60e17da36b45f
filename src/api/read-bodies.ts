/**
 * Bodies. JSON is parsed as Fastify does, and refused when nested so deep that reading it would exhaust the stack; a route
 * that takes a stream is handed it.
 */
import type { FastifyInstance } from 'fastify';
import { TurnwrightError } from '../ledger/errors.ts';

/** One JSON value a line. */
export const LINES = 'application/x-ndjson';
const MAX_DEPTH = 64;

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly streamed?: string | undefined;
  }
}

export function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text, done) => {
    // A route that takes no body may still be sent the header of one.
    if (text === '') return done(null, undefined);
    if (depthOf(String(text)) > MAX_DEPTH)
      return done(
        new TurnwrightError(
          'invalid_request',
          `The body nests deeper than ${MAX_DEPTH} levels. Send a flatter one.`,
        ),
      );
    void parse(request, String(text), done);
  });
  app.addContentTypeParser(LINES, (request, payload, done) => {
    const { streamed } = request.routeOptions.config;
    if (streamed === LINES) return done(null, payload);
    done(new TurnwrightError('unsupported_media_type', 'Send the body as application/json.'));
  });
}

/** How deep lists and objects nest in a JSON text. */
export function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (quoted) {
      if (character === '\\') at += 1;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === '[' || character === '{') deepest = Math.max(deepest, ++depth);
    else if (character === ']' || character === '}') depth -= 1;
  }
  return deepest;
}
