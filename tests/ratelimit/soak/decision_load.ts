/**
 * Decisions at a steady rate, whatever the answers do, and how long they took.
 *
 * @module
 */

import { encodeRateLimitRequest } from "../../../proto/rate_limit_request.ts";
import { decodeRateLimitResponse } from "../../../proto/rate_limit_response.ts";
import type { GrpcTarget } from "../../../services/shared/grpc/client_socket.ts";
import { H2GrpcChannel } from "../../../services/shared/grpc/h2_channel.ts";
import { GrpcFailure } from "../../../services/shared/grpc/method.ts";
import { DECIDE_PATH } from "../grpc_caller.ts";

/** What a load is made of. */
interface DecisionLoadOptions {
  /** The service. */
  readonly target: GrpcTarget;
  /** Decisions a second. */
  readonly rate: number;
  /** How many values the descriptors have. */
  readonly values: number;
}

/** What a load came to. */
export interface LoadFigures {
  /** How many decisions came. */
  readonly decisions: number;
  /** How many came in a second. */
  readonly perSecond: number;
  /** Calls without one, by what they were told. */
  readonly failures: Readonly<Record<string, number>>;
  /** Half of the calls took no longer. */
  readonly p50Ms: number;
  /** 99 of 100 took no longer. */
  readonly p99Ms: number;
  /** The longest. */
  readonly maxMs: number;
}

const CONNECTIONS = 4;
const TICK_MS = 5;
const DEADLINE_MS = 5_000;
/** Tenths of a millisecond, up to the deadline. */
const BUCKETS = DEADLINE_MS * 10;

/** A load that can be run once. */
export class DecisionLoad {
  readonly #options: DecisionLoadOptions;
  readonly #took = new Uint32Array(BUCKETS + 1);
  readonly #failures = new Map<string, number>();
  #decisions = 0;
  #asked = 0;

  /** Nothing is asked before it runs. */
  constructor(options: DecisionLoadOptions) {
    this.#options = options;
  }

  /** Decisions so far. */
  get decisions(): number {
    return this.#decisions;
  }

  /** Calls that failed so far. */
  get failed(): number {
    return [...this.#failures.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Asks once on a connection of its own; whether a decision came. */
  async decideOnce(): Promise<boolean> {
    const channel = new H2GrpcChannel({ target: this.#options.target });
    const answer = await channel.unary(DECIDE_PATH, this.#request(), {
      deadlineMs: DEADLINE_MS,
    });
    channel.close();
    return !(answer instanceof GrpcFailure);
  }

  /** Asks at the rate for `durationMs`, then waits for what is under way. */
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
