/**
 * Reloads on request, never two at a time.
 *
 * @module
 */

import type { Logger } from "./logger.ts";
import { describeError, settle } from "./settled.ts";

/**
 * Runs callbacks on request: requests during a run lead to one more run after
 * it. Requests before {@linkcode Reloader.open} are kept, those after
 * {@linkcode Reloader.close} have no effect.
 */
export class Reloader {
  readonly #logger: Logger;
  readonly #callbacks: (() => void | Promise<void>)[] = [];
  #state: "waiting" | "open" | "closed" = "waiting";
  #requested = false;
  #running = false;

  /** A reloader without callbacks. */
  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Adds a callback; they run in the order of adding. */
  add(callback: () => void | Promise<void>): void {
    this.#callbacks.push(callback);
  }

  /** Begins to serve requests. */
  open(): void {
    if (this.#state === "waiting") this.#state = "open";
    void this.#run();
  }

  /** Ends serving requests; a callback that runs is not interrupted. */
  close(): void {
    this.#state = "closed";
  }

  /** Asks for a run. */
  request(): void {
    this.#requested = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    while (this.#requested && this.#state === "open") {
      this.#requested = false;
      this.#logger.info("Reloading");
      for (const callback of this.#callbacks) await this.#runOne(callback);
    }
    this.#running = false;
  }

  async #runOne(callback: () => void | Promise<void>): Promise<void> {
    const result = await settle(callback);
    if (result.kind === "ok") return;
    this.#logger.error("Reload failed", {
      error: describeError(result.error),
    });
  }
}
