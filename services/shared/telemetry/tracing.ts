/**
 * The interface of tracing for the services: begins spans of OpenTelemetry's
 * API and passes traces on across calls. This module is types and a few lines;
 * the code that records spans is loaded only where tracing is on, and where it
 * is off there is no `Tracing` at all.
 *
 * @module
 */

import type { Attributes, Span, SpanContext } from "@opentelemetry/api";

/** Reads a field of a request by its lower-case name. */
export type ReadField = (name: string) => string | undefined;

/** The fields that {@linkcode Tracing.begin} looks for in a request. */
export const TRACE_FIELDS = [
  "traceparent",
  "tracestate",
  "b3",
  "x-b3-traceid",
  "x-b3-spanid",
  "x-b3-sampled",
  "x-b3-flags",
] as const;

/** The kind of work a span covers (OpenTelemetry, span kind). */
export type SpanRole = "internal" | "server" | "client";

/** How a span begins. */
export interface SpanOptions {
  /**
   * The kind of work it covers.
   *
   * @default "internal"
   */
  readonly role?: SpanRole | undefined;
  /**
   * The trace it belongs to: that which the fields of a request name, or a new
   * one when they name none; with "root" a new one; with "current" that of the
   * current span.
   *
   * @default "current"
   */
  readonly parent?: ReadField | "root" | "current" | undefined;
  /**
   * Attributes of the span; never secrets or personal data.
   *
   * @default nothing
   */
  readonly attributes?: Attributes | undefined;
  /**
   * The work that led to it, in other traces.
   *
   * @default none
   */
  readonly causes?: readonly SpanContext[] | undefined;
}

/** Begins spans. There is none where tracing is off. */
export interface Tracing {
  /**
   * Whether the runtime itself makes spans of `fetch` and passes the trace on
   * in them.
   */
  readonly coversFetch: boolean;
  /**
   * Begins a span. One that isn't sampled costs next to nothing: it records
   * nothing, which `isRecording()` tells, but passes the trace on.
   */
  begin(name: string, options?: SpanOptions): Span;
  /** Runs with a span as the current one, asynchronous work included. */
  within<T>(span: Span, run: () => T): T;
  /** The current span; undefined outside of all. */
  current(): Span | undefined;
  /**
   * The fields that pass the trace of a span on (W3C Trace Context); none where
   * it has no trace.
   */
  toFields(span: Span | undefined): Readonly<Record<string, string>>;
}

/** The status of a span whose work failed (`SpanStatusCode.ERROR`). */
const ERROR_STATUS = 2;

/** Marks a span as failed; `why` holds nothing secret. */
export function markFailed(span: Span, why: string): void {
  span.setStatus({ code: ERROR_STATUS, message: why });
}

/** How {@linkcode traced} makes its span. */
interface TracedOptions extends SpanOptions {
  /** Name of the span. */
  readonly name: string;
}

/**
 * Does asynchronous work within a span, which ends with it; an error marks the
 * span by its name alone. Without tracing the work is done and nothing else.
 */
export async function traced<T>(
  tracing: Tracing | undefined,
  { name, ...options }: TracedOptions,
  run: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  if (tracing === undefined) return await run(undefined);
  const span = tracing.begin(name, options);
  try {
    return await tracing.within(span, () => run(span));
  } catch (error) {
    markFailed(span, error instanceof Error ? error.name : "error");
    throw error;
  } finally {
    span.end();
  }
}
