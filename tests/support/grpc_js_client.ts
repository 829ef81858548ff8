/**
 * A small client of unary gRPC methods on the gRPC library, which shares no code
 * with the server under test.
 *
 * @module
 */

import {
  Client,
  type ClientUnaryCall,
  credentials,
  Metadata,
  type ServiceError,
  type status,
} from "@grpc/grpc-js";
import { Buffer } from "node:buffer";
import { describeError } from "../../services/shared/settled.ts";
import {
  GRPC_STATUS,
  type GrpcAnswer,
  GrpcFailure,
  type GrpcStatus,
} from "../../services/shared/grpc/method.ts";

/** Plain bytes of the library's buffer, whose `slice` would mean a view. */
function bytesOf(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

/** A buffer over `bytes`, as the library wants it. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Whom a client talks to, and how. */
interface GrpcClientOptions {
  /** `host:port`, `[address]:port` or `unix:/path`. */
  readonly target: string;
}

/**
 * A client of unary methods, without TLS. It connects at the first call, and
 * honours the proxy variables of the environment, `grpc_proxy` first, unless
 * `no_grpc_proxy` names the host.
 */
export class GrpcClient {
  readonly #client: Client;
  readonly #running = new Set<ClientUnaryCall>();
  #closed = false;

  /**
   * A client of the server at `options.target`.
   *
   * @throws {TypeError} When the target cannot be read.
   */
  constructor(options: GrpcClientOptions) {
    this.#client = openClient(options.target);
  }

  /**
   * Calls the method with the full path `path`, such as
   * `/grpc.health.v1.Health/Check`, for `deadlineMs` at most, connecting
   * included. Everything that goes wrong, a server that cannot be reached
   * included, is a failure value.
   */
  unary(
    path: string,
    request: Uint8Array,
    { deadlineMs }: { readonly deadlineMs: number },
  ): Promise<GrpcAnswer> {
    if (this.#closed) {
      return Promise.resolve(
        new GrpcFailure(
          GRPC_STATUS.CANCELLED,
          `Cannot call "${path}": the client is closed`,
        ),
      );
    }
    return new Promise((resolve) => {
      const call = this.#client.makeUnaryRequest(
        path,
        bufferOf,
        bytesOf,
        request,
        new Metadata(),
        { deadline: Date.now() + deadlineMs },
        (error: ServiceError | null, answer?: Uint8Array) => {
          this.#running.delete(call);
          resolve(error === null ? answer ?? new Uint8Array() : failure(error));
        },
      );
      this.#running.add(call);
    });
  }

  /**
   * Ends running calls with `CANCELLED` and closes the connection. What the
   * library keeps a few seconds longer after a failed or unfinished connection
   * does not hold the process.
   */
  close(): void {
    this.#closed = true;
    for (const call of this.#running) call.cancel();
    this.#client.close();
  }
}

function openClient(target: string): Client {
  try {
    return new Client(target, credentials.createInsecure(), {
      "grpc.enable_channelz": 0,
      // No service configuration in DNS is used for this; saves a lookup.
      "grpc.service_config_disable_resolution": 1,
      // A shared pool would keep the connection open after close().
      "grpc.use_local_subchannel_pool": 1,
    });
  } catch (cause) {
    const reason = describeError(cause);
    throw new TypeError(`Cannot call "${target}": ${reason}`, { cause });
  }
}

function failure(error: ServiceError): GrpcFailure {
  return new GrpcFailure(knownStatus(error.code), error.details);
}

/** A server may send a number that is no status (grpc/doc/statuscodes.md). */
function knownStatus(code: status): GrpcStatus {
  const found = Object.values(GRPC_STATUS).find((known) => known === code);
  return found ?? GRPC_STATUS.UNKNOWN;
}
