/**
 * Accepts connections, and continues after errors such as a lack of file
 * descriptors.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import { type Logger, RateLimitedLog } from "./logger.ts";
import { describeError } from "./settled.ts";

/** Options of {@linkcode ConnectionListener}. */
interface ConnectionListenerOptions<Conn extends Deno.Conn> {
  /**
   * Where connections come from; closed with the listener. A listener of
   * `Deno.listen` reports errors; a server of `node:net` stops accepting for
   * good, without an event, once file descriptors have run out.
   */
  readonly source: Pick<Deno.Listener<Conn>, "accept" | "close">;
  /** Owns each connection from then on; must not throw. */
  readonly onConnection: (connection: Conn) => void;
  /**
   * Called when the system lacks files or memory for a connection, so that
   * others are closed. Other errors don't call it: closing would not help.
   */
  readonly onExhausted: () => void;
  /** Logs these errors, once a minute at most. */
  readonly logger: Logger;
  /** The time source. */
  readonly clock: Clock;
}

/** How long it waits after a connection could not be accepted. */
const PAUSE_MS = 100;

/** Accepts connections until it is closed. */
export class ConnectionListener<Conn extends Deno.Conn> {
  readonly #options: ConnectionListenerOptions<Conn>;
  readonly #warning: RateLimitedLog;
  readonly #ended: Promise<void>;
  #endPause: (() => void) | undefined;
  #isClosed = false;

  /** Takes connections from now on. */
  constructor(options: ConnectionListenerOptions<Conn>) {
    this.#options = options;
    this.#warning = new RateLimitedLog(options.logger, options.clock);
    this.#ended = this.#run();
  }

  /** Takes no more connections; harmless twice. */
  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#options.source.close();
      this.#endPause?.();
    }
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { source, onConnection } = this.#options;
    while (!this.#isClosed) {
      let connection: Conn;
      try {
        connection = await source.accept();
      } catch (error) {
        await this.#failed(error);
        continue;
      }
      if (this.#isClosed) connection.close();
      else onConnection(connection);
    }
  }

  async #failed(error: unknown): Promise<void> {
    // The client closed its connection before it was accepted.
    const isTheirs = error instanceof Deno.errors.ConnectionAborted ||
      error instanceof Deno.errors.ConnectionReset;
    if (this.#isClosed || isTheirs) return;
    const { onExhausted, clock } = this.#options;
    this.#warning.warn("Cannot accept connections; retrying", {
      error: describeError(error),
    });
    if (isExhaustion(error)) onExhausted();
    const pause = Promise.withResolvers<void>();
    this.#endPause = pause.resolve;
    const timer = clock.setTimer(pause.resolve, PAUSE_MS);
    await pause.promise;
    timer.cancel();
  }
}

/** The codes that the runtime gives such errors. */
const EXHAUSTION_CODES: ReadonlySet<unknown> = new Set([
  "EMFILE",
  "ENFILE",
  "ENOBUFS",
  "ENOMEM",
]);

/** The runtime names no code for ENFILE (23), only the number in its text. */
const OUT_OF_FILES = /\(os error 2[34]\)/;

function isExhaustion(error: unknown): boolean {
  return error instanceof Error &&
    (("code" in error && EXHAUSTION_CODES.has(error.code)) ||
      OUT_OF_FILES.test(error.message));
}
