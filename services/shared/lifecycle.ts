/**
 * Starts, reloads and stops a service: its parts start in order and stop in
 * reverse order within a time limit; SIGTERM, SIGINT and SIGHUP trigger it.
 *
 * @module
 */

import { steadyClock, type Timer } from "./clock.ts";
import { Periodic } from "./periodic.ts";
import { describeError, settle, type Settled } from "./settled.ts";
import {
  type Part,
  type StopOutcome,
  Stopper,
  type StopperOptions,
} from "./stopper.ts";

/**
 * The signals a service listens to. `SIGUSR1` is never among them: the runtime
 * opens a debugger port on it.
 */
type ProcessSignal = "SIGTERM" | "SIGINT" | "SIGHUP";

/** Where signals come from. */
export interface SignalSource {
  /**
   * Calls `callback` for each signal of that kind.
   *
   * @returns Ends the listening; harmless when called twice.
   */
  listen(signal: ProcessSignal, callback: () => void): () => void;
  /**
   * Ends the process at once, whatever still runs in it. Absent in tests, which
   * only simulate signals.
   */
  exit?(code: number): void;
}

/** The signals of this process. */
export const processSignals: SignalSource = {
  listen(signal, callback) {
    Deno.addSignalListener(signal, callback);
    return () => Deno.removeSignalListener(signal, callback);
  },
  exit: (code) => Deno.exit(code),
};

/** Options of {@linkcode Lifecycle}: those of its stop, and its signals. */
interface LifecycleOptions extends StopperOptions {
  /** Where SIGTERM, SIGINT and SIGHUP come from; none when left out. */
  readonly signals?: SignalSource;
}

/**
 * A signal that comes again within this time is the same one: a supervisor
 * that signals the whole group is heard once directly and once through a
 * launcher.
 */
const SAME_SIGNAL_MS = 1_000;

/** How long the process may take to end after its parts should have stopped. */
const EXIT_MARGIN_MS = 5_000;

/** How long the process may take to end after a second signal. */
const FORCED_EXIT_MS = 1_000;

/**
 * Runs the parts of a service.
 *
 * SIGTERM and SIGINT stop it; another of them a second later or more ends the
 * waiting at once. A process that has not ended some seconds after the grace,
 * or one second after the waiting was ended, is ended with exit code 1. SIGHUP
 * reloads. The signals are heard from {@linkcode Lifecycle.start} until it has
 * stopped.
 */
export class Lifecycle {
  /** Settles when the service has stopped; never rejects. */
  readonly done: Promise<StopOutcome>;
  readonly #options: LifecycleOptions;
  readonly #parts: Part[] = [];
  readonly #begun: Part[] = [];
  readonly #reloadHooks: (() => void | Promise<void>)[] = [];
  readonly #reloads: Periodic;
  readonly #stopper: Stopper;
  readonly #stopAsked = Promise.withResolvers<"stopped">();
  readonly #ended = Promise.withResolvers<StopOutcome>();
  #unlisten: (() => void)[] = [];
  #state: "new" | "starting" | "running" | "stopping" = "new";
  #isReloadAsked = false;
  #endSignalMs: number | undefined;
  #exitTimer: Timer | undefined;
  #unfinished: readonly string[] = [];
  #failure: { readonly error: unknown } | undefined;

