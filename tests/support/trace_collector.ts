/**
 * An OpenTelemetry collector on this machine, over HTTP or gRPC, which stores
 * the spans it receives and answers as the test says.
 *
 * @module
 */

import { H2GrpcServer } from "../../services/shared/grpc/h2_server.ts";
import { RecordingLogger } from "./recording_logger.ts";
import {
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
} from "npm:@grpc/grpc-js@^1.14.0";
import { Buffer } from "node:buffer";
import protobuf from "npm:protobufjs@^7.5.0";
import { waitUntil } from "./wait_until.ts";

/** A span that the collector received. */
export interface CollectedSpan {
  /** The name of the span. */
  readonly name: string;
  /** The kind: 1 internal, 2 server, 3 client. */
  readonly kind: number;
  /** The id of the trace, in hex. */
  readonly traceId: string;
  /** The id of the span, in hex. */
  readonly spanId: string;
  /** The id of the parent span, in hex; empty without a parent. */
  readonly parentSpanId: string;
  /** The vendor-specific trace state. */
  readonly traceState: string;
  /** The attributes of the span. */
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** The attributes of the service (resource). */
  readonly resource: Readonly<Record<string, string | number | boolean>>;
  /** The ids of the linked traces, in hex. */
  readonly links: readonly string[];
  /** The status: 0 unset, 2 error. */
  readonly status: number;
  /** The duration, in nanoseconds. */
  readonly durationNs: bigint;
}

/** The parts of a received request that tests look at. */
interface CollectedRequest {
  /** The header fields. */
  readonly headers: Readonly<Record<string, string>>;
  /** The path; over gRPC the path of the method. */
  readonly path: string;
}

const PROTO = `
syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { repeated Span spans = 2; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value {
  string string_value = 1; bool bool_value = 2; int64 int_value = 3;
  double double_value = 4; } }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3;
  bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; repeated Link links = 13; Status status = 15;
}
message Link { bytes trace_id = 1; bytes span_id = 2; }
message Status { string message = 2; int32 code = 3; }
`;

const REQUEST = protobuf.parse(PROTO).root.lookupType("Request");
const EXPORT_PATH =
  "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/** A function that answers a request to a collector over HTTP. */
export type HttpAnswer = (request: Request) => Response | Promise<Response>;

/** A running collector. */
export class TraceCollector {
  readonly #spans: CollectedSpan[] = [];
  readonly #requests: CollectedRequest[] = [];
  readonly #stop: () => Promise<void>;
  /** The address on which the collector listens, such as `127.0.0.1:4318`. */
  readonly address: string;

  private constructor(
    { address, stop }: { readonly address: string; stop(): Promise<void> },
    kept: {
      readonly spans: CollectedSpan[];
      readonly requests: CollectedRequest[];
    },
  ) {
    this.address = address;
    this.#stop = () => stop();
    this.#spans = kept.spans;
    this.#requests = kept.requests;
  }

  /**
   * Starts a collector over HTTP.
   *
   * @param answer Returns a response that takes the place of the collector's
   * before the request is read; `undefined` lets the collector accept the
   * spans.
   */
  static http(
    answer: (request: Request) => Response | undefined = () => undefined,
    tls: { readonly cert?: string; readonly key?: string } = {},
  ): TraceCollector {
    const spans: CollectedSpan[] = [];
    const requests: CollectedRequest[] = [];
    const server = Deno.serve({
      hostname: "127.0.0.1",
      port: 0,
      onListen() {},
      ...tls as { cert: string; key: string },
    }, async (request) => {
      requests.push({
        headers: Object.fromEntries(request.headers),
        path: new URL(request.url).pathname,
      });
      const other = answer(request);
      if (other !== undefined) {
        await request.body?.cancel();
        return other;
      }
      const { body, headers } = request;
      const plain = headers.get("content-encoding") === "gzip"
        ? body!.pipeThrough(new DecompressionStream("gzip"))
        : body;
      spans.push(...decodeSpans(await new Response(plain).bytes()));
      return new Response(null, { status: 200 });
    });
    const { port } = server.addr;
    return new TraceCollector({
      address: `127.0.0.1:${port}`,
      stop: () => server.shutdown(),
    }, { spans, requests });
  }

