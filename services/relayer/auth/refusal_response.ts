/**
 * How a request that is not let in is answered: with an empty body, and late.
 *
 * @module
 */

import type { Clock, Timer } from "../../shared/clock.ts";
import type { HttpResponse } from "../../shared/http/exchange.ts";
import type { Refusal } from "./refusal.ts";

/** The answer to a request that is not let in. */
export function refusalResponse(refusal: Refusal): HttpResponse {
  const { status, code, retryAfterSeconds } = refusal;
  return {
    status,
    headers: {
      "cache-control": "no-store",
      "x-auth-error": code,
      ...(retryAfterSeconds === undefined
        ? {}
        : { "retry-after": String(retryAfterSeconds) }),
    },
    body: "",
  };
}

/** Options of {@linkcode RefusalDelay}. */
export interface RefusalDelayOptions {
  /** Measures the time. */
  readonly clock: Clock;
  /**
   * Milliseconds that an answer is held back.
   *
   * @default {100}
   */
  readonly delayMs?: number;
  /**
   * Most answers that are held back at a time; the next ones go at once.
   *
   * @default {1000}
   */
  readonly maxHeld?: number;
}

/**
 * Holds refusals back for a moment, so that guessing is slow. There is a bound on
 * how many: a flood is not to fill the memory with answers that wait.
 */
export class RefusalDelay {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #maxHeld: number;
  readonly #held = new Map<() => void, Timer>();

  /** Nothing is held back yet. */
  constructor(options: RefusalDelayOptions) {
    this.#clock = options.clock;
    this.#delayMs = options.delayMs ?? 100;
    this.#maxHeld = options.maxHeld ?? 1_000;
  }

  /** How many answers are held back. */
  get held(): number {
    return this.#held.size;
  }

  /** Resolves when the answer may go. */
  wait(): Promise<void> {
    if (this.#held.size >= this.#maxHeld) return Promise.resolve();
    return new Promise((resolve) => {
      const release = (): void => {
        this.#held.delete(release);
        resolve();
      };
      this.#held.set(
        release,
        this.#clock.setTimer(release, this.#delayMs),
      );
    });
  }

  /** Lets everything go that is held back; a server that stops calls it. */
  releaseAll(): void {
    for (const [release, timer] of [...this.#held]) {
      timer.cancel();
      release();
    }
  }
}
