/**
 * A gRPC client for the service that shares no code with it: it uses the gRPC
 * library, and protobufjs reads and writes the messages by the .proto files.
 *
 * @module
 */

import { Client, credentials, Metadata } from "npm:@grpc/grpc-js@^1.14.0";
import type {
  ChannelCredentials,
  ServiceError,
} from "npm:@grpc/grpc-js@^1.14.0";
import { Buffer } from "node:buffer";
import {
  type IndependentType,
  loadSchema,
} from "../../proto/testing/schema.ts";
import type { TestCertificate } from "../support/test_certificates.ts";
import { waitUntil } from "../support/wait_until.ts";

/** The full path of the method `ShouldRateLimit`. */
export const DECIDE_PATH =
  "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/** The values of `overall_code` and `code` on the wire. */
export const CODES = { OK: 1, OVER_LIMIT: 2 } as const;

/** The values of the health service's `status` on the wire. */
export const HEALTH = { SERVING: 1, NOT_SERVING: 2 } as const;

/** The gRPC status codes that tests expect. */
export const STATUS = {
  OK: 0,
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  UNAVAILABLE: 14,
} as const;

/** The status of one descriptor in a response. */
export interface AnswerStatus {
  /** The decision, see {@linkcode CODES}. */
  readonly code: number;
  /** The limit that applied; null when none did. */
  readonly currentLimit:
    | { readonly requestsPerUnit: number; readonly unit: number }
    | null;
  /** Requests that remain in the window. */
  readonly limitRemaining: number;
  /** Time until the window ends; null without a limit. */
  readonly durationUntilReset: { readonly seconds: number } | null;
}

/** The outcome of a call. */
export interface CallOutcome {
  /** gRPC status code, see {@linkcode STATUS}. */
  readonly status: number;
  /** The server's message about a failure. */
  readonly details: string;
  /** The overall decision, see {@linkcode CODES}; 0 when the call failed. */
  readonly overallCode: number;
  /** One status for each descriptor. */
  readonly statuses: readonly AnswerStatus[];
}

/** A stream of health statuses. */
export interface HealthWatch {
  /** All statuses received so far. */
  readonly seen: readonly number[];
  /** Waits until the latest status is `status`. */
  waitFor(status: number): Promise<void>;
  /** Cancels the stream. */
  cancel(): void;
}

const DEADLINE_MS = 10_000;
const RECONNECT_MS = 50;
const PACKAGE = "envoy.service.ratelimit.v3";

/** The name in the server's certificate. */
export const TLS_SERVER_NAME = "ratelimit.test";

/** The TLS options of a client. */
export interface CallerTls {
  /** The authority that signed the server's certificate, as PEM. */
  readonly caPem: string;
  /**
   * The client's own certificate.
   *
   * @default none
   */
  readonly own?: TestCertificate | undefined;
}

/**
 * Creates a client, which connects at its first call; without TLS unless `tls`
 * is given.
 */
export async function grpcCaller(
  target: string,
  tls?: CallerTls,
): Promise<GrpcCaller> {
  return new GrpcCaller(target, await loadSchema(), tls);
}

/** A client with one connection to the service. */
export class GrpcCaller {
  readonly #client: Client;
  readonly #types: (fullName: string) => IndependentType;
  #wasUnavailable = false;

