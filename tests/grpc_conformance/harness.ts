/**
 * What the gRPC conformance cases have in common: a server under test, and
 * clients that talk to it over real sockets.
 *
 * @module
 */

import { Client, credentials, Metadata } from "@grpc/grpc-js";
import type { ServiceError } from "@grpc/grpc-js";
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

/** What every server under test can be told. */
export interface ConformanceServerOptions {
  /** The methods it answers. */
  readonly methods: GrpcMethods;
  /** Where it listens. */
  readonly address: GrpcAddress;
  /** Takes its lines. */
  readonly logger: Logger;
  /** Largest request it takes. */
  readonly maxReceiveBytes?: number;
}

/** Makes the server under test. */
export type MakeServer = (options: ConformanceServerOptions) => GrpcServer;

/** The server under test and its name. */
export interface Suite {
  /** Stands before the title of each case. */
  readonly name: string;
  /** Makes the server. */
  readonly makeServer: MakeServer;
}

/** A server that runs, and a client of it. */
export interface Running {
  /** The server under test. */
  readonly server: GrpcServer;
  /** Where it listens. */
  readonly address: GrpcAddress;
  /** The same as a client takes it. */
  readonly target: string;
  /** A client of unary methods. */
  readonly client: GrpcClient;
  /** Calls that can be cancelled, and streams. */
  readonly calls: CallClient;
  /** What the server has logged. */
  readonly log: RecordingLogger;
}

/** Any free port of the loopback interface. */
export const ANY_PORT: GrpcAddress = {
  kind: "tcp",
  host: "127.0.0.1",
  port: 0,
};

/** Long enough never to be what ends a case. */
export const LONG_MS = 30_000;

/** Runs `body` against a started server and closes everything after it. */
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
  const target = targetOf(address);
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

/** The lines of level "error", oldest first. */
export function errorsOf(log: RecordingLogger): readonly RecordedLine[] {
  return log.lines.filter(({ level }) => level === "error");
}

/** An address as a client takes it. */
export function targetOf(address: GrpcAddress): string {
  if (address.kind === "unix") return `unix:${address.path}`;
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return `${host}:${address.port}`;
}

/** The port of a TCP address. */
export function portOf(address: GrpcAddress): number {
  if (address.kind === "unix") throw new TypeError("a Unix socket has no port");
  return address.port;
}

/** How a call ended. */
export interface CallStatus {
  /** Number of its status. */
  readonly code: number;
  /** Text of its status. */
  readonly details: string;
}

/** A unary call on its way. */
export interface UnaryCall {
  /** How it ended. */
  readonly ended: Promise<CallStatus>;
  /** Ends it from the caller's side. */
  cancel(): void;
}

/** A server stream on its way. */
export interface StreamCall {
  /** The next answer; undefined at the end of the stream. */
  next(): Promise<Uint8Array | undefined>;
  /** How it ended. */
  readonly ended: Promise<CallStatus>;
  /** Ends it from the caller's side. */
  cancel(): void;
}

/** A client whose calls can be cancelled and may be streams. */
export class CallClient {
  readonly #client: Client;

  /** A client that connects at its first call. */
  constructor(target: string) {
    this.#client = new Client(target, credentials.createInsecure(), {
      "grpc.enable_http_proxy": 0,
      "grpc.service_config_disable_resolution": 1,
      "grpc.use_local_subchannel_pool": 1,
    });
  }

  /** Begins a unary call without a deadline. */
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

  /** Begins a server stream without a deadline. */
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
    // The status tells the same; without a listener it would be thrown.
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
