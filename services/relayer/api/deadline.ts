/**
 * Time that work for a request may take: a clock to measure it by, and signals that
 * abort when the client goes away or a deadline passes.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { HttpRequest } from "../../shared/http/exchange.ts";

/** A reading to be compared with others of the same clock, in milliseconds. */
export function nowOf(clock: Clock): number {
  return clock.monotonicMs?.() ?? clock.nowMs();
}

/** A signal that somebody has to end. */
export interface HeldSignal {
  /** Aborts when its time has come. */
  readonly signal: AbortSignal;
  /** Lets go of what it listens to. */
  release(): void;
}

/** A signal that aborts when the client goes away. */
export function goneSignal(request: HttpRequest): HeldSignal {
  const controller = new AbortController();
  const release = request.onGone(() => controller.abort());
  return { signal: controller.signal, release };
}

/** A signal that aborts with another one, or when a time is over. */
export function deadlineSignal(
  outer: AbortSignal,
  { clock, timeoutMs }: {
    readonly clock: Clock;
    readonly timeoutMs: number;
  },
): HeldSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  if (outer.aborted) abort();
  outer.addEventListener("abort", abort, { once: true });
  const timer = clock.setTimer(abort, timeoutMs);
  return {
    signal: controller.signal,
    release() {
      timer.cancel();
      outer.removeEventListener("abort", abort);
    },
  };
}
