/**
 * A bounded queue of ended spans, which are sent in batches, one at a time.
 * When the collector is down, slow or refuses spans, spans are lost, but no
 * memory is used up and no call waits.
 *
 * @module
 */

import type {
  ReadableSpan,
  SpanExporter,
  SpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import type { Clock, Timer } from "../clock.ts";
import { type Logger, RateLimitedLog } from "../logger.ts";
import { describeError, waitAtMost } from "../settled.ts";

/** Options of {@linkcode SpanQueue}. */
interface SpanQueueOptions {
  /** Sends batches. */
  readonly exporter: SpanExporter;
  /** Sets the timers. */
  readonly clock: Clock;
  /** Logs lost spans, once a minute at most. */
  readonly logger: Logger;
  /**
   * Spans that may wait.
   *
   * @default 2048
   */
  readonly maxSpans?: number | undefined;
  /**
   * Spans of a batch.
   *
   * @default 512
   */
  readonly batchSpans?: number | undefined;
  /**
   * Longest time in milliseconds that a span waits for others.
   *
   * @default 5000
   */
  readonly delayMs?: number | undefined;
}

/** `ExportResultCode.SUCCESS` */
const SUCCESS = 0;
const SAMPLED = 1;
/** How long a stop waits for spans to be sent, at most. */
const MAX_FLUSH_MS = 5_000;
/** How long the exporter may take to close its connection. */
const SHUTDOWN_MS = 1_000;

/** Keeps ended spans until they are sent. */
export class SpanQueue implements SpanProcessor {
  readonly #exporter: SpanExporter;
  readonly #clock: Clock;
  readonly #log: RateLimitedLog;
  readonly #maxSpans: number;
  readonly #batchSpans: number;
  readonly #delayMs: number;
  #waiting: ReadableSpan[] = [];
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;
  #isStopped = false;
  #droppedSpans = 0;
  #lostSpans = 0;

  /** Nothing waits. */
  constructor(options: SpanQueueOptions) {
    this.#exporter = options.exporter;
    this.#clock = options.clock;
    this.#log = new RateLimitedLog(options.logger, options.clock);
    this.#maxSpans = options.maxSpans ?? 2_048;
    this.#batchSpans = options.batchSpans ?? 512;
    this.#delayMs = options.delayMs ?? 5_000;
  }

  /** Number of spans dropped, since the queue was full or stopped. */
  get droppedSpans(): number {
    return this.#droppedSpans;
  }

  /** Number of spans that were sent in vain: their batches failed. */
  get lostSpans(): number {
    return this.#lostSpans;
  }

  /** Nothing happens at the start of a span. */
  onStart(): void {}

  /** Takes a span that has ended; drops it where there is no room. */
  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & SAMPLED) === 0) return;
    if (this.#isStopped || this.#waiting.length >= this.#maxSpans) {
      this.#droppedSpans++;
      this.#complain("there is no room for more; the collector is too slow");
      return;
    }
    this.#waiting.push(span);
    if (this.#sending !== undefined) return;
    if (this.#waiting.length >= this.#batchSpans) this.#send();
    else this.#timer ??= this.#setTimer();
  }

  /** Sends all that waits now; for the SDK. */
  async forceFlush(): Promise<void> {
    while (this.#waiting.length > 0 || this.#sending !== undefined) {
      if (this.#sending === undefined) this.#send();
      await this.#sending;
    }
  }

  /** Takes no more spans; for the SDK, see {@linkcode stop}. */
  async shutdown(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#exporter.shutdown();
  }

  /**
   * Sends what waits, for `graceMs` milliseconds at most and never longer than
   * five seconds, and takes no more.
   */
  async stop(graceMs: number): Promise<void> {
    await waitAtMost(this.forceFlush(), {
      clock: this.#clock,
      timeoutMs: Math.min(graceMs, MAX_FLUSH_MS),
    });
    const left = this.#waiting.length;
    this.#waiting = [];
    await waitAtMost(this.shutdown(), {
      clock: this.#clock,
      timeoutMs: SHUTDOWN_MS,
    });
    if (left === 0) return;
    this.#droppedSpans += left;
    this.#complain("the time to stop is over");
  }

  #setTimer(): Timer {
    return this.#clock.setTimer(() => {
      this.#timer = undefined;
      if (this.#sending === undefined) this.#send();
    }, this.#delayMs);
  }

  #send(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const batch = this.#waiting.splice(0, this.#batchSpans);
    if (batch.length === 0) return;
    this.#sending = this.#export(batch).then(() => {
      this.#sending = undefined;
      if (this.#isStopped || this.#waiting.length === 0) return;
      if (this.#waiting.length >= this.#batchSpans) this.#send();
      else this.#timer ??= this.#setTimer();
    });
  }

  /** Never rejects. */
  async #export(batch: ReadableSpan[]): Promise<void> {
    const error = await new Promise<unknown>((resolve) => {
      try {
        this.#exporter.export(batch, (result) => {
          resolve(
            result.code === SUCCESS
              ? undefined
              : result.error ?? new Error("it was refused"),
          );
        });
      } catch (thrown) {
        resolve(thrown ?? new Error("it failed"));
      }
    });
    if (error === undefined) return;
    this.#lostSpans += batch.length;
    this.#complain(describeError(error));
  }

  #complain(why: string): void {
    this.#log.warn("Cannot send spans to the collector", {
      why,
      dropped: this.#droppedSpans,
      lost: this.#lostSpans,
    });
  }
}
