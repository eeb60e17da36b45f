/** One server of the deployment: its tools, and calls of them, each within its time and in a place of its own. */
import type { Clock } from '../../ledger/clock.ts';
import type { JsonObject } from '../../ledger/json.ts';
import { unknownName } from '../unknown-name.ts';
import { abortable, deadlineIn } from './abortable.ts';
import { checkArguments } from './check-arguments.ts';
import type { CallOutput, Connection, ConnectionEvents } from './connection.ts';
import { McpFailure } from './failure.ts';
import { Lifecycle } from './lifecycle.ts';
import type { Listing } from './listing.ts';
import type { McpServerSettings } from './settings.ts';
import { Slots } from './slots.ts';

export interface McpServerOptions {
  readonly name: string;
  readonly settings: McpServerSettings;
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  /** @throws McpFailure when it does not come up, or the signal's reason. */
  readonly connect: (events: Omit<ConnectionEvents, 'onNote'>, signal: AbortSignal) => Promise<Connection>;
}

/** The list of the connection it came over, until that says that its tools have changed. */
interface Listed {
  readonly connection: Connection;
  readonly listing: Promise<Listing>;
}

export class McpServer {
  readonly #options: McpServerOptions;
  readonly #slots: Slots;
  readonly #life: Lifecycle;
  #listed: Listed | null = null;

  constructor(options: McpServerOptions) {
    const { settings, clock, connect } = options;
    const onToolsChanged = (): void => {
      this.#listed = null;
    };
    this.#options = options;
    this.#slots = new Slots(settings.concurrent);
    this.#life = new Lifecycle({
      idleMs: settings.idleMs,
      timeoutMs: settings.timeoutMs,
      clock,
      connect: (events, signal) => connect({ ...events, onToolsChanged }, signal),
    });
  }

  /** @throws McpFailure, or the signal's reason. */
  list(signal: AbortSignal): Promise<Listing> {
    return this.#demand(signal, (connection, until) => this.#list(connection, until));
  }

  /**
   * A tool that is not there and arguments that do not fit are answered here; the server never hears of them.
   *
   * @throws McpFailure, or the signal's reason.
   */
  call(tool: string, args: JsonObject, signal: AbortSignal): Promise<CallOutput> {
    return this.#demand(signal, async (connection, until, progress) => {
      const { tools } = await this.#list(connection, until);
      const found = tools.find(({ name }) => name === tool);
      const problem =
        found === undefined
          ? unknownName(`tool of ${this.#options.name}`, tool, namesOf(tools))
          : checkArguments(tool, found.inputSchema, args);
      if (problem !== null) return { content: problem, isError: true };
      progress.handedOver = true;
      return connection.call(tool, args, until);
    });
  }

  close(): Promise<void> {
    return this.#life.close();
  }

  /** One demand: its deadline covers the waiting for a place, the start and the answer. */
  async #demand<Result>(
    signal: AbortSignal,
    work: (connection: Connection, until: AbortSignal, progress: Progress) => Promise<Result>,
  ): Promise<Result> {
    const { settings, clock } = this.#options;
    const deadline = deadlineIn(settings.timeoutMs, clock);
    const until = AbortSignal.any([signal, deadline.signal]);
    const progress: Progress = { handedOver: false };
    try {
      const giveBack = await this.#slots.take(until);
      try {
        return await this.#life.use(until, (connection) => work(connection, until, progress));
      } finally {
        giveBack();
      }
    } catch (error) {
      signal.throwIfAborted();
      const { handedOver } = progress;
      if (error instanceof McpFailure) {
        throw new McpFailure(error.message, { mayHaveRun: error.mayHaveRun && handedOver });
      }
      if (!deadline.signal.aborted) throw error;
      const late = `it did not answer within ${settings.timeoutMs} ms`;
      throw new McpFailure(late, { mayHaveRun: handedOver });
    } finally {
      deadline.cancel();
    }
  }

  #list(connection: Connection, until: AbortSignal): Promise<Listing> {
    if (this.#listed?.connection !== connection) {
      const listing = this.#readList(connection);
      this.#listed = { connection, listing };
      listing.catch(() => {
        if (this.#listed?.listing === listing) this.#listed = null;
      });
    }
    return abortable(this.#listed.listing, until);
  }

  /** For everybody who waits for it, so that it ends by none of their signals. */
  async #readList(connection: Connection): Promise<Listing> {
    const { settings, clock } = this.#options;
    const deadline = deadlineIn(settings.timeoutMs, clock);
    try {
      const listing = await connection.tools(deadline.signal);
      this.#life.answered(connection);
      return listing;
    } catch (error) {
      if (!deadline.signal.aborted) throw error;
      throw new McpFailure(`it did not list its tools within ${settings.timeoutMs} ms`);
    } finally {
      deadline.cancel();
    }
  }
}

interface Progress {
  /** The call has left this process. */
  handedOver: boolean;
}

function namesOf(tools: Listing['tools']): readonly string[] {
  return tools.map(({ name }) => name);
}
