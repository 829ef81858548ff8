/**
 * Extends the leases of a worker, and ends the work on those that could not be
 * extended.
 *
 * @module
 */

import {
  type ClientClock,
  pause,
  runWithin,
  steadyMs,
} from "../memory/client_clock.ts";
import type { LeaseBatch, LeaseResults, Leases } from "./api_types.ts";
import { isBodyRefused } from "./lease_reports.ts";
import { LoopWatch } from "./loop_watch.ts";
import { WorkEnded } from "./task_handler.ts";
import { TasksError } from "./tasks_error.ts";

/** A lease as the service gives it. */
export type Lease = Leases["leases"][number];

/** A lease that the worker holds, with the work on its task. */
export interface HeldLease {
  /** What the service granted. */
  readonly lease: Lease;
  /** Ends the work. */
  readonly controller: AbortController;
  /**
   * When the lease ends unless it is extended, by the clock that only goes
   * forward.
   */
  endsAtMs: number;
  /** Progress that was not reported yet; undefined for none. */
  progress: { readonly value: unknown } | undefined;
}

/** How leases are extended. */
interface LeaseHeartbeatsOptions {
  /** Sends reports on leases. */
  readonly send: (
    batch: LeaseBatch,
    signal: AbortSignal,
  ) => Promise<LeaseResults>;
  /** The leases that the worker holds. */
  readonly held: () => Iterable<HeldLease>;
  /** Milliseconds that a lease lasts. */
  readonly leaseMs: number;
  /** Tells the time and sets timers. */
  readonly clock: ClientClock;
  /** Called with what failed. */
  readonly onError: (error: Error) => void;
}

/** Most bytes of progress in a heartbeat; the service has the same limit. */
const MAX_PROGRESS_BYTES = 4_096;
/** Most jobs that a text names. */
const MAX_NAMED = 3;

/**
 * Sends heartbeats for all leases of a worker, three in the time that a lease
 * lasts, and watches the event loop meanwhile: while it is blocked, no
 * heartbeat is sent.
 */
export class LeaseHeartbeats {
  readonly #options: LeaseHeartbeatsOptions;
  readonly #beating = new AbortController();
  readonly #watch: LoopWatch;
  /** Whole milliseconds from one heartbeat to the next. */
  readonly #beatMs: number;

