/**
 * The life of an HTTP server: start, serve, stop within a bound.
 *
 * The runtime bounds neither the time a header may take nor how long an idle
 * connection stays, so a port served by this belongs on a private network or
 * behind a proxy.
 *
 * @module
 */

import { type Clock, systemClock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { problem } from "./problem.ts";

/** How a server is set up. */
export interface HttpServerOptions {
  /** The address to listen on. */
  readonly hostname: string;
  /** The port to listen on; 0 lets the system choose one. */
  readonly port: number;
  /** Answers the requests; a router fits. */
  readonly handler: (
    request: Request,
    info: ConnectionInfo,
  ) => Response | Promise<Response>;
  /** Takes the faults of the server. */
  readonly logger: Logger;
  /**
   * The time source of the grace period.
   * @default the clock of the machine
   */
  readonly clock?: Clock;
}

/** Where a server listens. */
export interface ListenAddress {
  /** The address. */
  readonly hostname: string;
  /** The port, also when the system chose it. */
  readonly port: number;
}

/** How long connections may take to end once all requests are answered. */
const CUT_WAIT_MS = 250;

/** An HTTP/1.1 and HTTP/2 (prior knowledge) server without TLS. */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #clock: Clock;
  /** Ends the running requests; only those that did not answer at once. */
  readonly #running = new Set<() => void>();
  #server: Deno.HttpServer<Deno.NetAddr> | undefined;
  #stopping: Promise<void> | undefined;
  /** Called when the last running request is answered. */
  #onIdle: (() => void) | undefined;

  /** Prepares a server; nothing is opened yet. */
  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Opens the port and serves.
   *
   * @throws {Deno.errors.AddrInUse} when the port is taken
   * @throws {Error} when the server was started or stopped before
   */
  // Asynchronous by contract, so that a server that must wait can replace it.
  // deno-lint-ignore require-await
  async start(): Promise<ListenAddress> {
    const { hostname, port, logger } = this.#options;
    if (this.#stopping !== undefined) {
      throw new Error("Cannot start HTTP server: it was stopped");
    }
    if (this.#server !== undefined) {
      throw new Error("Cannot start HTTP server: it is running");
    }
    this.#server = Deno.serve({
      hostname,
      port,
      onListen: () => {},
      onError: (error) => {
        logger.error("Cannot answer request: the server failed", {
          error: error instanceof Error
            ? error.stack ?? String(error)
            : String(error),
        });
        return problem({ status: 500 });
      },
    }, (request, info) => this.#answer(request, info));
    const { addr } = this.#server;
    return { hostname: addr.hostname, port: addr.port };
  }

  /**
   * Stops: takes no more connections, closes idle ones and lets running
   * requests finish. Those that still run after `graceMs` milliseconds are
   * answered with 503. Once all are answered it resolves within a quarter of a
   * second, even when a client keeps its connection or never ends its body;
   * only the end of the process closes such a one.
   *
   * A second call waits for the first; a server stopped before its start
   * never starts.
   */
  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  #answer(
    request: Request,
    info: ConnectionInfo,
  ): Response | Promise<Response> {
    const answer = this.#options.handler(request, info);
    if (!(answer instanceof Promise)) return answer;
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const cut = () => resolve(problem({ status: 503 }));
    this.#running.add(cut);
    answer.then(resolve, reject).finally(() => {
      this.#running.delete(cut);
      if (this.#running.size === 0) this.#onIdle?.();
    });
    return promise;
  }

  async #stop(graceMs: number): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    const ended = server.shutdown();
    if (await this.#within(Promise.race([ended, this.#idle()]), graceMs)) {
      if (!await this.#within(ended, CUT_WAIT_MS)) {
        this.#tellOfLeftConnections();
      }
      return;
    }
    // The server's abort signal does not help here: after shutdown() it throws
    // where it cannot be caught.
    const requests = this.#running.size;
    this.#options.logger.warn("Cut requests that outlived the grace period", {
      graceMs,
      requests,
    });
    for (const cut of this.#running) cut();
    if (await this.#within(ended, CUT_WAIT_MS)) return;
    this.#tellOfLeftConnections();
  }

  #tellOfLeftConnections(): void {
    this.#options.logger.info("Left connections that do not end");
  }

  /** Settles when no request runs. */
  #idle(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onIdle = resolve;
    return promise;
  }

  /** Waits at most `boundMs`; returns whether the promise settled in time. */
  async #within(ended: Promise<void>, boundMs: number): Promise<boolean> {
    const late = Promise.withResolvers<boolean>();
    const timer = this.#clock.setTimer(() => late.resolve(false), boundMs);
    try {
      return await Promise.race([ended.then(() => true), late.promise]);
    } finally {
      timer.cancel();
    }
  }
}

/** What the server knows of a connection; the runtime's handler info fits. */
interface ConnectionInfo {
  /**
   * The address the connection came from; to be read before the request is
   * answered, as the runtime forgets it then.
   */
  readonly remoteAddr: Deno.Addr;
}

/**
 * Tells whether an address is of this machine: a loopback address (RFC 5735 and
 * RFC 4291, also in its IPv4-mapped form).
 *
 * A proxy on this machine makes every client look local; what is guarded by
 * this must not be reachable through one.
 */
export function isLoopbackAddress(address: string): boolean {
  const lower = address.toLowerCase();
  return lower === "::1" ||
    /^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(lower);
}
