/**
 * Tracing by the SDK of OpenTelemetry, which sends spans to a collector. A
 * trace is sampled by its id before any object is made, and the current span is
 * kept across asynchronous work. This module and its imports are loaded only
 * where tracing is on.
 *
 * @module
 */

import {
  type Context,
  INVALID_SPAN_CONTEXT,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  trace,
  TraceFlags,
  type Tracer,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { CompressionAlgorithm } from "@opentelemetry/otlp-exporter-base";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  type IdGenerator,
  type SpanExporter,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { AsyncLocalStorage } from "node:async_hooks";
import { randomFillSync } from "node:crypto";
import type { Clock } from "../clock.ts";
import { H2GrpcChannel } from "../grpc/h2_channel.ts";
import type { Logger } from "../logger.ts";
import { OtlpGrpcExporter } from "./otlp_grpc_exporter.ts";
import { apiOptions, TRACER_NAME } from "./runtime_tracing.ts";
import { SpanQueue } from "./span_queue.ts";
import { fieldsOfContext, remoteContext } from "./trace_fields.ts";
import type { SpanOptions, Tracing } from "./tracing.ts";
import type { TracingPlan } from "./tracing_settings.ts";

/** The files of TLS to the collector, read; undefined where none is named. */
export interface OtlpPems {
  /** Certificates that are trusted. */
  readonly ca: string | undefined;
  /** The certificate that is shown. */
  readonly cert: string | undefined;
  /** Its key. */
  readonly key: string | undefined;
}

/** What {@linkcode collectorTracing} needs beside its plan. */
interface CollectorParts {
  /** The files of TLS. */
  readonly pems: OtlpPems;
  /** The time source. */
  readonly clock: Clock;
  /** Logs lost spans. */
  readonly logger: Logger;
}

/** Spans that go to a collector; it is called with the first batch. */
export function collectorTracing(
  plan: TracingPlan,
  parts: CollectorParts,
): { readonly tracing: Tracing; readonly queue: SpanQueue } {
  const { clock, logger } = parts;
  const exporter = plan.protocol === "grpc"
    ? grpcExporter(plan, parts)
    : httpExporter(plan, parts);
  const { delayMs } = plan;
  const queue = new SpanQueue({ exporter, delayMs, clock, logger });
  const ids = new TraceIds({ samplingRate: plan.samplingRate });
  const { resource } = plan;
  return {
    tracing: providerTracing({ resource, ids, processor: queue }),
    queue,
  };
}

function httpExporter(
  { url, headers, timeoutMs, compression }: TracingPlan,
  { pems }: CollectorParts,
): SpanExporter {
  return new OTLPTraceExporter({
    url: url.href,
    headers: { ...headers },
    timeoutMillis: timeoutMs,
    compression: compression === "gzip"
      ? CompressionAlgorithm.GZIP
      : CompressionAlgorithm.NONE,
    concurrencyLimit: 1,
    httpAgentOptions: {
      keepAlive: true,
      ...Object.fromEntries(
        Object.entries(pems).filter(([, pem]) => pem !== undefined),
      ),
    },
  });
}

function grpcExporter(
  { url, headers, timeoutMs }: TracingPlan,
  { pems, clock }: CollectorParts,
): SpanExporter {
  const isTls = url.protocol === "https:";
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  return new OtlpGrpcExporter({
    channel: new H2GrpcChannel({
      target: {
        kind: "tcp",
        host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
        port,
        tls: isTls
          ? { caPem: pems.ca, certPem: pems.cert, keyPem: pems.key }
          : undefined,
      },
      connectTimeoutMs: Math.min(timeoutMs, MAX_CONNECT_MS),
      clock,
    }),
    headers: lowerCased(headers),
    timeoutMs,
    clock,
    random: Math.random,
  });
}

/** The names of fields in HTTP/2 are in lower case (RFC 9113, 8.2.1). */
function lowerCased(
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const entries = Object.entries(headers);
  return Object.fromEntries(
    entries.map(([name, value]) => [name.toLowerCase(), value]),
  );
}

/** Options of {@linkcode providerTracing}. */
interface ProviderTracingOptions {
  /** What all spans say of the service. */
  readonly resource: Readonly<Record<string, string>>;
  /** Draws ids, and with them what is sampled. */
  readonly ids: TraceIds;
  /** Takes the spans that have ended. */
  readonly processor: SpanProcessor;
}

/** The longest time that connecting to a collector may take. */
const MAX_CONNECT_MS = 10_000;

/** Bounds of what a span holds. */
const SPAN_LIMITS = {
  attributeCountLimit: 64,
  attributeValueLengthLimit: 1_024,
  eventCountLimit: 16,
  linkCountLimit: 16,
  attributePerEventCountLimit: 16,
  attributePerLinkCountLimit: 16,
};

/** Tracing by a provider of our own. */
export function providerTracing(options: ProviderTracingOptions): Tracing {
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes(options.resource),
    // Only sampled traces reach the provider: `TraceIds` has decided before.
    sampler: new AlwaysOnSampler(),
    idGenerator: options.ids,
    spanLimits: SPAN_LIMITS,
    spanProcessors: [options.processor],
  });
  return new ProviderTracing(provider.getTracer(TRACER_NAME), options.ids);
}