  /** Creates a client that uses the given message types. */
  constructor(
    target: string,
    types: (fullName: string) => IndependentType,
    tls?: CallerTls,
  ) {
    this.#types = types;
    this.#client = new Client(target, createCredentials(tls), {
      "grpc.enable_http_proxy": 0,
      // The library does not send an IP address as the server name, so the name
      // is set here.
      ...(tls && { "grpc.ssl_target_name_override": TLS_SERVER_NAME }),
      "grpc.service_config_disable_resolution": 1,
      "grpc.use_local_subchannel_pool": 1,
      "grpc.initial_reconnect_backoff_ms": RECONNECT_MS,
      "grpc.max_reconnect_backoff_ms": RECONNECT_MS,
    });
  }

  /**
   * Requests a decision; the request is in the plain object form of protobufjs.
   */
  async decide(
    request: object,
    deadlineMs?: number,
  ): Promise<CallOutcome> {
    return await this.decideBytes(this.encodeRequest(request), deadlineMs);
  }

  /** Encodes a request in the plain object form of protobufjs. */
  encodeRequest(request: object): Uint8Array {
    return this.#types(`${PACKAGE}.RateLimitRequest`).encode({ ...request });
  }

  /** Requests a decision with bytes that need not be a valid request. */
  async decideBytes(
    request: Uint8Array,
    deadlineMs?: number,
  ): Promise<CallOutcome> {
    const answer = await this.unary(DECIDE_PATH, request, { deadlineMs });
    const { status, details } = answer;
    if (answer.bytes === undefined) {
      return { status, details, overallCode: 0, statuses: [] };
    }
    const message = this.#types(`${PACKAGE}.RateLimitResponse`)
      .decode(answer.bytes) as unknown as CallOutcome;
    return { ...message, status, details };
  }

  /**
   * Returns the health status of a service; `undefined` when the service is not
   * known.
   */
  async checkHealth(service: string): Promise<number | undefined> {
    const request = this.#types("grpc.health.v1.HealthCheckRequest")
      .encode({ service });
    const { status, bytes } = await this.unary(
      "/grpc.health.v1.Health/Check",
      request,
    );
    if (status === STATUS.NOT_FOUND) return undefined;
    return decodeStatus(this.#healthResponse(), bytes);
  }

  /** Returns the health of all services by name. */
  async listHealth(): Promise<Readonly<Record<string, unknown>>> {
    const { bytes } = await this.unary(
      "/grpc.health.v1.Health/List",
      new Uint8Array(),
    );
    if (bytes === undefined) throw new Error("Cannot list health");
    const { statuses } = this.#types("grpc.health.v1.HealthListResponse")
      .decode(bytes);
    return statuses as Record<string, unknown>;
  }

  /** Watches the health of one service. */
  watchHealth(service: string): HealthWatch {
    const type = this.#healthResponse();
    const request = this.#types("grpc.health.v1.HealthCheckRequest")
      .encode({ service });
    const call = this.#client.makeServerStreamRequest(
      "/grpc.health.v1.Health/Watch",
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes: Buffer) => new Uint8Array(bytes),
      request,
    );
    const seen: number[] = [];
    call.on(
      "data",
      (bytes: Uint8Array) => seen.push(decodeStatus(type, bytes)),
    );
    // The stream ends with an error when the service stops.
    call.on("error", () => {});
    return {
      seen,
      waitFor: (status) =>
        waitUntil(() => seen.at(-1) === status, {
          what: `health status ${status}`,
        }),
      cancel: () => call.cancel(),
    };
  }

  /**
   * Sends requests on one stream, each once the one before it is answered.
   *
   * @returns The responses, and the status with which the stream ended.
   */
  async chat(
    path: string,
    requests: readonly Uint8Array[],
  ): Promise<
    { readonly answers: readonly Uint8Array[]; readonly status: number }
  > {
    const call = this.#client.makeBidiStreamRequest(
      path,
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes: Buffer) => new Uint8Array(bytes),
      new Metadata(),
      { deadline: Date.now() + DEADLINE_MS },
    );
    const answers: Uint8Array[] = [];
    const ended = Promise.withResolvers<number>();
    const next = (): void => {
      const request = requests[answers.length];
      if (request === undefined) call.end();
      else call.write(request);
    };
    call.on("data", (bytes: Uint8Array) => {
      answers.push(bytes);
      next();
    });
    call.on("error", () => {});
    call.on("status", ({ code }) => ended.resolve(code));
    next();
    return { status: await ended.promise, answers };
  }

  /** Calls any method with any bytes, and with `metadata`, none unless given. */
  unary(
    path: string,
    request: Uint8Array,
    { deadlineMs = DEADLINE_MS, metadata = {} }: {
      readonly deadlineMs?: number | undefined;
      readonly metadata?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<
    {
      readonly status: number;
      readonly details: string;
      readonly bytes?: Uint8Array;
    }
  > {
    const sent = new Metadata();
    for (const [name, value] of Object.entries(metadata)) sent.set(name, value);
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(
        path,
        (bytes: Uint8Array) => Buffer.from(bytes),
        (bytes: Buffer) => new Uint8Array(bytes),
        request,
        sent,
        { deadline: Date.now() + deadlineMs },
        (error: ServiceError | null, bytes?: Uint8Array) => {
          const { code: status, details } = error ?? { code: 0, details: "" };
          this.#wasUnavailable ||= status === STATUS.UNAVAILABLE;
          resolve({
            status,
            details,
            ...(bytes === undefined ? {} : { bytes }),
          });
        },
      );
    });
  }

  /** Closes the connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.close();
    if (!this.#wasUnavailable) return;
    // The library leaves the timers of its next reconnection attempts running;
    // this waits until they are over.
    await new Promise((resolve) => setTimeout(resolve, 8 * RECONNECT_MS));
  }

  #healthResponse(): IndependentType {
    return this.#types("grpc.health.v1.HealthCheckResponse");
  }
}

function createCredentials(tls: CallerTls | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const { caPem, own } = tls;
  return credentials.createSsl(
    Buffer.from(caPem),
    own === undefined ? null : Buffer.from(own.keyPem),
    own === undefined ? null : Buffer.from(own.certPem),
  );
}

function decodeStatus(
  type: IndependentType,
  bytes: Uint8Array | undefined,
): number {
  if (bytes === undefined) throw new Error("Cannot read health: no answer");
  return Number(type.decode(bytes).status);
}
