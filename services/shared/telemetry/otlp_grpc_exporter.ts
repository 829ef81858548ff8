/**
 * Exports spans over gRPC with the project's own client: a collector that
 * restarts or breaks the rules of HTTP/2 costs one batch at most.
 *
 * @module
 */

import type { ExportResult } from "@opentelemetry/core";
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace-base";
import { type Clock, steadyClock, type Timer } from "../clock.ts";
import type { GrpcChannel } from "../grpc/channel.ts";
import {
  GRPC_STATUS,
  type GrpcAnswer,
  GrpcFailure,
  type GrpcStatus,
} from "../grpc/method.ts";

/** Full path of the collector's method. */
export const EXPORT_PATH =
  "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/** Options of {@linkcode OtlpGrpcExporter}. */
interface OtlpGrpcExporterOptions {
  /** Calls the collector. */
  readonly channel: GrpcChannel;
  /** Fields sent with each call. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds for a batch, retries included. */
  readonly timeoutMs: number;
  /** Measures durations. */
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
}

/** Statuses after which a batch is retried (OTLP, "Failures"). */
const RETRYABLE: ReadonlySet<GrpcStatus> = new Set([
  GRPC_STATUS.CANCELLED,
  GRPC_STATUS.DEADLINE_EXCEEDED,
  GRPC_STATUS.ABORTED,
  GRPC_STATUS.OUT_OF_RANGE,
  GRPC_STATUS.UNAVAILABLE,
  GRPC_STATUS.DATA_LOSS,
]);

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 5_000;

/** Sends batches of spans to a collector. */
export class OtlpGrpcExporter implements SpanExporter {
  readonly #options: OtlpGrpcExporterOptions;
  readonly #clock: Clock;
  readonly #stopping = new AbortController();

  /** Connects with the first batch. */
  constructor(options: OtlpGrpcExporterOptions) {
    this.#options = options;
    this.#clock = steadyClock(options.clock);
  }

  /** Sends a batch, with retries within its timeout; never throws. */
  export(
    spans: ReadableSpan[],
    resultCallback: (result: ExportResult) => void,
  ): void {
    this.#send(spans).then(
      (failure) =>
        resultCallback(
          failure === undefined
            ? { code: 0 }
            : { code: 1, error: new Error(failure) },
        ),
      (error) => resultCallback({ code: 1, error }),
    );
  }

  /** Ends the call under way and closes the connection. */
  shutdown(): Promise<void> {
    this.#stopping.abort();
    this.#options.channel.close();
    return Promise.resolve();
  }

  /** Why the batch was not taken; undefined when it was. */
  async #send(spans: ReadableSpan[]): Promise<string | undefined> {
    const message = ProtobufTraceSerializer.serializeRequest(spans);
    if (message === undefined) return "the spans cannot be written";
    const { timeoutMs, random } = this.#options;
    const untilMs = this.#clock.nowMs() + timeoutMs;
    for (let pauseMs = FIRST_PAUSE_MS;; pauseMs *= 1.5) {
      const answer = await this.#call(message, untilMs);
      if (!(answer instanceof GrpcFailure)) return undefined;
      const waitMs = Math.min(pauseMs, MAX_PAUSE_MS) * (0.8 + 0.4 * random());
      const isOver = this.#clock.nowMs() + waitMs >= untilMs;
      const { aborted } = this.#stopping.signal;
      if (isOver || aborted || !RETRYABLE.has(answer.code)) {
        return answer.message;
      }
      await this.#pause(waitMs);
    }
  }

  #call(message: Uint8Array, untilMs: number): Promise<GrpcAnswer> {
    const { channel, headers } = this.#options;
    return channel.unary(EXPORT_PATH, message, {
      metadata: headers,
      deadlineMs: Math.max(1, untilMs - this.#clock.nowMs()),
      signal: this.#stopping.signal,
    });
  }

  async #pause(waitMs: number): Promise<void> {
    const { signal } = this.#stopping;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer: Timer = this.#clock.setTimer(resolve, waitMs);
    const stop = (): void => resolve();
    signal.addEventListener("abort", stop);
    await promise;
    signal.removeEventListener("abort", stop);
    timer.cancel();
  }
}
