/**
 * A gRPC server on the project's own HTTP/2: fast, and without native code that
 * a peer could make abort the process.
 *
 * @module
 */

import { type Clock, steadyClock, systemClock } from "../clock.ts";
import { ConnectionListener } from "../connection_listener.ts";
import { Alarm } from "../h2/connection_alarms.ts";
import type { H2Connection } from "../h2/connection.ts";
import { H2Engine } from "../h2/engine.ts";
import { DEFAULT_LIMITS, type H2Limits, headerLimits } from "../h2/limits.ts";
import type { Logger } from "../logger.ts";
import { removeIfThere } from "../missing_file.ts";
import type { ByteConnection } from "../wire.ts";
import {
  callStream,
  callUnary,
  OpenServerStreams,
} from "./h2_server_stream.ts";
import type { GrpcAddress, GrpcMethods } from "./method.ts";
import { getAddress, H2Socket, listen } from "./socket.ts";
import type { GrpcServerTls, TlsHandshakes } from "./tls_handshakes.ts";

/** Options of {@linkcode H2GrpcServer}. */
interface H2GrpcServerOptions {
  /** The methods it answers. */
  readonly methods: GrpcMethods;
  /** Where it listens. */
  readonly address: GrpcAddress;
  /**
   * Largest request it takes; a larger one gets `RESOURCE_EXHAUSTED`.
   *
   * @default 4194304
   */
  readonly maxReceiveBytes?: number;
  /**
   * Largest list of headers, counted as in RFC 9113, 6.5.2, and announced to
   * callers; a call with more gets `RESOURCE_EXHAUSTED`, which names the
   * setting `MAX_HEADER_BYTES`.
   *
   * @default 16384
   */
  readonly maxHeaderBytes?: number;
  /**
   * Bytes that unfinished requests of all connections together may hold; those
   * of one connection may hold an eighth of it. A request beyond that gets
   * `RESOURCE_EXHAUSTED`. Both limits have room for two of the largest
   * requests, since a growing request is held twice while it is copied.
   *
   * @default 67108864
   */
  readonly maxUnfinishedBytes?: number | undefined;
  /**
   * Age at which a connection is asked to close, give or take a tenth.
   *
   * @default no limit
   */
  readonly maxConnectionAgeMs?: number;
  /**
   * How long running calls may keep a connection past its age.
   *
   * @default no limit
   */
  readonly maxConnectionAgeGraceMs?: number;
  /**
   * Calls one connection may have open at a time; further ones wait with the
   * caller.
   *
   * @default 1000
   */
  readonly maxConcurrentStreams?: number;
  /**
   * Connections it has open at a time; further ones are closed at once.
   *
   * @default 10000
   */
  readonly maxConnections?: number;
  /**
   * Whether other processes that also set it may listen on the same port.
   *
   * @default false
   */
  readonly reusePort?: boolean | undefined;
  /**
   * TLS, in place of plain text.
   *
   * @default plain text
   */
  readonly tls?: GrpcServerTls | undefined;
  /**
   * Names of the fields that calls hand to methods, in lower case.
   *
   * @default none
   */
  readonly keptNames?: readonly string[] | undefined;
  /** Logs errors of methods, and faults of peers. */
  readonly logger: Logger;
  /**
   * The time source.
   *
   * @default systemClock
   */
  readonly clock?: Clock;
}

/** Handshakes ended when no file descriptor is left for a connection. */
const EVICTED_AT_ONCE = 32;

type Accepted = Deno.TcpConn | Deno.UnixConn;

/** A server of `methods` at `address`. */
export class H2GrpcServer {
  readonly #options: H2GrpcServerOptions;
  readonly #engine: H2Engine;
  /** The open connections, each until its run has ended. */
  readonly #sockets = new Map<H2Socket, Promise<void>>();
  readonly #serverStreams = new OpenServerStreams();
  #handshakes: TlsHandshakes | undefined;
  #isFull = false;
  #address: GrpcAddress;
  #starting: Promise<ConnectionListener<Accepted>> | undefined;
  #stopping: Promise<void> | undefined;

