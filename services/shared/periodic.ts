/**
 * Background work: repeated at an interval, one run at a time, or run once and
 * awaited at the end.
 *
 * @module
 */

import { type Clock, steadyClock, type Timer } from "./clock.ts";

/** Options of {@linkcode Periodic}. */
interface PeriodicOptions {
  /** Sets the timers. */
  readonly clock: Clock;
  /**
   * Does the work once. The signal is aborted when the work is to stop; the
   * rest may then be left to the next start of the service.
   */
  readonly run: (signal: AbortSignal) => unknown;
  /** Receives the error of a run that threw or rejected. */
  readonly onError: (error: unknown) => void;
  /**
   * Milliseconds between two runs. A run that takes longer than that is
   * followed by the next one at the next multiple of it.
   *
   * @default it runs only when it is woken
   */
  readonly intervalMs?: number | undefined;
  /**
   * Lengthens each interval by a random share of it, so that servers which were
   * started together do not run together.
   *
   * @default every interval is as long as given
   */
  readonly jitter?: {
    /** The largest share, such as 0.1. */
    readonly share: number;
    /** Returns a number from 0 to before 1. */
    readonly random: () => number;
  } | undefined;
  /**
   * How long to wait after a failed run, in place of the interval; a wake-up
   * during that run is dropped.
   *
   * @default the interval is kept
   */
  readonly retry?: {
    /** Milliseconds after the first failure; doubled with each in a row. */
    readonly firstMs: number;
    /** The longest wait in milliseconds. */
    readonly maxMs: number;
  } | undefined;
}

/**
 * Runs work at an interval, and when it is woken. Two runs never overlap; to be
 * woken during a run means one more run after it, however often.
 */
export class Periodic {
  readonly #options: PeriodicOptions;
  /** Measures durations, so that a time of day that is set changes none. */
  readonly #clock: Clock;
  readonly #stopping = new AbortController();
  #isStarted = false;
  #interval: Timer | undefined;
  #timer: Timer | undefined;
  #timerAtMs = Infinity;
  #isRunning = false;
  #runsAgain = false;
  #ended: Promise<void> = Promise.resolve();
  #failures = 0;

  /**
   * Work that does not run yet.
   *
   * @throws {RangeError} when the interval is not above 0.
   */
  constructor(options: PeriodicOptions) {
    const { intervalMs = 1 } = options;
    if (!(intervalMs > 0)) {
      throw new RangeError(
        `Cannot repeat work: the interval is "${intervalMs}" ms, not above 0`,
      );
    }
    this.#options = options;
    this.#clock = steadyClock(options.clock);
  }

  /** Aborted when the work is to stop, as the signal that each run is given. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Whether a run is under way. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Whether it was started and not stopped. */
  get #isActive(): boolean {
    return this.#isStarted && !this.#stopping.signal.aborted;
  }

  /** Starts; the first run comes one interval from now unless it is woken. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#setInterval();
  }

  /** Runs now, or once more after the run under way. */
  wake(): void {
    if (!this.#isActive) return;
    this.#runsAgain = this.#isRunning;
    if (!this.#isRunning) this.#ended = this.#runAll();
  }

  /**
   * Runs in `delayMs` milliseconds, unless an earlier `wakeIn()` is pending.
   */
  wakeIn(delayMs: number): void {
    if (!this.#isActive) return;
    const atMs = this.#clock.nowMs() + delayMs;
    if (this.#timerAtMs <= atMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    this.#timer = this.#clock.setTimer(() => {
      this.#timer = undefined;
      this.#timerAtMs = Infinity;
      this.wake();
    }, Math.max(0, delayMs));
  }

  /** Runs now, or once more after the run under way, and waits for the end. */
  async runOnce(): Promise<void> {
    this.wake();
    await this.#ended;
  }

  /** Starts no more runs, and waits for the one under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#interval?.cancel();
    this.#timer?.cancel();
    await this.#ended;
  }

  #setInterval(): void {
    const { intervalMs, jitter } = this.#options;
    if (intervalMs === undefined) return;
    const factor = jitter === undefined
      ? 1
      : 1 + jitter.share * jitter.random();
    this.#interval = this.#clock.setTimer(() => {
      this.#setInterval();
      const waitsToRetry = this.#failures > 0 &&
        this.#options.retry !== undefined;
      if (!this.#isRunning && !waitsToRetry) this.wake();
    }, intervalMs * factor);
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    do {
      this.#runsAgain = false;
      await this.#run();
    } while (this.#runsAgain && this.#isActive);
    this.#isRunning = false;
  }

  async #run(): Promise<void> {
    const { run, onError, retry } = this.#options;
    try {
      await run(this.#stopping.signal);
      this.#failures = 0;
    } catch (error) {
      onError(error);
      if (retry === undefined) return;
      const { firstMs, maxMs } = retry;
      this.#runsAgain = false;
      this.wakeIn(Math.min(maxMs, firstMs * 2 ** this.#failures++));
    }
  }
}

/** Runs pieces of work in the background, and waits for them at the end. */
export class BackgroundWork {
  readonly #onError: (error: unknown) => void;
  readonly #running = new Set<Promise<void>>();

  /** No work yet; \`onError\` receives the errors of work that fails. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Starts work. */
  run(work: () => Promise<unknown>): void {
    const running: Promise<void> = work().then(() => {}, this.#onError)
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Waits until all work has ended, also work that is started meanwhile. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}

/** Waits `delayMs` milliseconds, or until `signal` is aborted. */
export async function pause(
  delayMs: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.setTimer(resolve, delayMs);
  const onAbort = (): void => resolve();
  signal.addEventListener("abort", onAbort, { once: true });
  await promise;
  timer.cancel();
  signal.removeEventListener("abort", onAbort);
}
