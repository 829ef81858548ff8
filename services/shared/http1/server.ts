/**
 * An HTTP/1.1 server for public ports: everything a client can make it wait
 * for, keep or do has a limit.
 *
 * It is written here because the known servers do not fit: `Deno.serve` has no
 * time-outs, also speaks HTTP/2, accepts bare line feeds and requests
 * without a host, and ends the process when files run out; `node:http` has
 * time-outs, but ends the process then, too, accepts two hosts and any number
 * of fields, and costs more processor time. `deno task bench:decisions
 * --only=http` measures the time and what happens when files run out.
 *
 * @module
 */

import { ByteBudget } from "../connection_memory.ts";
import { type Clock, systemClock } from "../clock.ts";
import { ConnectionListener } from "../connection_listener.ts";
import type { HttpHandler, HttpPages } from "../http/exchange.ts";
import { type Logger, RateLimitedLog } from "../logger.ts";
import { waitAtMost } from "../settled.ts";
import { Http1Connection } from "./connection.ts";
import { ConnectionContext } from "./connection_context.ts";
import { type ConnectionLimits, DEFAULT_LIMITS } from "./settings.ts";
import type { ServerTls } from "../tls/server_tls.ts";
import type { TlsWire } from "../tls/tls_wire.ts";
import { PlainWire } from "../wire.ts";

/** A port to listen on. */
interface PortPlace {
  /** The address to listen on. */
  readonly hostname: string;
  /** The port to listen on; 0 lets the system choose one. */
  readonly port: number;
  /**
   * Whether other processes that also set it may listen on the same port.
   *
   * @default false
   */
  readonly reusePort?: boolean | undefined;
}

/** A unix socket to listen on. */
interface SocketPlace {
  /**
   * Its path, at which there may be nothing yet. Programs that may write to the
   * socket may connect, and count as clients of this machine.
   */
  readonly socketPath: string;
}

/** How a public server is set up. */
type Http1ServerOptions = Http1ServerParts & (PortPlace | SocketPlace);

/** What a server is made of, wherever it listens. */
interface Http1ServerParts extends Partial<ConnectionLimits> {
  /** Answers the requests. */
  readonly handler: HttpHandler;
  /**
   * Pages that are answered before the handler is asked.
   *
   * @default none
   */
  readonly pages?: HttpPages | undefined;
  /** Takes faults of the handler, and lines about floods. */
  readonly logger: Logger;
  /**
   * The time source.
   *
   * @default the clock of the machine
   */
  readonly clock?: Clock;
  /**
   * Asked for the certificate of each connection; with it the port speaks TLS
   * and nothing else.
   *
   * @default no TLS
   */
  readonly tls?: (() => ServerTls) | undefined;
  /**
   * Most connections open at a time. One more evicts the connection on which
   * the server has waited longest for a request, or the rest of one; when all
   * have a request under way, the new one is closed.
   *
   * @default 10000
   */
  readonly maxConnections?: number;
  /**
   * Bytes that all bodies together may hold while they come in; the first
   * 16 KiB of each do not count.
   *
   * @default 67108864
   */
  readonly maxBodyBytesInFlight?: number;
}

/** Where a server listens. */
interface ListenAddress {
  /** The address; the path of a unix socket. */
  readonly hostname: string;
  /** The port, also when the system chose it; 0 for a unix socket. */
  readonly port: number;
}

/** The address that clients of a unix socket count as: this machine's. */
const SOCKET_PEER = { hostname: "127.0.0.1", port: 0 };

/** A connection that was accepted. */
type Accepted = Deno.TcpConn | Deno.UnixConn;

/** Connections evicted when no file descriptor is left for another. */
const EVICTED_AT_ONCE = 32;

/** How long connections may take to end once their requests are cut. */
const CUT_WAIT_MS = 250;

/** A server for a public port. */
export class Http1Server {
  readonly #options: Http1ServerOptions;
  readonly #clock: Clock;
  readonly #context: ConnectionContext;
  readonly #connections = new Set<Http1Connection>();
  /** Connections on which the server waits, the longest wait first. */
  readonly #owing = new Set<Http1Connection>();
  readonly #runs = new Set<Promise<void>>();
  readonly #stopped = new AbortController();
  readonly #fullWarning: RateLimitedLog;
  #listener: ConnectionListener<Accepted> | undefined;
  #isStarted = false;
  #stopping: Promise<void> | undefined;

