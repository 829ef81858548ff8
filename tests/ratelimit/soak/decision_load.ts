/**
 * Requests decisions at a steady rate, without waiting for responses, and
 * measures how long they take.
 *
 * @module
 */

import { encodeRateLimitRequest } from "../../../proto/rate_limit_request.ts";
import { decodeRateLimitResponse } from "../../../proto/rate_limit_response.ts";
import type { GrpcTarget } from "../../../services/shared/grpc/client_socket.ts";
import { H2GrpcChannel } from "../../../services/shared/grpc/h2_channel.ts";
import { GrpcFailure } from "../../../services/shared/grpc/method.ts";
import { DECIDE_PATH } from "../grpc_caller.ts";

/** Options of a load. */
interface DecisionLoadOptions {
  /** The address of the service. */
  readonly target: GrpcTarget;
  /** Decisions requested in a second. */
  readonly rate: number;
  /** Number of different values of the first descriptor. */
  readonly values: number;
}

/** The figures of a load. */
export interface LoadFigures {
  /** Number of decisions received. */
  readonly decisions: number;
  /** Decisions received in a second. */
  readonly perSecond: number;
  /** Number of failed calls, by the reason. */
  readonly failures: Readonly<Record<string, number>>;
  /** Median latency of a decision, in milliseconds. */
  readonly p50Ms: number;
  /** 99th percentile of the latency, in milliseconds. */
  readonly p99Ms: number;
  /** The longest latency, in milliseconds. */
  readonly maxMs: number;
}

const CONNECTIONS = 4;
const TICK_MS = 5;
const DEADLINE_MS = 5_000;
/**
 * Number of latency buckets: one for each tenth of a millisecond, up to the
 * deadline.
 */
const BUCKETS = DEADLINE_MS * 10;

/** A load, which can be run once. */
export class DecisionLoad {
  readonly #options: DecisionLoadOptions;
  readonly #took = new Uint32Array(BUCKETS + 1);
  readonly #failures = new Map<string, number>();
  #decisions = 0;
  #asked = 0;

  /** Creates a load; no call is made before `run`. */
  constructor(options: DecisionLoadOptions) {
    this.#options = options;
  }

  /** Number of decisions received so far. */
  get decisions(): number {
    return this.#decisions;
  }

  /** Number of calls that failed so far. */
  get failed(): number {
    return [...this.#failures.values()].reduce((sum, count) => sum + count, 0);
  }

  /**
   * Makes one call on a connection of its own; returns whether a decision was
   * received.
   */
  async decideOnce(): Promise<boolean> {
    const channel = new H2GrpcChannel({ target: this.#options.target });
    const answer = await channel.unary(DECIDE_PATH, this.#request(), {
      deadlineMs: DEADLINE_MS,
    });
    channel.close();
    return !(answer instanceof GrpcFailure);
  }

  /**
   * Makes calls at the rate for `durationMs`, then waits for those that are
   * under way.
   */
  async run(durationMs: number): Promise<LoadFigures> {
    const { target, rate } = this.#options;
    const channels = Array.from(
      { length: CONNECTIONS },
      () => new H2GrpcChannel({ target }),
    );
    const startMs = performance.now();
    const pending = new Set<Promise<void>>();
    await new Promise<void>((done) => {
      const timer = setInterval(() => {
        const passedMs = performance.now() - startMs;
        if (passedMs >= durationMs) {
          clearInterval(timer);
          done();
          return;
        }
        const due = Math.floor(passedMs * rate / 1_000);
        while (this.#asked < due) {
          const channel = channels[this.#asked % CONNECTIONS]!;
          const call: Promise<void> = this.#ask(channel)
            .finally(() => pending.delete(call));
          pending.add(call);
        }
      }, TICK_MS);
    });
    const tookMs = performance.now() - startMs;
    await Promise.all(pending);
    for (const channel of channels) channel.close();
    return {
      decisions: this.#decisions,
      perSecond: this.#decisions / tookMs * 1_000,
      failures: Object.fromEntries(this.#failures),
      p50Ms: this.#quantile(0.5),
      p99Ms: this.#quantile(0.99),
      maxMs: this.#quantile(1),
    };
  }

  async #ask(channel: H2GrpcChannel): Promise<void> {
    const request = this.#request();
    this.#asked++;
    const startMs = performance.now();
    const answer = await channel.unary(DECIDE_PATH, request, {
      deadlineMs: DEADLINE_MS,
    });
    if (answer instanceof GrpcFailure) return this.#failed(answer.message);
    const response = decodeRateLimitResponse(answer);
    if ("kind" in response) return this.#failed(response.reason);
    if (response.statuses.length !== 2) {
      return this.#failed("an answer without two statuses");
    }
    this.#decisions++;
    const tenths = Math.round((performance.now() - startMs) * 10);
    this.#took[Math.min(tenths, BUCKETS)]!++;
  }

  #request(): Uint8Array {
    const value = this.#asked % this.#options.values;
    return encodeRateLimitRequest({
      domain: "soak",
      descriptors: [
        { entries: [{ key: "user", value: `u${value}` }] },
        { entries: [{ key: "tenant", value: `t${value % 20}` }] },
      ],
      hitsAddend: 1,
    });
  }

  #failed(reason: string): void {
    this.#failures.set(reason, (this.#failures.get(reason) ?? 0) + 1);
  }

  #quantile(share: number): number {
    let below = 0;
    for (const [tenths, count] of this.#took.entries()) {
      below += count;
      if (count > 0 && below >= share * this.#decisions) return tenths / 10;
    }
    return 0;
  }
}
