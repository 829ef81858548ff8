/**
 * The gRPC and HTTP listeners of the service, which open with the first rules.
 *
 * @module
 */

import type { H2GrpcServer } from "../shared/grpc/h2_server.ts";
import type { GrpcAddress } from "../shared/grpc/method.ts";
import { openPort, shownAddress } from "../shared/http/open_port.ts";
import type { Http1Server } from "../shared/http1/server.ts";
import type { Logger } from "../shared/logger.ts";
import type { Part } from "../shared/stopper.ts";

/** Returns the address as `127.0.0.1:8081`, or the path of the socket. */
function shownGrpcAddress(address: GrpcAddress): string {
  return address.kind === "unix"
    ? address.path
    : shownAddress(address.host, address.port);
}

/** Listeners of other threads, on the same ports. */
interface OtherListeners {
  /**
   * Opens them; settles when they are open, or will not be soon.
   *
   * @param own This thread's gRPC listener, which has its share of the
   * connections.
   */
  open(ports: ServingPorts, own: RetiringListener): Promise<void>;
  /** Closes them as {@linkcode PublicListeners.stop} does. */
  close(graceMs: number): Promise<void>;
}

/** A listener that can ask callers to connect again. */
export type RetiringListener = Pick<H2GrpcServer, "connections" | "retire">;

/** The ports that threads share, as the system chose them. */
export interface ServingPorts {
  /** Port of gRPC. */
  readonly grpcPort: number;
  /** Port of HTTP. */
  readonly port: number;
}

/** The parts of {@linkcode PublicListeners}. */
interface PublicListenersOptions {
  /** Answers gRPC. */
  readonly grpc: H2GrpcServer;
  /** True when gRPC uses TLS. */
  readonly isGrpcTls: boolean;
  /** Answers HTTP. */
  readonly http: Http1Server;
  /** Addresses of the two listeners, for error texts. */
  readonly places: {
    readonly grpc: GrpcAddress;
    readonly http: { readonly host: string; readonly port: number };
  };
  /**
   * The other threads that serve on the same ports.
   *
   * @default no other threads
   */
  readonly others?: OtherListeners | undefined;
  /**
   * Called at the start: returns what to wait for before opening; undefined
   * opens at once.
   */
  readonly ready: () => Promise<void> | undefined;
  /** Called when a listener can't be opened after the start. */
  readonly onFailure: (error: unknown) => void;
  /** Gets a line where opening waits for rules. */
  readonly logger: Pick<Logger, "warn">;
  /** Gets log lines with the addresses. */
  readonly addressLog: Pick<Logger, "info">;
}

/** Opens gRPC and HTTP once there are rules, and closes them. */
export class PublicListeners implements Part {
  /** Name in logs. */
  readonly name = "gRPC and HTTP listeners";
  readonly #options: PublicListenersOptions;
  readonly #opened = Promise.withResolvers<void>();
  #opening: Promise<void> | undefined;
  #stopped = false;

  /** Makes listeners that are closed. */
  constructor(options: PublicListenersOptions) {
    this.#options = options;
  }

  /** Settles once both are open, or once it is clear that they will not be. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  /**
   * Opens both, or arranges that they open with the first rules. It does not
   * wait for these: the service goes on starting, so that it can be asked to
   * reload.
   */
  start(): Promise<void> {
    const { onFailure, logger } = this.#options;
    const ready = this.#options.ready();
    if (ready === undefined) return this.#open();
    logger.warn("gRPC and HTTP open with the first valid configuration");
    ready.then(() => this.#open()).catch(onFailure);
    return Promise.resolve();
  }

  /** Closes both; running calls have `graceMs` milliseconds to finish. */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    this.#opened.resolve();
    const { grpc, http, others } = this.#options;
    await this.#opening?.catch(() => {});
    await Promise.all([
      grpc.stop(graceMs),
      http.stop(graceMs),
      others?.close(graceMs),
    ]);
  }

  #open(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    this.#opening ??= this.#openBoth().finally(() => this.#opened.resolve());
    return this.#opening;
  }

  async #openBoth(): Promise<void> {
    const { grpc, http, places, others, addressLog, isGrpcTls } = this.#options;
    const grpcAddress = await openPort(() => grpc.start(), {
      service: "ratelimit",
      what: "gRPC",
      ...(places.grpc.kind === "unix"
        ? { path: places.grpc.path, pathSetting: "GRPC_UDS" }
        : {
          ...places.grpc,
          hostSetting: "GRPC_HOST",
          portSetting: "GRPC_PORT",
        }),
    });
    try {
      const { hostname, port } = await openPort(() => http.start(), {
        service: "ratelimit",
        what: "HTTP",
        host: places.http.host,
        port: places.http.port,
      });
      if (others !== undefined && grpcAddress.kind === "tcp") {
        await others.open({ grpcPort: grpcAddress.port, port }, grpc);
      }
      const how = isGrpcTls ? " with TLS" : "";
      addressLog.info(
        `Listening for gRPC on ${shownGrpcAddress(grpcAddress)}${how}`,
      );
      addressLog.info(`Listening for HTTP on ${shownAddress(hostname, port)}`);
    } catch (error) {
      await grpc.stop(0);
      throw error;
    }
  }
}
