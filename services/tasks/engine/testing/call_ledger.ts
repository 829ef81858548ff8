/**
 * Checks in a simulation when the runs begin that many requests with one key
 * ask for.
 *
 * @module
 */

import type { KeyRequest } from "../../domain/key_policy.ts";
import { type CallWindow, isFinal, type Task } from "../../domain/task.ts";

/** The window of spaced requests, in milliseconds. */
const WINDOW_MS = 7_000;
/** The longest that a debounced run waits, in milliseconds. */
const MAX_WAIT_MS = 9_000;

/** What requests with a key ask for, by the key. */
export const KEYED_REQUESTS: Readonly<Record<string, KeyRequest>> = {
  again: { onConflict: "run_after" },
  debounced: {
    onConflict: "return",
    pacing: { kind: "debounce", windowMs: WINDOW_MS, maxWaitMs: MAX_WAIT_MS },
  },
  throttled: {
    onConflict: "return",
    pacing: { kind: "throttle", windowMs: WINDOW_MS },
  },
};

/** Checks the runs of keys. */
export class CallLedger {
  readonly #broken: (what: string) => void;
  /** The last run of each throttled key, and when its window closes. */
  readonly #last = new Map<
    string,
    { readonly run: string; readonly closesAtMs: number }
  >();

  /** Takes the function that records broken promises. */
  constructor(broken: (what: string) => void) {
    this.#broken = broken;
  }

  /** Checks a task that was written. */
  check(previous: Task | undefined, next: Task): void {
    const { id, again, calls, status } = next;
    // Once a run has begun, retries move its date.
    const isToBegin = next.firstTriedAtMs === undefined && !isFinal(status);
    if (isToBegin) this.#checkWindow(id, next);
    if (again !== undefined) this.#checkWindow(id, again);
    const begins = status === "running" && previous?.status !== "running" &&
      previous?.firstTriedAtMs === undefined;
    if (begins && calls?.kind === "throttle") this.#checkSpacing(next, calls);
    if (previous?.again === undefined || again !== undefined) return;
    const { dateMs } = previous.again;
    if (isFinal(status) && status !== "canceled") {
      this.#broken(`${id} was to run once more and is ${status}`);
    } else if (!isFinal(status)) {
      // A run that was given back stands for the one that was asked for.
      if (next.settled?.outcome === "released") return;
      const isNext = next.run === previous.run + 1 && next.dateMs === dateMs;
      if (!isNext) this.#broken(`${id} forgot the requested run`);
    }
  }

  #checkWindow(
    id: string,
    { dateMs, calls }: {
      readonly dateMs: number;
      readonly calls?: CallWindow | undefined;
    },
  ): void {
    if (calls?.kind !== "debounce") return;
    if (dateMs <= calls.sinceMs + MAX_WAIT_MS) return;
    this.#broken(`${id} waits too long after the first request`);
  }

  /** A retry moves the date of a run, but not the window that it opened. */
  #checkSpacing(
    { id, workerId, key, run, dateMs }: Task,
    { untilMs }: Extract<CallWindow, { kind: "throttle" }>,
  ): void {
    const name = `${workerId} ${key}`;
    if (untilMs - dateMs !== WINDOW_MS) {
      this.#broken(`${id} opens a window of ${untilMs - dateMs} ms`);
    }
    const runName = `${id} ${run}`;
    const last = this.#last.get(name);
    // A run that was given back begins a second time.
    if (
      last !== undefined && last.run !== runName && dateMs < last.closesAtMs
    ) {
      this.#broken(`${id} runs within the window of the run before`);
    }
    this.#last.set(name, { run: runName, closesAtMs: untilMs });
  }
}