  /** Prepares a server; nothing is opened yet. */
  constructor(options: Http1ServerOptions) {
    const { handler, pages, logger, clock = systemClock } = options;
    this.#options = options;
    this.#clock = clock;
    this.#fullWarning = new RateLimitedLog(logger, clock);
    this.#context = new ConnectionContext({
      handler,
      pages,
      logger,
      clock,
      limits: { ...DEFAULT_LIMITS, ...options },
      budget: new ByteBudget(options.maxBodyBytesInFlight ?? 67_108_864),
    });
  }

  /** Aborted when the stop begins, so that what waits can answer early. */
  get stopping(): AbortSignal {
    return this.#stopped.signal;
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#connections.size;
  }

  /**
   * Opens the port and serves.
   *
   * @throws {Deno.errors.AddrInUse} when the port is taken
   * @throws {Error} when the server was started or stopped before
   */
  async start(): Promise<ListenAddress> {
    if (this.#isStarted) {
      throw new Error("Cannot start HTTP server: it was started before");
    }
    this.#isStarted = true;
    const { tls } = this.#options;
    const acceptTls = tls && await tlsAcceptor(tls);
    return this.#listen(acceptTls);
  }

  /**
   * Lets each answer from now on be the last one of its connection, so that
   * clients leave before the port is closed. New connections are still taken.
   */
  drain(): void {
    this.#context.isDraining = true;
  }

  /**
   * Stops: takes no more connections, closes those without a request and lets
   * running requests finish. What still runs after `graceMs` milliseconds is
   * answered with 503, and a quarter of a second later every connection is
   * closed.
   *
   * A second call waits for the first; a server stopped before its start never
   * starts.
   */
  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  #listen(acceptTls: TlsAcceptor | undefined): ListenAddress {
    if (this.#stopping !== undefined) {
      throw new Error("Cannot start HTTP server: it was stopped");
    }
    const { source, address } = openSource(this.#options);
    this.#listener = new ConnectionListener<Accepted>({
      source,
      logger: this.#options.logger,
      clock: this.#clock,
      onConnection: (connection) => this.#accept(connection, acceptTls),
      onExhausted: () => {
        for (let count = 0; count < EVICTED_AT_ONCE; count++) this.#evict();
      },
    });
    return address;
  }

  async #stop(graceMs: number): Promise<void> {
    const closed = this.#listener?.close();
    // First, so that an answer which the signal brings about is the last one.
    for (const connection of this.#connections) connection.shutdown();
    this.#stopped.abort();
    // Closing the port is part of the grace period, which begins now.
    if (await this.#ended(graceMs, closed)) return;
    this.#options.logger.warn("Cut requests that outlived the grace period", {
      graceMs,
      connections: this.#connections.size,
    });
    for (const connection of this.#connections) connection.cut();
    if (await this.#ended(CUT_WAIT_MS, closed)) return;
    for (const connection of this.#connections) connection.destroy();
    await this.#end(closed);
  }

  async #ended(timeoutMs: number, closed?: Promise<void>): Promise<boolean> {
    const options = { clock: this.#clock, timeoutMs };
    return await waitAtMost(this.#end(closed), options) !== "late";
  }

  /** Resolves when the port is closed and all connections have ended. */
  async #end(closed?: Promise<void>): Promise<true> {
    await closed;
    await Promise.all(this.#runs);
    return true;
  }

  #accept(accepted: Accepted, acceptTls: TlsAcceptor | undefined): void {
    if (this.#isCrowded()) return accepted.close();
    const { hostname, port } = isTcp(accepted)
      ? accepted.remoteAddr
      : SOCKET_PEER;
    try {
      if (isTcp(accepted)) accepted.setNoDelay(true);
    } catch {
      // The client has gone again; the first read shows it.
    }
    const wire = acceptTls?.(accepted) ?? new PlainWire(accepted);
    const connection = new Http1Connection({
      wire,
      context: this.#context,
      origin: {
        peer: { address: unmapped(hostname), port },
        isTls: acceptTls !== undefined,
      },
      onOwing: this.#onOwing,
    });
    this.#connections.add(connection);
    const run = connection.run().then(() => {
      this.#connections.delete(connection);
      this.#runs.delete(run);
    });
    this.#runs.add(run);
  }

  readonly #onOwing = (connection: Http1Connection, isOwing: boolean): void => {
    if (isOwing) this.#owing.add(connection);
    else this.#owing.delete(connection);
  };

  /** Makes room for a connection; returns true when there is no room. */
  #isCrowded(): boolean {
    const { maxConnections = 10_000 } = this.#options;
    if (this.#connections.size < maxConnections) return false;
    this.#fullWarning.warn("As many connections as allowed are open", {
      maxConnections,
    });
    return !this.#evict();
  }

  /** Closes the connection on which the server has waited longest. */
  #evict(): boolean {
    const [oldest] = this.#owing;
    if (oldest === undefined) return false;
    this.#owing.delete(oldest);
    this.#connections.delete(oldest);
    oldest.destroy();
    return true;
  }
}

/** Puts TLS on a connection. */
type TlsAcceptor = (accepted: Accepted) => TlsWire;

function isTcp(accepted: Accepted): accepted is Deno.TcpConn {
  return "setNoDelay" in accepted;
}

/** Opens the place where a server listens. */
function openSource(
  place: PortPlace | SocketPlace,
): {
  readonly source: Pick<Deno.Listener<Accepted>, "accept" | "close">;
  readonly address: ListenAddress;
} {
  if ("socketPath" in place) {
    const { socketPath: path } = place;
    const source = Deno.listen({ transport: "unix", path });
    return { source, address: { hostname: path, port: 0 } };
  }
  const { hostname, port, reusePort = false } = place;
  const source = Deno.listen({ hostname, port, reusePort });
  return { source, address: source.addr };
}

/** Loads what TLS needs, which servers without it start without. */
async function tlsAcceptor(tls: () => ServerTls): Promise<TlsAcceptor> {
  const { acceptTls } = await import("../tls/tls_wire.ts");
  return (accepted) =>
    acceptTls(accepted, { tls: tls(), protocols: ["http/1.1"] });
}

/** Converts an IPv4-mapped IPv6 address, as dual-stack sockets show it. */
function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");
}