/** A span that records nothing and whose trace is not passed on. */
const UNSAMPLED_ROOT: Span = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

class ProviderTracing implements Tracing {
  readonly coversFetch = false;
  readonly #tracer: Tracer;
  readonly #ids: TraceIds;
  readonly #current = new AsyncLocalStorage<Span>();

  constructor(tracer: Tracer, ids: TraceIds) {
    this.#tracer = tracer;
    this.#ids = ids;
  }

  begin(name: string, options: SpanOptions = {}): Span {
    const parent = this.#findParent(options.parent ?? "current");
    if (parent === undefined) {
      return this.#ids.draw()
        ? this.#tracer.startSpan(name, apiOptions(options), ROOT_CONTEXT)
        : UNSAMPLED_ROOT;
    }
    if ((parent.traceFlags & TraceFlags.SAMPLED) === 0) {
      // A trace that isn't sampled stays so, and its callers' ids go on.
      return parent === INVALID_SPAN_CONTEXT
        ? UNSAMPLED_ROOT
        : trace.wrapSpanContext(parent);
    }
    return this.#tracer.startSpan(name, apiOptions(options), within(parent));
  }

  within<T>(span: Span, run: () => T): T {
    return this.#current.run(span, run);
  }

  current(): Span | undefined {
    return this.#current.getStore();
  }

  toFields(span: Span | undefined): Readonly<Record<string, string>> {
    return span === undefined ? {} : fieldsOfContext(span.spanContext());
  }

  #findParent(
    parent: NonNullable<SpanOptions["parent"]>,
  ): SpanContext | undefined {
    if (parent === "root") return undefined;
    if (parent === "current") return this.current()?.spanContext();
    return remoteContext(parent);
  }
}

function within(parent: SpanContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}

/** What {@linkcode TraceIds} is made of. */
interface TraceIdsOptions {
  /** Share of the traces that is sampled, from 0 to 1. */
  readonly samplingRate: number;
  /**
   * Fills bytes at random.
   *
   * @default the cryptographic source of the runtime
   */
  readonly fill?: ((bytes: Uint8Array) => void) | undefined;
}

const POOL_BYTES = 4_096;
const TRACE_BYTES = 16;
const SPAN_BYTES = 8;
const WORD_RANGE = 2 ** 32;

/**
 * Draws ids from random bytes that are fetched many at a time, so that a trace
 * that isn't sampled costs only the check of a number and no object.
 */
export class TraceIds implements IdGenerator {
  readonly #samplingRate: number;
  readonly #fill: (bytes: Uint8Array) => void;
  readonly #pool = new Uint8Array(POOL_BYTES);
  readonly #view = new DataView(this.#pool.buffer);
  #at = POOL_BYTES;
  /** The id that was drawn and sampled, for the span that begins next. */
  #drawn: string | undefined;

  /** Nothing is drawn yet. */
  constructor({ samplingRate, fill = randomFillSync }: TraceIdsOptions) {
    this.#samplingRate = samplingRate;
    this.#fill = fill;
  }

  /**
   * Draws the id of a new trace and tells whether it is sampled: by its bytes 8
   * to 11, as Go's SDK decides by ratio, so that services with the same rate
   * agree on a trace, and a higher rate takes in what a lower one does.
   */
  draw(): boolean {
    const start = this.#take(TRACE_BYTES);
    const share = this.#view.getUint32(start + 8) / WORD_RANGE;
    if (!(share < this.#samplingRate)) return false;
    this.#drawn = this.#hex(start, TRACE_BYTES);
    return true;
  }

  /** The id that was drawn last, or another one. */
  generateTraceId(): string {
    const drawn = this.#drawn;
    this.#drawn = undefined;
    return drawn ?? this.#hex(this.#take(TRACE_BYTES), TRACE_BYTES);
  }

  /** The id of a span. */
  generateSpanId(): string {
    return this.#hex(this.#take(SPAN_BYTES), SPAN_BYTES);
  }

  #take(count: number): number {
    if (this.#at + count > POOL_BYTES) {
      this.#fill(this.#pool);
      this.#at = 0;
    }
    const start = this.#at;
    this.#at += count;
    return start;
  }

  /** Zeros alone are not an id (W3C Trace Context, 3.2.2.3). */
  #hex(start: number, count: number): string {
    const hex = this.#pool.subarray(start, start + count).toHex();
    return /[^0]/.test(hex) ? hex : `${hex.slice(0, -1)}1`;
  }
}