  /** Nothing is open before `start()`. */
  constructor(options: H2GrpcServerOptions) {
    this.#options = options;
    this.#address = options.address;
    this.#engine = new H2Engine({
      paths: Object.keys(options.methods),
      keptNames: options.keptNames,
      handler: requestHandler(options, this.#serverStreams),
      streaming: streamingPaths(options.methods),
      logger: options.logger,
      // A connection's age and deadlines are durations.
      clock: steadyClock(options.clock ?? systemClock),
      limits: toLimits(options),
    });
  }

  /**
   * Opens the listener.
   *
   * @returns The address it listens on, with the real port where 0 was asked.
   * @throws {Deno.errors.AddrInUse} When the address is taken.
   */
  async start(): Promise<GrpcAddress> {
    if (this.#stopping !== undefined) {
      throw new Error("Cannot start: the server has been stopped");
    }
    if (this.#starting !== undefined) {
      throw new Error("Cannot start: the server has been started before");
    }
    this.#starting = this.#start();
    await this.#starting;
    return this.#address;
  }

  /**
   * Takes no new connections, and no calls but those that are on their way when
   * their caller hears of the stop, without streams. Waits for the running ones
   * at most `graceMs`, then ends what is left. Tolerates a second call and a stop
   * before the start.
   */
  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#sockets.size;
  }

  /**
   * Asks the callers of some connections to open new ones, the oldest first.
   * Their running calls go on.
   */
  retire(count: number): void {
    for (const { connection } of this.#sockets.keys()) {
      if (count-- <= 0) return;
      connection.retire();
    }
  }

  async #start(): Promise<ConnectionListener<Accepted>> {
    const { address, reusePort, tls } = this.#options;
    this.#handshakes = tls && await this.#openHandshakes(tls);
    const source = await listen(address, { reusePort });
    this.#address = getAddress(source);
    return new ConnectionListener({
      source,
      logger: this.#options.logger,
      clock: this.#engine.clock,
      onConnection: (socket) => this.#accept(socket),
      // Only handshakes are evicted: open connections are all in use.
      onExhausted: () => this.#handshakes?.evict(EVICTED_AT_ONCE),
    });
  }

  /** Loads what TLS needs, which servers without it start without. */
  async #openHandshakes(tls: GrpcServerTls): Promise<TlsHandshakes> {
    const { TlsHandshakes } = await import("./tls_handshakes.ts");
    return new TlsHandshakes({
      ...tls,
      onOpen: (wire) => this.#serve(wire),
      onRefused: (wire, reason) => this.#serve(wire).refuse(reason),
      wheel: this.#engine.wheel,
      clock: this.#engine.clock,
      logger: this.#options.logger,
    });
  }

  async #stop(graceMs: number): Promise<void> {
    // The caller of start() gets its error; here only an open listener counts.
    const listener = await this.#starting?.catch(() => undefined);
    if (listener === undefined) return;
    const closed = listener.close();
    this.#handshakes?.evict(Infinity);
    for (const { connection } of this.#sockets.keys()) connection.conclude();
    this.#serverStreams.end();
    const { wheel } = this.#engine;
    const end = new Alarm(() => {
      for (const socket of this.#sockets.keys()) socket.destroy();
    });
    wheel.add(end, graceMs);
    await closed;
    if (this.#address.kind === "unix") await removeIfThere(this.#address.path);
    await Promise.all(this.#sockets.values());
    wheel.remove(end);
  }

  #accept(accepted: Accepted): void {
    const { maxConnections = 10_000, logger } = this.#options;
    const handshakes = this.#handshakes?.count ?? 0;
    if (this.#sockets.size + handshakes >= maxConnections) {
      accepted.close();
      // Once for each time it happens, however many are refused.
      if (!this.#isFull) {
        logger.warn("Refusing connections: as many as allowed are open", {
          maxConnections,
        });
      }
      this.#isFull = true;
      return;
    }
    this.#isFull = false;
    try {
      if ("setNoDelay" in accepted) accepted.setNoDelay(true);
    } catch {
      // The caller has gone again; the first read shows it.
    }
    if (this.#handshakes === undefined) this.#serve(accepted);
    else this.#handshakes.begin(accepted);
  }

  #serve(carrier: ByteConnection): H2Connection {
    const socket = new H2Socket(this.#engine, carrier, {
      isPlain: this.#handshakes === undefined,
    });
    const stopAge = this.#watchAge(socket);
    const run = socket.run().then(() => {
      stopAge();
      this.#sockets.delete(socket);
    });
    this.#sockets.set(socket, run);
    return socket.connection;
  }

  #watchAge(socket: H2Socket): () => void {
    const { maxConnectionAgeMs, maxConnectionAgeGraceMs } = this.#options;
    if (maxConnectionAgeMs === undefined) return () => {};
    const { wheel } = this.#engine;
    const grace = new Alarm(() => socket.destroy());
    const age = new Alarm(() => {
      socket.connection.retire();
      if (maxConnectionAgeGraceMs !== undefined) {
        wheel.add(grace, maxConnectionAgeGraceMs);
      }
    });
    // Connections that were opened together shall not all end together.
    const jitter = 0.9 + 0.2 * Math.random();
    wheel.add(age, maxConnectionAgeMs * jitter);
    return () => {
      wheel.remove(age);
      wheel.remove(grace);
    };
  }
}

