/**
 * Tracing by the runtime: Deno registers its own provider with OpenTelemetry's
 * API when `OTEL_DENO` is set at the start. It samples and sends spans by its
 * own variables, and makes spans of `fetch` by itself.
 *
 * @module
 */

import {
  context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions as ApiSpanOptions,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { fieldsOfContext, remoteContext } from "./trace_fields.ts";
import type { SpanOptions, SpanRole, Tracing } from "./tracing.ts";

/** The name of the instrumentation scope in spans. */
export const TRACER_NAME = "tercet";

/** The kind of a span in OpenTelemetry's own words. */
const KIND_OF_ROLE: Readonly<Record<SpanRole, SpanKind>> = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
};

/** The options of a span in OpenTelemetry's own words. */
export function apiOptions(options: SpanOptions): ApiSpanOptions {
  const { role = "internal", attributes = {}, causes = [] } = options;
  return {
    kind: KIND_OF_ROLE[role],
    attributes,
    links: causes.map((context) => ({ context })),
  };
}

/** Tracing by the provider that the runtime has registered. */
export function runtimeTracing(): Tracing {
  return new RuntimeTracing(trace.getTracer(TRACER_NAME));
}

class RuntimeTracing implements Tracing {
  readonly coversFetch = true;
  readonly #tracer: Tracer;

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  begin(name: string, options: SpanOptions = {}): Span {
    const { parent = "current" } = options;
    if (parent === "current") {
      return this.#tracer.startSpan(name, apiOptions(options));
    }
    const remote = parent === "root" ? undefined : remoteContext(parent);
    // Don't use the active context: it may hold a finished span of a `fetch`.
    const root = remote === undefined
      ? ROOT_CONTEXT
      : trace.setSpanContext(ROOT_CONTEXT, remote);
    return this.#tracer.startSpan(name, apiOptions(options), root);
  }

  within<T>(span: Span, run: () => T): T {
    return context.with(trace.setSpan(ROOT_CONTEXT, span), run);
  }

  current(): Span | undefined {
    return trace.getActiveSpan();
  }

  toFields(span: Span | undefined): Readonly<Record<string, string>> {
    return span === undefined ? {} : fieldsOfContext(span.spanContext());
  }
}
