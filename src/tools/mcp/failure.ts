/** Why a server could not be used, in words that a model may read. */
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { safeMessage } from '../safe-message.ts';

/** `message` is a clause that begins with "it", without secrets and without a full stop. */
export class McpFailure extends Error {
  /** The call had been handed over and was not answered: it may have taken effect. */
  readonly mayHaveRun: boolean;

  constructor(message: string, { mayHaveRun = false }: { readonly mayHaveRun?: boolean } = {}) {
    super(message);
    this.name = 'McpFailure';
    this.mayHaveRun = mayHaveRun;
  }
}

/** No path of this machine lies inside it, so none is shown. */
const NO_ROOT = '/dev/null';

/** A clause that begins with "it". */
export function reasonOf(error: unknown, mask: (text: string) => string): string {
  if (isConnectionClosed(error)) return 'it ended or closed the connection';
  if (error instanceof StreamableHTTPError) {
    return (error.code ?? 0) > 0 ? `it answered with the HTTP status ${error.code}` : 'it speaks no MCP';
  }
  if (error instanceof z.core.$ZodError) return 'its answer has not the form of one';
  const code = systemCode(error);
  if (code === 'ENOENT') return 'its program was not found';
  if (code === 'EACCES') return 'its program may not be run';
  if (code !== null) return `it cannot be reached (${code})`;
  const said = safeMessage(mask(error instanceof Error ? error.message : ''), NO_ROOT);
  return `it ${error instanceof McpError ? 'answered with an error' : 'failed'}: ${said.replace(/\.$/, '')}`;
}

/** The other side answered, if only to say no, or what cannot be read. */
export function isAnswer(error: unknown): boolean {
  return error instanceof z.core.$ZodError || (error instanceof McpError && !isConnectionClosed(error));
}

function isConnectionClosed(error: unknown): boolean {
  const isClosed = error instanceof McpError && error.code === Number(ErrorCode.ConnectionClosed);
  return isClosed || (error instanceof Error && error.message === 'Not connected');
}

/** Of starting a program, or of a request, which wraps what the network said. */
function systemCode(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const cause: unknown = error instanceof TypeError ? error.cause : error;
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : null;
}
