/**
 * Accepts connections, and goes on through faults of accepting such as a lack
 * of file descriptors.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import { type Logger, RateLimitedLog } from "./logger.ts";
import { describeError } from "./settled.ts";

/** Options of {@linkcode ConnectionListener}. */
interface ConnectionListenerOptions<Conn extends Deno.Conn> {
  /**
   * Where connections come from; closed with the listener. That of
   * `Deno.listen` reports failures; a server of `node:net` stops accepting for
   * good, without an event, once files have run out.
   */
  readonly source: Pick<Deno.Listener<Conn>, "accept" | "close">;
  /** Owns each connection from then on; must not throw. */
  readonly onConnection: (connection: Conn) => void;
  /** Called when the process has no file left for a connection. */
  readonly onExhausted: () => void;
  /** Takes lines about that. */
  readonly logger: Logger;
  /** The time source. */
  readonly clock: Clock;
}

/** How long it waits when a connection could not be taken. */
const PAUSE_MS = 100;

/** Takes connections in until it is closed. */
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
    // One that ended before it was accepted needs nothing.
    const isTheirs = error instanceof Deno.errors.ConnectionAborted ||
      error instanceof Deno.errors.ConnectionReset;
    if (this.#isClosed || isTheirs) return;
    const { onExhausted, clock } = this.#options;
    this.#warning.warn("Cannot take connections in; tries again until it can", {
      error: describeError(error),
    });
    onExhausted();
    const pause = Promise.withResolvers<void>();
    this.#endPause = pause.resolve;
    const timer = clock.setTimer(pause.resolve, PAUSE_MS);
    await pause.promise;
    timer.cancel();
  }
}
