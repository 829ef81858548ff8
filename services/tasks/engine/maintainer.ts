/**
 * The base class of periodic background work. It runs at the start, at an
 * interval, and when it is woken, one run at a time.
 *
 * @module
 */

import { Periodic } from "../../shared/periodic.ts";
import type { DutyName, EngineParts } from "./parts.ts";

/** What periodic background work needs of the engine. */
export type MaintainerParts = Pick<
  EngineParts,
  "clock" | "logger" | "instances" | "notices"
>;

/** Options of {@linkcode Maintainer}. */
interface MaintainerOptions {
  /** What the work needs of the engine. */
  readonly parts: MaintainerParts;
  /**
   * The duty under which one instance at a time does the work. A run ends when
   * the duty is lost, and one follows when it is gained.
   *
   * @default every instance does the work
   */
  readonly duty?: DutyName | undefined;
  /** Milliseconds between two runs. */
  readonly intervalMs: number;
  /** The message that is logged when a run fails, with its error. */
  readonly failure: string;
}

/**
 * Periodic background work. A run that fails is logged, and the next one does
 * its work.
 */
export abstract class Maintainer {
  readonly #options: MaintainerOptions;
  readonly #periodic: Periodic;
  #ending = new AbortController();
  #isStopped = false;
  #isMine: boolean;

  /** Sets the work up without starting it. */
  constructor(options: MaintainerOptions) {
    this.#options = options;
    const { parts, intervalMs, failure, duty } = options;
    const { clock, logger, instances, notices } = parts;
    this.#periodic = new Periodic({
      clock,
      intervalMs,
      run: () => this.isMine ? this.runOnce() : undefined,
      onError: (error) => logger.error(failure, { error: String(error) }),
    });
    this.#isMine = this.isMine;
    if (duty === undefined) return;
    instances.onChange(() => this.#onChange());
    notices.on("duty", (notice) => {
      if (notice.duty === duty && this.isMine) this.#periodic.wake();
    });
  }

  /** Starts; the first run follows at once. */
  start(): void {
    this.#periodic.start();
    this.#periodic.wake();
  }

  /**
   * Runs the work now, or once more after the current run, on the instance that
   * does it. Another one may not be told; then it finds the work in its next
   * run.
   */
  wake(): void {
    const { duty, parts } = this.#options;
    if (this.isMine) this.#periodic.wake();
    else if (duty !== undefined) parts.notices.tell({ kind: "duty", duty });
  }

  /** Stops after the current step; the rest waits for the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#ending.abort();
    await this.#periodic.stop();
  }

  /** Whether this instance does the work. */
  protected get isMine(): boolean {
    const { duty, parts } = this.#options;
    return duty === undefined || parts.instances.holds(duty);
  }

  /** Aborted when the current run has to end. */
  protected get stopping(): AbortSignal {
    return this.#ending.signal;
  }

  /** Called when the duty was gained, before the run that follows. */
  protected onGained(): void {}

  /**
   * Does the work once.
   *
   * @throws {Error} when the store fails
   */
  abstract runOnce(): Promise<unknown>;

  #onChange(): void {
    if (this.isMine === this.#isMine) return;
    this.#isMine = this.isMine;
    if (!this.#isMine) return this.#ending.abort();
    if (this.#isStopped) return;
    this.#ending = new AbortController();
    this.onGained();
    this.#periodic.wake();
  }
}
