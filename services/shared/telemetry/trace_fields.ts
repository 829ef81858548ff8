/**
 * Reads the trace of a request from its header fields: W3C Trace Context, and
 * the two forms of B3 that Zipkin's clients send. Malformed fields are ignored:
 * the request begins a new trace.
 *
 * @module
 */

import type { SpanContext } from "@opentelemetry/api";
import { parseTraceParent, TraceState } from "@opentelemetry/core";
import type { ReadField } from "./tracing.ts";

/** The longest `tracestate` that is passed on (W3C Trace Context, 3.3.1.5). */
const MAX_STATE_LENGTH = 512;
const SAMPLED = 1;

/** The trace of a request with these fields; undefined when they name none. */
export function remoteContext(read: ReadField): SpanContext | undefined {
  return w3cContext(read) ?? b3Context(read);
}

/** The fields that pass a context on; none for one that names no trace. */
export function fieldsOfContext(
  { traceId, spanId, traceFlags, traceState }: SpanContext,
): Readonly<Record<string, string>> {
  if (isZero(traceId) || isZero(spanId)) return {};
  const flags = (traceFlags & 0xff).toString(16).padStart(2, "0");
  const traceparent = `00-${traceId}-${spanId}-${flags}`;
  const tracestate = traceState?.serialize() ?? "";
  return tracestate === "" ? { traceparent } : { traceparent, tracestate };
}

function w3cContext(read: ReadField): SpanContext | undefined {
  const parent = read("traceparent");
  if (parent === undefined) return undefined;
  const context = parseTraceParent(parent);
  if (context === null) return undefined;
  const state = read("tracestate");
  const remote: SpanContext = {
    ...context,
    // Later versions may set more flags; pass on only the known one.
    traceFlags: context.traceFlags & SAMPLED,
    isRemote: true,
  };
  return state === undefined || state.length > MAX_STATE_LENGTH
    ? remote
    : { ...remote, traceState: new TraceState(state) };
}

/** `b3: {trace}-{span}-{sampled}-{parent}`, or a field for each. */
function b3Context(read: ReadField): SpanContext | undefined {
  const single = read("b3");
  if (single !== undefined) {
    const [trace, span, sampled] = single.split("-");
    return createContext(trace, span, sampled);
  }
  const sampled = read("x-b3-flags") === "1" ? "d" : read("x-b3-sampled");
  return createContext(read("x-b3-traceid"), read("x-b3-spanid"), sampled);
}

/**
 * Makes a context; without a sampling field it isn't sampled, as in Go's SDK.
 */
function createContext(
  trace: string | undefined,
  span: string | undefined,
  sampled: string | undefined,
): SpanContext | undefined {
  if (trace === undefined || span === undefined) return undefined;
  if (!/^(?:[\da-f]{16}){1,2}$/i.test(trace) || !/^[\da-f]{16}$/i.test(span)) {
    return undefined;
  }
  if (isZero(trace) || isZero(span)) return undefined;
  const isSampled = sampled === "1" || sampled === "d" ||
    sampled?.toLowerCase() === "true";
  return {
    traceId: trace.toLowerCase().padStart(32, "0"),
    spanId: span.toLowerCase(),
    traceFlags: isSampled ? SAMPLED : 0,
    isRemote: true,
  };
}

function isZero(hex: string): boolean {
  return /^0*$/.test(hex);
}
