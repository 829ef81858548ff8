/**
 * A gRPC server on the gRPC library. The library speaks the protocol; the
 * listening socket and the life of its connections are kept here, since the
 * library's own bind hides the reason of a failure and its shutdown does not
 * wait for connections that have passed their age.
 *
 * @module
 */

import { Server, ServerCredentials } from "@grpc/grpc-js";
import type { ConnectionInjector, ServerOptions } from "@grpc/grpc-js";
import type { Logger } from "../logger.ts";
import { bufferOf, bytesOf } from "./grpc_js_bytes.ts";
import {
  type OpenStreams,
  serverStreamHandler,
  unaryHandler,
} from "./grpc_js_call.ts";
import { forwardGrpcJsLog } from "./grpc_js_log.ts";
import { listen, type Listener } from "./listener.ts";
import type { GrpcAddress, GrpcMethods, GrpcServer } from "./method.ts";

/** How a server answers and where. */
export interface GrpcJsServerOptions {
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
  /** Takes the errors of methods and the library's lines. */
  readonly logger: Logger;
}

/** A server of `methods` at `address`; nothing is open before `start()`. */
export function createGrpcJsServer(options: GrpcJsServerOptions): GrpcServer {
  return new GrpcJsServer(options);
}

class GrpcJsServer implements GrpcServer {
  readonly #address: GrpcAddress;
  readonly #server: Server;
  readonly #streams: OpenStreams = new Set();
  #starting: Promise<Listener> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: GrpcJsServerOptions) {
    forwardGrpcJsLog(options.logger);
    this.#address = options.address;
    this.#server = new Server(libraryOptions(options));
    register(this.#server, options, this.#streams);
  }

  async start(): Promise<GrpcAddress> {
    if (this.#stopping !== undefined) {
      throw new Error("Cannot start: the server has been stopped");
    }
    if (this.#starting !== undefined) {
      throw new Error("Cannot start: the server has been started before");
    }
    const injector: ConnectionInjector = this.#server.createConnectionInjector(
      ServerCredentials.createInsecure(),
    );
    this.#starting = listen(this.#address, {
      onConnection: (socket) => injector.injectConnection(socket),
    });
    return (await this.#starting).address;
  }

  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  async #stop(graceMs: number): Promise<void> {
    // The caller of start() gets its error; here only an open listener counts.
    const listener = await this.#starting?.catch(() => undefined);
    listener?.close();
    // Sends GOAWAY on every connection. Its callback comes too early when a
    // connection was closing already, so the connections themselves are
    // waited for.
    this.#server.tryShutdown(() => {});
    for (const stream of this.#streams) stream.abort();
    if (listener === undefined) return;
    const timer = setTimeout(() => listener.destroyConnections(), graceMs);
    await listener.closed();
    clearTimeout(timer);
  }
}

function libraryOptions(options: GrpcJsServerOptions): ServerOptions {
  return {
    // Introspection costs time on every call, and nobody can ask for it here.
    "grpc.enable_channelz": 0,
    "grpc.max_receive_message_length": options.maxReceiveBytes ?? 4_194_304,
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": options.maxConcurrentStreams ?? 1_000,
    ...(options.maxConnectionAgeMs === undefined
      ? {}
      : { "grpc.max_connection_age_ms": options.maxConnectionAgeMs }),
    ...(options.maxConnectionAgeGraceMs === undefined ? {} : {
      "grpc.max_connection_age_grace_ms": options.maxConnectionAgeGraceMs,
    }),
  };
}

function register(
  server: Server,
  options: GrpcJsServerOptions,
  open: OpenStreams,
): void {
  const { logger } = options;
  for (const [path, method] of Object.entries(options.methods)) {
    if (method.kind === "unary") {
      const handler = unaryHandler(method.handle, { path, logger });
      server.register(path, handler, bufferOf, bytesOf, "unary");
    } else {
      const handler = serverStreamHandler(method.handle, {
        path,
        logger,
        open,
      });
      server.register(path, handler, bufferOf, bytesOf, "serverStream");
    }
  }
}
