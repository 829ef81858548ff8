/**
 * The circuit breaker of a server: whether calls are sent to it, or answered
 * at once because it can't serve them.
 *
 * @module
 */

import type { Clock, Timer } from "../../shared/clock.ts";
import { redialDelayMs } from "./server_outage.ts";

/** Whether calls are sent to a server. */
export type BreakerState =
  /** They are sent; a doubt does not count before `calmUntilMs`. */
  | { readonly kind: "closed"; readonly calmUntilMs: number }
  /** They are sent, while a probe finds out whether the server serves. */
  | {
    readonly kind: "suspect";
    readonly sinceMs: number;
    /** Probes in a row that failed. */
    readonly failures: number;
    /** What a call was refused with; undefined when it only waits long. */
    readonly refusal: string | undefined;
  }
  /** They are not sent. */
  | {
    readonly kind: "open";
    readonly reason: string;
    readonly failures: number;
    /** True without a connection, over which a probe could be sent. */
    readonly isCut: boolean;
  };

/** What a probe found. */
export type ProbeOutcome =
  | { readonly kind: "served" }
  | { readonly kind: "failed"; readonly reason: string }
  /** There is no connection. */
  | { readonly kind: "cut"; readonly reason: string };

/** What happens to a server. */
export type BreakerEvent =
  | ProbeOutcome
  /** A call was refused, or waits long. */
  | { readonly kind: "doubted"; readonly refusal?: string | undefined }
  /** There is a connection again. */
  | { readonly kind: "joined" }
  /** The server may serve again, as another one does. */
  | { readonly kind: "hoped" };

/**
 * Milliseconds for which probes must fail until calls are no longer sent: what
 * passes sooner is no outage.
 */
const GRACE_MS = 50;
/** Milliseconds without a doubt after a probe that was served. */
const CALM_MS = 250;

const CLOSED: BreakerState = { kind: "closed", calmUntilMs: -Infinity };

/**
 * Returns the state after an event. A doubt alone never opens a breaker, as it
 * may concern one key or one command: the server is out when it fails a probe,
 * or can't be reached.
 */
export function nextBreakerState(
  state: BreakerState,
  event: BreakerEvent,
  nowMs: number,
): BreakerState {
  switch (event.kind) {
    case "doubted": {
      if (state.kind !== "closed" || nowMs < state.calmUntilMs) return state;
      const { refusal } = event;
      return { kind: "suspect", sinceMs: nowMs, failures: 0, refusal };
    }
    case "served": {
      // A late reply over a connection that has ended.
      if (state.kind === "open" && state.isCut) return state;
      if (state.kind === "closed") return state;
      const calmMs = state.kind === "suspect" ? CALM_MS : 0;
      return { kind: "closed", calmUntilMs: nowMs + calmMs };
    }
    case "failed": {
      if (state.kind === "closed") return state;
      const failures = state.failures + 1;
      if (state.kind === "suspect" && nowMs - state.sinceMs < GRACE_MS) {
        return { ...state, failures };
      }
      const isCut = state.kind === "open" && state.isCut;
      return { kind: "open", reason: event.reason, failures, isCut };
    }
    case "cut":
      return { kind: "open", reason: event.reason, failures: 1, isCut: true };
    case "joined":
      return state.kind === "open" && state.isCut
        ? { ...state, failures: 0, isCut: false }
        : state;
    case "hoped":
      return state.kind === "open" && !state.isCut
        ? { ...state, failures: 0 }
        : state;
  }
}

/**
 * Returns the milliseconds until the next probe of a server in this state;
 * undefined when there is none.
 *
 * @param random Gives a number from 0 up to, not including, 1.
 */
export function probeDelayMs(
  state: BreakerState,
  random: () => number,
): number | undefined {
  if (state.kind === "closed") return undefined;
  if (state.kind === "open" && state.isCut) return undefined;
  return state.failures === 0 ? 0 : redialDelayMs(state.failures, random);
}

/** How a {@linkcode Breaker} is made. */
interface BreakerOptions {
  /** Gives the time. */
  readonly clock: Clock;
  /** Returns a number from 0 up to, not including, 1. */
  readonly random: () => number;
  /**
   * Asks the server for what calls ask it for, within a time limit of its own;
   * never rejects. One probe runs at a time.
   */
  readonly probe: () => ProbeOutcome | Promise<ProbeOutcome>;
  /** Called when calls are no longer sent. */
  readonly onOpen: (reason: string) => void;
  /** Called when they are sent again. */
  readonly onClose: () => void;
  /**
   * Called with the refusal of a call by a server that turned out to serve.
   *
   * @default not reported
   */
  readonly onCleared?: (refusal: string) => void;
}

/**
 * Keeps the state of one server and probes it: at once after a doubt, and while
 * the server is out after growing waits of two seconds at most.
 */
export class Breaker {
  readonly #options: BreakerOptions;
  #state: BreakerState = CLOSED;
  #timer: Timer | undefined;
  #isProbing = false;

  /** Makes a breaker that lets calls be sent. */
  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  /** True while calls are not sent. */
  get isOpen(): boolean {
    return this.#state.kind === "open";
  }

  /** True while nothing is held against the server. */
  get isClosed(): boolean {
    return this.#state.kind === "closed";
  }

  /** Why calls are not sent; empty while they are. */
  get reason(): string {
    return this.#state.kind === "open" ? this.#state.reason : "";
  }

  /** Notes that a call was refused, or waits long. */
  doubt(refusal?: string): void {
    this.#take({ kind: "doubted", refusal });
  }

  /** Notes that there is no connection, and none in sight. */
  cut(reason: string): void {
    this.#take({ kind: "cut", reason });
  }

  /** Notes that there is a connection. */
  join(): void {
    this.#take({ kind: "joined" });
  }

  /** Notes that the server may serve again, and probes it at once. */
  hope(): void {
    this.#take({ kind: "hoped" });
  }

  /** Forgets everything; what a probe in progress finds is ignored. */
  stop(): void {
    this.#state = CLOSED;
    this.#timer?.cancel();
  }

  #take(event: BreakerEvent): void {
    const { clock, onOpen, onClose, onCleared } = this.#options;
    const before = this.#state;
    const state = nextBreakerState(before, event, clock.nowMs());
    if (state === before) return;
    this.#state = state;
    if (state.kind === "open" && before.kind !== "open") onOpen(state.reason);
    if (state.kind === "closed" && before.kind === "open") onClose();
    if (state.kind === "closed" && before.kind === "suspect") {
      if (before.refusal !== undefined) onCleared?.(before.refusal);
    }
    this.#schedule();
  }

  /** Plans the next probe by the state, which a callback may have changed. */
  #schedule(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#isProbing) return;
    const { clock, random } = this.#options;
    const delayMs = probeDelayMs(this.#state, random);
    if (delayMs === 0) this.#probe();
    else if (delayMs !== undefined) {
      this.#timer = clock.setTimer(() => this.#probe(), delayMs);
    }
  }

  #probe(): void {
    this.#isProbing = true;
    const end = (outcome: ProbeOutcome): void => {
      this.#isProbing = false;
      this.#take(outcome);
    };
    const outcome = this.#options.probe();
    if (outcome instanceof Promise) void outcome.then(end);
    else end(outcome);
  }
}
