/**
 * One running connection to a server: the protocol, and the mask over everything that comes out of it.
 *
 * The client says it can do nothing, so a server's wishes (sampling, elicitation, roots) are answered with
 * "method not found", and what it notifies of is dropped, except that its tools have changed.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { Transport as SdkTransport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { McpError, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import type { z } from 'zod';
import type { Clock } from '../../ledger/clock.ts';
import type { JsonObject } from '../../ledger/json.ts';
import { deadlineIn, settledOr } from './abortable.ts';
import { isAnswer, McpFailure, reasonOf } from './failure.ts';
import { type Listing, listingOf, toolsPage } from './listing.ts';
import { callResult, readResult } from './read-result.ts';
import { createMask } from './secrets.ts';
import type { McpServerSettings } from './settings.ts';
import { openTransport, TOO_LARGE, type Transport } from './transport.ts';

const CLIENT = { name: 'turnwright', version: '1' } as const;
/** Escapes can make a message several times as long as its text. */
const MESSAGE_PER_RESULT = 8;
const MIN_MESSAGE_BYTES = 10_485_760;
/** A server that never comes to its last page must not be read for ever. */
const MAX_PAGES = 50;
/** The longest a Node timer can wait: requests end by their signals, not by a timer of the client's. */
const NO_TIMEOUT_MS = 2_147_483_647;
/** A process is asked to end, told after two seconds, and killed after two more. */
const END_LIMIT_MS = 6_000;
/** Of a goodbye over HTTP, and of the question whether anybody is still there. */
const COURTESY_LIMIT_MS = 2_000;
const NOTE_CHARS = 2_000;

export interface CallOutput {
  readonly content: string;
  readonly isError: boolean;
}

export interface Connection {
  readonly isOpen: boolean;
  /** @throws McpFailure, or the signal's reason. */
  tools(signal: AbortSignal): Promise<Listing>;
  /** @throws McpFailure, or the signal's reason. */
  call(tool: string, args: JsonObject, signal: AbortSignal): Promise<CallOutput>;
  /** Resolves when the server's process has ended; may be called again. */
  close(): Promise<void>;
}

export interface ConnectionEvents {
  readonly onToolsChanged: () => void;
  /** Once, however it ended. */
  readonly onClosed: () => void;
  /** For people who look for a fault: what the server wrote to its standard error, and what went wrong. */
  readonly onNote: (text: string) => void;
}

export interface ConnectionParts {
  readonly settings: McpServerSettings;
  readonly secrets: Readonly<Record<string, string>>;
  readonly inherited: (variable: string) => string | undefined;
  readonly clock: Pick<Clock, 'after'>;
}

/** @throws McpFailure when the server does not come up, or the signal's reason. */
export async function connect(
  parts: ConnectionParts,
  events: ConnectionEvents,
  signal: AbortSignal,
): Promise<Connection> {
  const connection = new ClientConnection(parts, events);
  await connection.open(signal);
  return connection;
}

class ClientConnection implements Connection {
  readonly #client = new Client(CLIENT, { capabilities: {} });
  readonly #transport: Transport;
  readonly #settings: McpServerSettings;
  readonly #clock: ConnectionParts['clock'];
  readonly #mask: (text: string) => string;
  readonly #note: (text: string) => void;
  readonly #gone: Promise<void>;
  #asking = false;
  #tooLarge = false;
  #closing: Promise<void> | null = null;
  isOpen = true;

  constructor({ settings, secrets, inherited, clock }: ConnectionParts, events: ConnectionEvents) {
    this.#settings = settings;
    this.#clock = clock;
    this.#mask = createMask(Object.values(secrets));
    this.#note = (text) => events.onNote(this.#mask(text).slice(0, NOTE_CHARS));
    this.#transport = openTransport(settings.endpoint, {
      secrets,
      inherited,
      maxMessageBytes: Math.max(MIN_MESSAGE_BYTES, MESSAGE_PER_RESULT * settings.maxResultBytes),
      onStderr: this.#note,
    });
    this.#gone = new Promise((resolve) => {
      this.#client.onclose = () => {
        this.isOpen = false;
        resolve();
        events.onClosed();
      };
    });
    this.#client.onerror = (error) => this.#onError(error);
    this.#client.setNotificationHandler(ToolListChangedNotificationSchema, events.onToolsChanged);
  }

  async open(signal: AbortSignal): Promise<void> {
    try {
      // The SDK declares optional members that may be undefined, which its own transports' types do not.
      await this.#client.connect(this.#transport as SdkTransport, { signal, timeout: NO_TIMEOUT_MS });
    } catch (error) {
      await this.close();
      signal.throwIfAborted();
      throw new McpFailure(this.#reason(error));
    }
  }

  async tools(signal: AbortSignal): Promise<Listing> {
    const entries: unknown[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const read = await this.#request({ method: 'tools/list', params }, toolsPage, signal);
      entries.push(...read.tools);
      cursor = read.nextCursor;
      if (cursor === undefined) break;
    }
    return listingOf(entries, this.#mask);
  }

  async call(tool: string, args: JsonObject, signal: AbortSignal): Promise<CallOutput> {
    const params = { name: tool, arguments: args };
    const result = await this.#request({ method: 'tools/call', params }, callResult, signal);
    return readResult(result, { maxBytes: this.#settings.maxResultBytes, mask: this.#mask });
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #request<Schema extends z.ZodObject>(
    request: Parameters<Client['request']>[0],
    schema: Schema,
    signal: AbortSignal,
  ): Promise<z.output<Schema>> {
    try {
      return (await this.#client.request(request, schema, {
        signal,
        timeout: NO_TIMEOUT_MS,
      })) as z.output<Schema>;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof McpError && isAnswer(error)) throw new McpFailure(this.#reason(error));
      // A server that is gone, or has forgotten us, may tell by nothing else: the next demand begins anew.
      if (!isAnswer(error)) await this.close();
      throw new McpFailure(this.#reason(error), { mayHaveRun: true });
    }
  }

  #reason(error: unknown): string {
    return this.#tooLarge ? 'it sent more than is taken in one answer' : reasonOf(error, this.#mask);
  }

  #onError(error: Error): void {
    this.#note(error.message);
    if (error.message.includes(TOO_LARGE)) {
      this.#tooLarge = true;
      void this.close();
    } else if (!(this.#transport instanceof StdioClientTransport)) void this.#askWhetherAlive();
  }

  /** An event stream that broke off leaves its requests without an answer: if nobody is there, they end now. */
  async #askWhetherAlive(): Promise<void> {
    if (this.#asking || !this.isOpen || this.#closing !== null) return;
    this.#asking = true;
    const deadline = deadlineIn(COURTESY_LIMIT_MS, this.#clock);
    try {
      await this.#client.ping({ signal: deadline.signal, timeout: NO_TIMEOUT_MS });
    } catch {
      await this.close();
    } finally {
      deadline.cancel();
      this.#asking = false;
    }
  }

  async #end(): Promise<void> {
    if (!(this.#transport instanceof StdioClientTransport) && this.isOpen) {
      const goodbye = this.#transport.terminateSession();
      await settledOr(goodbye, COURTESY_LIMIT_MS, this.#clock);
    }
    const ended = Promise.all([this.#client.close(), this.#gone]);
    await settledOr(ended, END_LIMIT_MS, this.#clock);
  }
}