function requestHandler(
  options: H2GrpcServerOptions,
  open: OpenServerStreams,
): H2Engine["handler"] {
  const { logger } = options;
  const entries = Object.entries(options.methods);
  const methods = entries.map(([, method]) => method);
  const callOptions = entries.map(([path]) => ({ path, logger, open }));
  return {
    request(stream, message) {
      const { path } = stream.head;
      const method = methods[path]!;
      if (method.kind === "unary") {
        callUnary(method, { stream, message }, callOptions[path]!);
      } else if (method.kind === "server_stream") {
        const { handle } = method;
        callStream(
          (_, call) => handle(message, call),
          stream,
          callOptions[path]!,
        );
      }
    },
    open(stream) {
      const { path } = stream.head;
      const method = methods[path]!;
      if (method.kind !== "bidi_stream") return;
      callStream(method.handle, stream, callOptions[path]!);
    },
  };
}

/** Numbers of the methods that take any number of requests. */
function streamingPaths(methods: GrpcMethods): ReadonlySet<number> {
  return new Set(
    Object.values(methods).flatMap(({ kind }, number) =>
      kind === "bidi_stream" ? [number] : []
    ),
  );
}

/** Number of connections that can use up the memory of unfinished requests. */
const CONNECTION_SHARES = 8;

function toLimits(options: H2GrpcServerOptions): Partial<H2Limits> {
  const {
    maxReceiveBytes = DEFAULT_LIMITS.maxReceiveBytes,
    maxHeaderBytes = DEFAULT_LIMITS.maxHeaderListBytes,
    maxConcurrentStreams = DEFAULT_LIMITS.maxConcurrentStreams,
    maxUnfinishedBytes = DEFAULT_LIMITS.maxServerBufferedBytes,
  } = options;
  const leastBytes = 2 * maxReceiveBytes;
  return {
    ...headerLimits(maxHeaderBytes),
    maxReceiveBytes,
    maxBufferedBytes: Math.max(
      Math.floor(maxUnfinishedBytes / CONNECTION_SHARES),
      leastBytes,
    ),
    maxServerBufferedBytes: Math.max(maxUnfinishedBytes, leastBytes),
    maxConcurrentStreams,
  };
}