  /** A service that has not been started. */
  constructor(options: LifecycleOptions) {
    // The grace is a duration, whatever the time of day is set to.
    this.#options = { ...options, clock: steadyClock(options.clock) };
    this.#reloads = new Periodic({
      clock: options.clock,
      run: () => this.#runReloadHooks(),
      onError: (error) => this.#noteReloadFault(error),
    });
    this.#stopper = new Stopper(this.#options);
    this.done = this.#ended.promise;
  }

  /**
   * Adds a part; parts start in the order of adding.
   *
   * @throws {TypeError} When the start has begun.
   */
  add(part: Part): this {
    if (this.#state !== "new") {
      throw new TypeError(
        `Cannot add part "${part.name}": the service is ${this.#state}`,
      );
    }
    this.#parts.push(part);
    return this;
  }

  /**
   * Adds a callback for each reload, as by SIGHUP. The callbacks run one after
   * the other; an error in one is logged. A request during a reload leads to
   * one more reload after it; one during the start waits until its end.
   */
  onReload(callback: () => void | Promise<void>): this {
    this.#reloadHooks.push(callback);
    return this;
  }

  /**
   * Adds a callback that runs first when the service stops, such as to set its
   * health to failing. The callbacks run in the order of adding, within the
   * grace.
   */
  onStopping(callback: () => void | Promise<void>): this {
    this.#stopper.addHook(callback);
    return this;
  }

  /** Asks for a reload, as SIGHUP does. */
  reload(): void {
    this.#isReloadAsked = true;
    this.#reloads.wake();
  }

  /**
   * Starts the parts, one after the other. When one fails, those before it are
   * stopped. When a stop is asked for meanwhile, or was before, no further part
   * starts and the promise fulfils once everything has stopped.
   *
   * @throws What the failing part threw.
   * @throws {TypeError} When called twice.
   */
  async start(): Promise<void> {
    if (this.#state === "stopping") return void await this.done;
    if (this.#state !== "new") {
      throw new TypeError(`Cannot start: the service is ${this.#state}`);
    }
    this.#state = "starting";
    this.#listen();
    for (const part of this.#parts) {
      const result = await this.#startPart(part);
      if (result === "stopped") return void await this.done;
      if (result !== "started") {
        await this.#end(`"${part.name}" could not start`, true);
        throw result.error;
      }
    }
    this.#state = "running";
    this.#options.logger.info("Service started");
    this.#reloads.start();
    if (this.#isReloadAsked) this.#reloads.wake();
  }

  /**
   * Starts the parts and waits until the service has stopped.
   *
   * @throws What {@linkcode Lifecycle.start} throws, and the error of
   * {@linkcode Lifecycle.fail}.
   */
  async run(): Promise<StopOutcome> {
    await this.start();
    const outcome = await this.done;
    if (this.#failure !== undefined) throw this.#failure.error;
    return outcome;
  }

  /** Stops the service for an error after the start of its parts. */
  fail(error: unknown, reason: string): void {
    this.#failure = { error };
    void this.stop(reason);
  }

  /**
   * Stops the service; a second call waits for the same end.
   *
   * @param reason Why, for the log.
   * @returns How it ended, the same as {@linkcode Lifecycle.done}.
   */
  stop(reason: string): Promise<StopOutcome> {
    return this.#end(reason, false);
  }

  async #startPart(
    part: Part,
  ): Promise<"started" | "stopped" | { readonly error: unknown }> {
    const { logger } = this.#options;
    this.#begun.push(part);
    const attempt = settle(() => part.start());
    const result = await Promise.race([attempt, this.#stopAsked.promise]);
    if (result === "stopped" || this.#isStopping()) {
      void this.#noteLateFailure(part, attempt);
      return "stopped";
    }
    if (result.kind === "ok") {
      logger.debug("Part started", { part: part.name });
      return "started";
    }
    this.#begun.pop();
    // The caller of the start gets the error, and tells it.
    logger.debug("Part could not start", {
      part: part.name,
      error: describeError(result.error),
    });
    return { error: result.error };
  }

  /** Logs that a part failed to start, mostly since the stop interrupted it. */
  async #noteLateFailure(
    part: Part,
    attempt: Promise<Settled<void>>,
  ): Promise<void> {
    const result = await attempt;
    if (result.kind === "ok") return;
    this.#options.logger.debug("Part could not start while stopping", {
      part: part.name,
      error: describeError(result.error),
    });
  }

  async #runReloadHooks(): Promise<void> {
    this.#options.logger.info("Reloading");
    for (const hook of this.#reloadHooks) {
      const result = await settle(hook);
      if (result.kind === "failed") this.#noteReloadFault(result.error);
    }
  }

  #noteReloadFault(error: unknown): void {
    const { logger } = this.#options;
    logger.error("Reload failed", { error: describeError(error) });
  }

  /** A method, because the type checker would narrow the state too far. */
  #isStopping(): boolean {
    return this.#state === "stopping";
  }

  #end(reason: string, failed: boolean): Promise<StopOutcome> {
    if (this.#isStopping()) return this.done;
    this.#state = "stopping";
    this.#stopAsked.resolve("stopped");
    void this.#reloads.stop();
    void this.#stopAll(reason, failed);
    return this.done;
  }

  async #stopAll(reason: string, failed: boolean): Promise<void> {
    const parts = this.#begun.toReversed();
    this.#exitAfter(this.#stopper.longestMs(parts) + EXIT_MARGIN_MS);
    const outcome = await this.#stopper.stop(parts, { reason, failed });
    this.#unfinished = outcome.unfinished;
    for (const unlisten of this.#unlisten) unlisten();
    this.#unlisten = [];
    this.#ended.resolve(outcome);
  }

  #listen(): void {
    const { signals } = this.#options;
    if (signals === undefined) return;
    const endOn = (signal: ProcessSignal) => () => this.#onEndSignal(signal);
    this.#unlisten = [
      signals.listen("SIGTERM", endOn("SIGTERM")),
      signals.listen("SIGINT", endOn("SIGINT")),
      signals.listen("SIGHUP", () => this.reload()),
    ];
  }

  #onEndSignal(signal: ProcessSignal): void {
    const nowMs = this.#options.clock.nowMs();
    if (this.#endSignalMs === undefined) {
      this.#endSignalMs = nowMs;
      void this.stop(signal);
    } else if (nowMs - this.#endSignalMs >= SAME_SIGNAL_MS) {
      this.#stopper.force(signal);
      this.#exitAfter(FORCED_EXIT_MS);
    }
  }

  /** Ends the process after a delay, unless it has ended by itself. */
  #exitAfter(delayMs: number): void {
    const { clock, logger, signals } = this.#options;
    if (signals?.exit === undefined) return;
    this.#exitTimer?.cancel();
    this.#exitTimer = clock.setTimer(() => {
      logger.error("The process does not end; ending it", {
        hangs: this.#unfinished.join(",") || "what comes after the last part",
      });
      signals.exit?.(1);
    }, delayMs);
  }
}

/**
 * The error of a start that failed for several reasons, each a line of its
 * message.
 */
export function startFault(problems: readonly string[]): Error {
  return new Error(problems.join("\n"));
}
