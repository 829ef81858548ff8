/**
 * The listeners for everybody, gRPC and HTTP: opened together, once there are
 * rules to decide by.
 *
 * @module
 */

import type { GrpcServer } from "../shared/grpc/method.ts";
import type { HttpServer } from "../shared/http/server.ts";
import type { Part } from "../shared/stopper.ts";
import type { Logger } from "../shared/logger.ts";
import { opened, shownGrpcAddress, shownHttpAddress } from "./open_listener.ts";

/** The parts of {@linkcode PublicListeners}. */
interface PublicListenersOptions {
  /** Answers gRPC. */
  readonly grpc: GrpcServer;
  /** Answers HTTP. */
  readonly http: HttpServer;
  /** Asked at the start: what to wait for; undefined opens at once. */
  readonly ready: () => Promise<void> | undefined;
  /** Told when a listener can't be opened after the start. */
  readonly onFailure: (error: unknown) => void;
  /** Told of addresses. */
  readonly logger: Logger;
}

/** Opens gRPC and HTTP when the rules are there, and closes them. */
export class PublicListeners implements Part {
  /** Name in logs. */
  readonly name = "gRPC and HTTP listeners";
  readonly #options: PublicListenersOptions;
  #opening: Promise<void> | undefined;
  #stopped = false;

  /** Listeners that are closed. */
  constructor(options: PublicListenersOptions) {
    this.#options = options;
  }

  /**
   * Opens both, or sets them to open with the first rules: the service runs on
   * starting meanwhile, so that it can be asked to reload.
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
    const { grpc, http } = this.#options;
    await this.#opening?.catch(() => {});
    await Promise.all([grpc.stop(graceMs), http.stop(graceMs)]);
  }

  #open(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    this.#opening ??= this.#openBoth();
    return this.#opening;
  }

  async #openBoth(): Promise<void> {
    const { grpc, http, logger } = this.#options;
    const grpcAddress = await opened(() => grpc.start(), {
      what: "gRPC",
      settings: "GRPC_HOST and GRPC_PORT, or GRPC_UDS",
    });
    try {
      const httpAddress = await opened(() => http.start(), {
        what: "HTTP",
        settings: "HOST and PORT",
      });
      // At warning, the default level: who starts the service by hand
      // wants to see where it is.
      logger.warn(`Listening for gRPC on ${shownGrpcAddress(grpcAddress)}`);
      logger.warn(`Listening for HTTP on ${shownHttpAddress(httpAddress)}`);
    } catch (error) {
      await grpc.stop(0);
      throw error;
    }
  }
}