  /** Sends nothing before it runs. */
  constructor(options: LeaseHeartbeatsOptions) {
    this.#options = options;
    this.#beatMs = Math.floor(options.leaseMs / 3);
    this.#watch = new LoopWatch({
      clock: options.clock,
      onLook: (blockedMs) => this.#looked(blockedMs),
    });
  }

  /**
   * Sends heartbeats until it is stopped. A heartbeat without answer is given
   * up when the next one is due, so that one lost answer does not end the
   * leases.
   */
  async run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#beating;
    let dueMs = steadyMs(clock) + this.#beatMs;
    while (!signal.aborted) {
      const restMs = Math.min(dueMs - steadyMs(clock), this.#beatMs);
      await pause(Math.max(0, restMs), { clock, signal }).catch(() => {});
      dueMs = steadyMs(clock) + this.#beatMs;
      if (!signal.aborted) await this.#beat();
    }
  }

  /** Stops, without waiting for a heartbeat that has no answer yet. */
  stop(): void {
    this.#beating.abort();
    this.#watch.stop();
  }

  /**
   * Ends the work on leases that have ended. The watch calls it regularly; it is
   * called as well when a handler has returned, which may have blocked the
   * event loop until then.
   */
  look(): void {
    if (!this.#beating.signal.aborted) this.#watch.look();
  }

  #looked(blockedMs: number): boolean {
    const held = [...this.#options.held()];
    if (held.length > 0 && blockedMs >= this.#beatMs) {
      this.#options.onError(blockedError(held, blockedMs));
    }
    const nowMs = steadyMs(this.#options.clock);
    for (const one of held) {
      if (nowMs >= one.endsAtMs) end(one, "lost");
    }
    return held.length > 0;
  }

  async #beat(): Promise<void> {
    const { clock, held, leaseMs, onError } = this.#options;
    this.look();
    const beating = [...held()];
    if (beating.length === 0) return;
    const sinceMs = steadyMs(clock);
    const told = beating.map((one) => this.#takeProgress(one));
    try {
      const { results } = await this.#send(beating, told);
      for (const [index, one] of beating.entries()) {
        const result = results[index];
        if (result?.lease?.canceled === true) end(one, "canceled");
        else if (result?.status === 200) one.endsAtMs = sinceMs + leaseMs;
        else if (result?.problem?.code === "lease_gone") end(one, "lost");
      }
    } catch (error) {
      if (this.#beating.signal.aborted) return;
      // When all work has ended meanwhile, the failure has no effect.
      if ([...held()].length > 0) {
        onError(error instanceof Error ? error : new Error(String(error)));
      }
      // The next heartbeat reports the progress again, unless the handler has
      // reported newer progress.
      for (const [index, one] of beating.entries()) {
        one.progress ??= told[index];
      }
    }
  }

  /**
   * Sends heartbeats with progress, and again without it when the service does
   * not take them: without an answer the leases would end.
   */
  async #send(
    beating: readonly HeldLease[],
    told: readonly HeldLease["progress"][],
  ): Promise<LeaseResults> {
    const { clock, leaseMs, onError, send } = this.#options;
    const say = (isWithProgress: boolean): Promise<LeaseResults> => {
      const leases = beating.map(({ lease: { id, token } }, index) => {
        const progress = isWithProgress ? told[index] : undefined;
        return {
          ...{ id, token, action: "heartbeat" as const },
          extend: { milliseconds: leaseMs },
          ...(progress === undefined ? {} : { progress: progress.value }),
        };
      });
      return runWithin((signal) => send({ leases }, signal), {
        signals: [this.#beating.signal],
        deadline: {
          clock,
          timeoutMs: this.#beatMs,
          error: () =>
            new TasksError(
              `Cannot extend leases: no answer within ${this.#beatMs} ms`,
              { code: "no_answer" },
            ),
        },
      });
    };
    try {
      return await say(true);
    } catch (error) {
      if (!isBodyRefused(error) || told.every((one) => one === undefined)) {
        throw error;
      }
      onError(error);
      return await say(false);
    }
  }

  /**
   * Returns the progress to report in a heartbeat. Progress that the service
   * would refuse is passed to `onError` and left out, so that the heartbeat,
   * which also holds other leases, is accepted.
   */
  #takeProgress(held: HeldLease): HeldLease["progress"] {
    const { progress } = held;
    held.progress = undefined;
    if (progress === undefined) return undefined;
    const { onError } = this.#options;
    try {
      const text = JSON.stringify(progress.value) ?? "";
      const { length } = new TextEncoder().encode(text);
      if (length <= MAX_PROGRESS_BYTES) return progress;
      onError(
        new Error(
          `Cannot report progress: it is ${length} bytes long as JSON, and ` +
            `${MAX_PROGRESS_BYTES} are the most`,
        ),
      );
    } catch (cause) {
      const reason = `it is not JSON: ${String(cause)}`;
      onError(new Error(`Cannot report progress: ${reason}`, { cause }));
    }
    return undefined;
  }
}

/** Ends the work on a lease. */
function end({ controller }: HeldLease, cause: WorkEnded["cause"]): void {
  controller.abort(new WorkEnded(cause));
}

/**
 * The error for an event loop that did not turn for so long that a heartbeat
 * was missed.
 */
function blockedError(held: readonly HeldLease[], blockedMs: number): Error {
  const jobs = [...new Set(held.map(({ lease }) => lease.task.job))];
  const named = jobs.slice(0, MAX_NAMED).map((job) => `"${job}"`).join(", ");
  const more = jobs.length > MAX_NAMED ? " and others" : "";
  return new Error(
    `Cannot extend leases: the event loop was blocked for ` +
      `${Math.round(blockedMs / 1_000)} s during ${named}${more}; give this ` +
      "job a longer leaseMs or a Worker thread",
  );
}
