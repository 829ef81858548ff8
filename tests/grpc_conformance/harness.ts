/**
 * The harness of the gRPC conformance cases: a server under test, and clients
 * that talk to it over real sockets.
 *
 * @module
 */

import { Client, credentials, Metadata } from "npm:@grpc/grpc-js@^1.14.0";
import type { ServiceError } from "npm:@grpc/grpc-js@^1.14.0";
import { Buffer } from "node:buffer";
import { GrpcClient } from "../support/grpc_js_client.ts";
import type {
  GrpcAddress,
  GrpcMethods,
} from "../../services/shared/grpc/method.ts";
import type { H2GrpcServer } from "../../services/shared/grpc/h2_server.ts";
import type { Logger } from "../../services/shared/logger.ts";
import {
  type RecordedLine,
  RecordingLogger,
} from "../support/recording_logger.ts";
import { within } from "./waiting.ts";

/** A server under test. */
export type GrpcServer = Pick<H2GrpcServer, "start" | "stop">;

/** The options that every server under test accepts. */
export interface ConformanceServerOptions {
  /** The methods that the server answers. */
  readonly methods: GrpcMethods;
  /** The address on which the server listens. */
  readonly address: GrpcAddress;
  /** Receives the log lines of the server. */
  readonly logger: Logger;
  /** The largest request that the server accepts, in bytes. */
  readonly maxReceiveBytes?: number;
}

/** Creates the server under test. */
export type MakeServer = (options: ConformanceServerOptions) => GrpcServer;

/** The server under test and its name in test titles. */
export interface Suite {
  /** The prefix of each case's title. */
  readonly name: string;
  /** Creates the server under test. */
  readonly makeServer: MakeServer;
}

/** A running server, and clients that are connected to it. */
export interface Running {
  /** The server under test. */
  readonly server: GrpcServer;
  /** The address on which the server listens. */
  readonly address: GrpcAddress;
  /** The address in the form that clients take. */
  readonly target: string;
  /** A client of unary methods. */
  readonly client: GrpcClient;
  /** A client for server streams and for calls that can be cancelled. */
  readonly calls: CallClient;
  /** The lines that the server has logged. */
  readonly log: RecordingLogger;
}

/**
 * An address that lets the system choose a free port of the loopback interface.
 */
export const ANY_PORT: GrpcAddress = {
  kind: "tcp",
  host: "127.0.0.1",
  port: 0,
};

/** A timeout that is long enough never to end a case, in milliseconds. */
export const LONG_MS = 30_000;

/** Runs `body` with a started server, and closes everything afterwards. */
export async function withServer(
  suite: Suite,
  options: Partial<ConformanceServerOptions>,
  body: (running: Running) => Promise<void>,
): Promise<void> {
  const log = new RecordingLogger();
  const server = suite.makeServer({
    methods: {},
    address: ANY_PORT,
    logger: log,
    ...options,
  });
  const address = await server.start();
  const target = formatTarget(address);
  const client = new GrpcClient({ target });
  const calls = new CallClient(target);
  try {
    await body({ server, address, target, client, calls, log });
  } finally {
    client.close();
    calls.close();
    await within(server.stop(0), "the server's stop");
  }
}

/** Returns the lines of level "error", oldest first. */
export function listErrors(log: RecordingLogger): readonly RecordedLine[] {
  return log.lines.filter(({ level }) => level === "error");
}

/** Returns an address in the form that clients take. */
export function formatTarget(address: GrpcAddress): string {
  if (address.kind === "unix") return `unix:${address.path}`;
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return `${host}:${address.port}`;
}

/** Returns the port of a TCP address. */
export function getPort(address: GrpcAddress): number {
  if (address.kind === "unix") throw new TypeError("a Unix socket has no port");
  return address.port;
}

/** The status with which a call ended. */
export interface CallStatus {
  /** The number of the gRPC status. */
  readonly code: number;
  /** The message of the gRPC status. */
  readonly details: string;
}

/** A unary call that is under way. */
export interface UnaryCall {
  /** Resolves with the status when the call has ended. */
  readonly ended: Promise<CallStatus>;
  /** Cancels the call from the client's side. */
  cancel(): void;
}

/** A server stream that is under way. */
export interface StreamCall {
  /** Returns the next message; `undefined` at the end of the stream. */
  next(): Promise<Uint8Array | undefined>;
  /** Resolves with the status when the stream has ended. */
  readonly ended: Promise<CallStatus>;
  /** Cancels the stream from the client's side. */
  cancel(): void;
}

/** A client for server streams and for unary calls that can be cancelled. */
export class CallClient {
  readonly #client: Client;

  /** Creates a client, which connects at its first call. */
  constructor(target: string) {
    this.#client = new Client(target, credentials.createInsecure(), {
      "grpc.enable_http_proxy": 0,
      "grpc.service_config_disable_resolution": 1,
      "grpc.use_local_subchannel_pool": 1,
    });
  }

  /** Starts a unary call without a deadline. */
  unary(path: string, request: Uint8Array): UnaryCall {
    const ended = Promise.withResolvers<CallStatus>();
    const call = this.#client.makeUnaryRequest(
      path,
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes: Buffer) => new Uint8Array(bytes),
      request,
      new Metadata(),
      (error: ServiceError | null) => {
        const { code, details } = error ?? { code: 0, details: "" };
        ended.resolve({ code, details });
      },
    );
    return { ended: ended.promise, cancel: () => call.cancel() };
  }

  /** Starts a server stream without a deadline. */
  stream(path: string, request: Uint8Array): StreamCall {
    const call = this.#client.makeServerStreamRequest(
      path,
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes: Buffer) => new Uint8Array(bytes),
      request,
    );
    const ended = Promise.withResolvers<CallStatus>();
    const answers: Uint8Array[] = [];
    let wake: () => void = () => {};
    let open = true;
    call.on("data", (bytes: Uint8Array) => {
      answers.push(bytes);
      wake();
    });
    // The status contains the same information; without a listener the error
    // would be thrown.
    call.on("error", () => {});
    call.on("status", ({ code, details }: CallStatus) => {
      ended.resolve({ code, details });
      open = false;
      wake();
    });
    return {
      async next(): Promise<Uint8Array | undefined> {
        while (open && answers.length === 0) {
          const woken = new Promise<void>((resolve) => wake = resolve);
          await within(woken, "the next answer of a stream");
        }
        return answers.shift();
      },
      ended: ended.promise,
      cancel: () => call.cancel(),
    };
  }

  /** Closes the connection. */
  close(): void {
    this.#client.close();
  }
}
