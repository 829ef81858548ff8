/**
 * A small client for unary gRPC methods that uses the gRPC library and shares
 * no code with the server under test.
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
} from "npm:@grpc/grpc-js@^1.14.0";
import { Buffer } from "node:buffer";
import { describeError } from "../../services/shared/settled.ts";
import {
  GRPC_STATUS,
  type GrpcAnswer,
  GrpcFailure,
  type GrpcStatus,
} from "../../services/shared/grpc/method.ts";

/**
 * Returns a `Uint8Array` over the bytes of a buffer, since `slice` of a
 * `Buffer` would return a view rather than a copy.
 */
function toBytes(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

/** Returns a buffer over `bytes`, which is the type that the library takes. */
function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Options of {@linkcode GrpcClient}. */
interface GrpcClientOptions {
  /**
   * The address of the server: `host:port`, `[address]:port` or `unix:/path`.
   */
  readonly target: string;
}

/**
 * A client for unary methods, without TLS. It connects at the first call, and
 * honours the proxy variables of the environment, `grpc_proxy` first, unless
 * `no_grpc_proxy` names the host.
 */
export class GrpcClient {
  readonly #client: Client;
  readonly #running = new Set<ClientUnaryCall>();
  #closed = false;

  /**
   * Creates a client of the server at `options.target`.
   *
   * @throws {TypeError} When the target cannot be parsed.
   */
  constructor(options: GrpcClientOptions) {
    this.#client = openClient(options.target);
  }

  /**
   * Calls the method with the full path `path`, such as
   * `/grpc.health.v1.Health/Check`. The call, including the connection, may
   * take at most `deadlineMs`. Every error, such as a server that cannot be
   * reached, is returned as a failure value.
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
        toBuffer,
        toBytes,
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
   * Ends running calls with `CANCELLED` and closes the connection. Timers that
   * the library keeps for a few seconds after a failed or unfinished connection
   * do not keep the process alive.
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
      // No service configuration from DNS is used; this saves a lookup.
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

/**
 * Returns `UNKNOWN` for a number that is not a known status, which a server may
 * send (grpc/doc/statuscodes.md).
 */
function knownStatus(code: status): GrpcStatus {
  const found = Object.values(GRPC_STATUS).find((known) => known === code);
  return found ?? GRPC_STATUS.UNKNOWN;
}