  /** Starts a collector over gRPC with grpc-js. */
  static async grpc(
    credentials: ServerCredentials = ServerCredentials.createInsecure(),
  ): Promise<TraceCollector> {
    const spans: CollectedSpan[] = [];
    const requests: CollectedRequest[] = [];
    const server = new Server();
    server.addService({
      export: {
        path: EXPORT_PATH,
        requestStream: false,
        responseStream: false,
        requestSerialize: (bytes: Uint8Array) => Buffer.from(bytes),
        requestDeserialize: (bytes) => bytes,
        responseSerialize: (bytes: Uint8Array) => Buffer.from(bytes),
        responseDeserialize: (bytes) => bytes,
      },
    }, {
      export(
        call: ServerUnaryCall<Uint8Array, Uint8Array>,
        done: sendUnaryData<Uint8Array>,
      ): void {
        const { metadata } = call;
        const entries = Object.entries(metadata.getMap());
        requests.push({
          headers: Object.fromEntries(
            entries.map(([name, value]) => [name, String(value)]),
          ),
          path: call.getPath(),
        });
        spans.push(...decodeSpans(call.request));
        done(null, new Uint8Array());
      },
    });
    const bound = await new Promise<number>((resolve, reject) =>
      server.bindAsync(
        "127.0.0.1:0",
        credentials,
        (error, port) => error === null ? resolve(port) : reject(error),
      )
    );
    return new TraceCollector({
      address: `127.0.0.1:${bound}`,
      stop() {
        server.forceShutdown();
        return Promise.resolve();
      },
    }, { spans, requests });
  }

  /**
   * Starts a collector over gRPC with the project's own server. The server of
   * grpc-js sometimes aborts the whole process with an assertion of the runtime
   * when it ends while calls still arrive.
   */
  static async ownGrpc(port: number): Promise<TraceCollector> {
    const spans: CollectedSpan[] = [];
    const requests: CollectedRequest[] = [];
    const server = new H2GrpcServer({
      address: { kind: "tcp", host: "127.0.0.1", port },
      logger: new RecordingLogger(),
      methods: {
        [EXPORT_PATH]: {
          kind: "unary",
          handle(request) {
            requests.push({ headers: {}, path: EXPORT_PATH });
            spans.push(...decodeSpans(request));
            return Promise.resolve(new Uint8Array());
          },
        },
      },
    });
    await server.start();
    return new TraceCollector({
      address: `127.0.0.1:${port}`,
      stop: () => server.stop(0),
    }, { spans, requests });
  }

  /** The spans received so far. */
  get spans(): readonly CollectedSpan[] {
    return this.#spans;
  }

  /** The requests received so far. */
  get requests(): readonly CollectedRequest[] {
    return this.#requests;
  }

  /**
   * Waits until `count` spans that `matches` accepts have been received, and
   * returns them.
   */
  async waitFor(
    count: number,
    matches: (span: CollectedSpan) => boolean = () => true,
  ): Promise<readonly CollectedSpan[]> {
    const found = (): readonly CollectedSpan[] => this.#spans.filter(matches);
    await waitUntil(() => found().length >= count, {
      what: `${count} spans at the collector`,
      timeoutMs: 15_000,
    });
    return found();
  }

  /** Stops listening. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }
}

interface RawValue {
  readonly key: string;
  readonly value?: Readonly<Record<string, string | number | boolean>>;
}

interface RawSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: Uint8Array;
  readonly spanId: Uint8Array;
  readonly parentSpanId: Uint8Array;
  readonly traceState: string;
  readonly attributes: readonly RawValue[];
  readonly links: readonly { readonly traceId: Uint8Array }[];
  readonly status?: { readonly code: number } | null;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}

interface RawRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly RawValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly RawSpan[] }[];
  }[];
}

function decodeSpans(bytes: Uint8Array): readonly CollectedSpan[] {
  const { resourceSpans } = REQUEST.toObject(REQUEST.decode(bytes), {
    longs: String,
    arrays: true,
    defaults: true,
    oneofs: false,
  }) as RawRequest;
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        name: span.name,
        kind: span.kind,
        traceId: span.traceId.toHex(),
        spanId: span.spanId.toHex(),
        parentSpanId: span.parentSpanId.toHex(),
        traceState: span.traceState,
        attributes: readValues(span.attributes),
        resource: readValues(resource.attributes),
        links: span.links.map(({ traceId }) => traceId.toHex()),
        status: span.status?.code ?? 0,
        durationNs: BigInt(span.endTimeUnixNano) -
          BigInt(span.startTimeUnixNano),
      }))
    )
  );
}

function readValues(
  values: readonly RawValue[],
): Readonly<Record<string, string | number | boolean>> {
  return Object.fromEntries(values.map(({ key, value = {} }) => {
    const [kind, content] = Object.entries(value)[0] ?? ["stringValue", ""];
    return [key, kind === "intValue" ? Number(content) : content];
  }));
}
