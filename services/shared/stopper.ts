/**
 * Stops the parts of a service within a time limit: first hooks run, then a
 * delay lets callers leave, then the parts stop.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import type { Logger } from "./logger.ts";
import { describeError, settle, type Settled, waitAtMost } from "./settled.ts";

/** Something that lives as long as the service. */
export interface Part {
  /** Name in logs. */
  readonly name: string;
  /**
   * Starts it. A part that cannot start rejects and leaves nothing open.
   */
  start(): Promise<void>;
  /**
   * Stops it: waits at most `graceMs` milliseconds for work under way, then
   * ends what is left. May be called while the start still runs, and must then
   * end that.
   */
  stop(graceMs: number): Promise<void>;
  /**
   * Milliseconds it has beyond the grace before the stop goes on without it.
   * Stores have more: leaving one half closed costs the next start more than
   * the wait.
   *
   * @default {2000}
   */
  readonly overrunMs?: number;
}

/** How a service ended. */
export interface StopOutcome {
  /**
   * `clean` when everything stopped in time; `forced` when something was left
   * running, because it took too long or a second signal came; `failed` when a
   * part could not start or stop.
   */
  readonly kind: "clean" | "forced" | "failed";
  /** What the process should exit with: 0 when clean, else 1. */
  readonly exitCode: 0 | 1;
  /** Why it stopped, such as `SIGTERM`. */
  readonly reason: string;
  /** Names of the parts that were left running. */
  readonly unfinished: readonly string[];
}

/** Options of {@linkcode Stopper}. */
export interface StopperOptions {
  /** Logs the progress of the stop, and errors. */
  readonly logger: Logger;
  /** Measures the grace. */
  readonly clock: Clock;
  /** Milliseconds all parts together have for stopping. */
  readonly graceMs: number;
  /**
   * Milliseconds between the stopping hooks and the stop of the first part, in
   * which callers can learn that this service is going; not part of the grace.
   *
   * @default {0}
   */
  readonly drainDelayMs?: number;
}

/** Why a service stops. */
interface StopRequest {
  /** Why, for the log. */
  readonly reason: string;
  /** Whether something had failed before. */
  readonly failed: boolean;
}

/**
 * Time a part or hook has beyond its grace before the stop goes on without it;
 * so a part that uses its whole grace does not count as hung.
 */
const OVERRUN_MS = 2_000;

/** {@linkcode Part.overrunMs} of the part that closes a service's store. */
export const STORE_OVERRUN_MS = 5_000;

type Waited = "done" | "failed" | "late" | "forced";

/** Stops the parts of a service, once. */
export class Stopper {
  readonly #options: StopperOptions;
  readonly #hooks: (() => void | Promise<void>)[] = [];
  readonly #forced = Promise.withResolvers<"forced">();
  #isForced = false;

  /** A stopper without hooks. */
  constructor(options: StopperOptions) {
    this.#options = options;
  }

  /** Adds what runs before the parts are stopped. */
  addHook(hook: () => void | Promise<void>): void {
    this.#hooks.push(hook);
  }

  /** Milliseconds that a stop of `parts` takes at most. */
  longestMs(parts: readonly Part[]): number {
    const { graceMs, drainDelayMs = 0 } = this.#options;
    let overrunMs = this.#hooks.length * OVERRUN_MS;
    for (const part of parts) overrunMs += part.overrunMs ?? OVERRUN_MS;
    return graceMs + drainDelayMs + overrunMs;
  }

  /** Stops waiting now and leaves running work alone. */
  force(reason: string): void {
    if (this.#isForced) return;
    this.#isForced = true;
    this.#options.logger.warn("Stop forced", { reason });
    this.#forced.resolve("forced");
  }

  /**
   * Runs the hooks, waits the drain delay and stops `parts` in their order.
   * Never rejects.
   */
  async stop(
    parts: readonly Part[],
    request: StopRequest,
  ): Promise<StopOutcome> {
    const { logger, clock, graceMs, drainDelayMs = 0 } = this.#options;
    logger.info("Service stopping", { reason: request.reason });
    let deadlineMs = clock.nowMs() + graceMs;
    let hadFault = await this.#runHooks(deadlineMs);
    deadlineMs += await this.#drain(parts.length === 0 ? 0 : drainDelayMs);
    const unfinished: string[] = [];
    for (const part of parts) {
      const waited = await this.#stopPart(part, deadlineMs);
      if (waited === "failed") hadFault = true;
      if (waited === "late" || waited === "forced") unfinished.push(part.name);
    }
    const failed = request.failed || hadFault;
    const kind = this.#isForced || unfinished.length > 0
      ? "forced"
      : failed
      ? "failed"
      : "clean";
    const exitCode = kind === "clean" ? 0 : 1;
    logger.info("Service stopped", {
      reason: request.reason,
      outcome: kind,
      unfinished: unfinished.length > 0 ? unfinished.join(",") : undefined,
    });
    return { kind, exitCode, reason: request.reason, unfinished };
  }

  async #runHooks(deadlineMs: number): Promise<boolean> {
    let hadFault = false;
    for (const hook of this.#hooks) {
      const waited = await this.#wait("stopping hook", hook, { deadlineMs });
      hadFault ||= waited !== "done";
    }
    return hadFault;
  }

  /** Waits the drain delay; returns the milliseconds that passed. */
  async #drain(delayMs: number): Promise<number> {
    if (delayMs <= 0 || this.#isForced) return 0;
    const { clock } = this.#options;
    const startMs = clock.nowMs();
    await waitAtMost(this.#forced.promise, { clock, timeoutMs: delayMs });
    return clock.nowMs() - startMs;
  }

  async #stopPart(part: Part, deadlineMs: number): Promise<Waited> {
    if (this.#isForced) return "forced";
    const { clock, logger } = this.#options;
    const leftMs = Math.max(0, deadlineMs - clock.nowMs());
    const waited = await this.#wait(part.name, () => part.stop(leftMs), {
      deadlineMs,
      overrunMs: part.overrunMs,
    });
    if (waited === "done") logger.debug("Part stopped", { part: part.name });
    return waited;
  }

  async #wait(
    name: string,
    action: () => void | Promise<void>,
    { deadlineMs, overrunMs = OVERRUN_MS }: {
      readonly deadlineMs: number;
      readonly overrunMs?: number | undefined;
    },
  ): Promise<Waited> {
    const { clock, logger } = this.#options;
    const timeoutMs = Math.max(0, deadlineMs - clock.nowMs()) + overrunMs;
    const first = Promise.race([settle(action), this.#forced.promise]);
    const result: Settled<void> | "forced" | "late" = await waitAtMost(first, {
      clock,
      timeoutMs,
    });
    if (result === "forced") return result;
    if (result === "late") {
      logger.error("Part did not stop in time and is left", { part: name });
      return result;
    }
    if (result.kind === "ok") return "done";
    logger.error("Part could not stop", {
      part: name,
      error: describeError(result.error),
    });
    return "failed";
  }
}
