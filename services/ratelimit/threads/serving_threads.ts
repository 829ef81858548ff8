/**
 * The threads that serve beside the main thread: they are started with it, get
 * its rules, and are replaced when they end.
 *
 * @module
 */

import type { Clock, Timer } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { Periodic } from "../../shared/periodic.ts";
import { describeError, waitAtMost } from "../../shared/settled.ts";
import type { Part } from "../../shared/stopper.ts";
import type { OverLimitBoard } from "../activity/over_limit_keys.ts";
import { DECISION_REQUESTS } from "../api/rate_limit_methods.ts";
import { Backoff } from "../backoff.ts";
import { releaseStores, type SharedStores } from "../counters/shared_stores.ts";
import type { RetiringListener, ServingPorts } from "../listeners.ts";
import type { ConfigDocument } from "../rules/load.ts";
import type { RateLimitSettings } from "../settings.ts";
import type { StatsRegistry } from "../stats/registry.ts";
import type { StatChange } from "../stats/stats_reader.ts";
import type { Counter, Gauge } from "../stats/stats.ts";
import type { FromThread, ToThread } from "./thread_messages.ts";

/** How a {@linkcode ServingThreads} is made. */
interface ServingThreadsOptions {
  /**
   * The settings; `workers` is the number of threads, the main thread included.
   */
  readonly settings: RateLimitSettings;
  /** The counters of all threads. */
  readonly stores: SharedStores;
  /** Gets the statistics of the threads. */
  readonly registry: StatsRegistry;
  /** Gets the counters that refuse most often. */
  readonly overLimit: OverLimitBoard;
  /** Gives the time. */
  readonly clock: Clock;
  /** Gets log lines about threads that end. */
  readonly logger: Logger;
  /**
   * Starts the program of a thread.
   *
   * @default {startServingThread}
   */
  readonly startThread?: (() => Worker) | undefined;
}

/** Milliseconds between two checks that the threads live. */
const LOOK_MS = 1_000;
/** Checks without a message after which a thread counts as ended. */
const SILENT_LOOKS = 10;
/**
 * The same while a thread reads its first rules, which it reads in one go: a
 * hundred thousand rules take over ten seconds.
 */
const SILENT_LOOKS_AT_FIRST = 120;
/** Waits before a thread that has ended is replaced. */
const RESTART_WAITS = {
  firstMs: 250,
  initialMs: 500,
  maxMs: 30_000,
  growth: 1,
  jitter: false,
} as const;
/**
 * A thread with more connections than this many times the mean gives one away.
 */
const MOST_ABOVE_MEAN = 1.2;
/** Milliseconds that the start waits for threads to open their listeners. */
const OPEN_TIMEOUT_MS = 30_000;
/**
 * Milliseconds that a thread may take to stop, beyond the grace of its calls.
 */
const STOP_MARGIN_MS = 1_000;

function startServingThread(): Worker {
  return new Worker(new URL("./serving_thread.ts", import.meta.url), {
    type: "module",
  });
}

/** All threads but the main one. */
export class ServingThreads implements Part {
  /** The name of the part in logs. */
  readonly name = "threads";
  readonly #threads: readonly ServingThread[];
  readonly #looks: Periodic;
  #own: RetiringListener | undefined;

  /** Makes threads that run only from {@linkcode ServingThreads.start} on. */
  constructor(options: ServingThreadsOptions) {
    const { settings, registry, clock, logger } = options;
    const restarts = registry.counter("ratelimit.threads.restarts");
    this.#threads = Array.from(
      { length: settings.workers - 1 },
      (_, index) => new ServingThread(index + 1, { ...options, restarts }),
    );
    this.#looks = new Periodic({
      clock,
      intervalMs: LOOK_MS,
      run: () => {
        for (const thread of this.#threads) thread.look();
        this.#balance();
      },
      onError: (error) =>
        logger.error("Cannot supervise the threads", {
          error: describeError(error),
        }),
    });
  }

  /**
   * Starts the threads; their rules and ports are given by the other methods.
   */
  start(): Promise<void> {
    for (const thread of this.#threads) thread.start();
    this.#looks.start();
    return Promise.resolve();
  }

  /**
   * Makes the threads put rules into force; the rules must be free of faults.
   */
  configure(documents: readonly ConfigDocument[]): void {
    for (const thread of this.#threads) thread.configure(documents);
  }

  /**
   * Opens the listeners of the threads; settles once they are open, or after a
   * time limit.
   */
  async open(ports: ServingPorts, own: RetiringListener): Promise<void> {
    this.#own = own;
    await Promise.all(this.#threads.map((thread) => thread.open(ports)));
  }

  /** Makes the threads read certificates and the candidate again. */
  reload(): void {
    for (const thread of this.#threads) thread.tell({ kind: "reload" });
  }

  /** Makes the threads look whether these files have changed. */
  lookAtFiles(): void {
    for (const thread of this.#threads) thread.tell({ kind: "lookAtFiles" });
  }

  /** Makes the health checks of the threads fail. */
  terminating(): void {
    for (const thread of this.#threads) thread.tell({ kind: "terminate" });
  }

  /** Closes the listeners of the threads, and takes their last statistics. */
  async close(graceMs: number): Promise<void> {
    await this.#looks.stop();
    await Promise.all(this.#threads.map((thread) => thread.stop(graceMs)));
  }

  /** Ends the threads. */
  async stop(): Promise<void> {
    await this.close(0);
  }

  /** Asks a caller of the thread with the most connections to connect again. */
  #balance(): void {
    const own = this.#own;
    if (own === undefined) return;
    const counts = [
      own.connections,
      ...this.#threads.map(({ connections }) => connections),
    ];
    const crowded = crowdedThread(counts);
    if (crowded === 0) own.retire(1);
    else if (crowded !== undefined) {
      this.#threads[crowded - 1]!.tell({ kind: "retire", connections: 1 });
    }
  }
}

/**
 * Returns the thread that has so many more connections than the others that it
 * should give one away; undefined without such a thread. The system distributes
 * connections at random, and callers keep them for hours.
 */
export function crowdedThread(counts: readonly number[]): number | undefined {
  const most = Math.max(...counts);
  const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  const isCrowded = most - Math.min(...counts) > 1 &&
    most > MOST_ABOVE_MEAN * mean;
  return isCrowded ? counts.indexOf(most) : undefined;
}

/** One serving thread, which goes on over several workers. */
class ServingThread {
  readonly #number: number;
  readonly #options: ServingThreadsOptions & { readonly restarts: Counter };
  readonly #calls: Counter;
  readonly #connections: Gauge;
  #worker: Worker | undefined;
  #documents: readonly ConfigDocument[] | undefined;
  #ports: ServingPorts | undefined;
  #opened = Promise.withResolvers<void>();
  readonly #stopped = Promise.withResolvers<void>();
  #stopping: Promise<void> | undefined;
  #restart: Timer | undefined;
  readonly #restarts = new Backoff(RESTART_WAITS);
  #silentLooks = 0;
  /** True when the worker has loaded its first rules. */
  #isConfigured = false;
  /** Open gRPC connections, as the worker reported last. */
  connections = 0;

  constructor(
    number: number,
    options: ServingThreadsOptions & { readonly restarts: Counter },
  ) {
    const { registry } = options;
    this.#number = number;
    this.#options = options;
    this.#calls = registry.counter(`ratelimit.threads.${number}.calls`);
    this.#connections = registry.gauge(
      `ratelimit.threads.${number}.connections`,
    );
  }

  start(): void {
    const { settings, stores, startThread = startServingThread } =
      this.#options;
    const worker = startThread();
    this.#worker = worker;
    this.#silentLooks = 0;
    this.#isConfigured = false;
    worker.onmessage = ({ data }: MessageEvent<FromThread>) => this.#take(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.#ended(event.message);
    };
    this.tell({
      ...{ kind: "start", thread: this.#number, settings, stores },
      timeOriginMs: performance.timeOrigin,
    });
    if (this.#documents !== undefined) this.configure(this.#documents);
    if (this.#ports !== undefined) {
      this.tell({ kind: "open", ports: this.#ports });
    }
  }

  tell(message: ToThread): void {
    this.#worker?.postMessage(message);
  }

  configure(documents: readonly ConfigDocument[]): void {
    this.#documents = documents;
    this.tell({ kind: "configure", documents });
  }

  async open(ports: ServingPorts): Promise<void> {
    const { clock, logger } = this.#options;
    this.#ports = ports;
    this.tell({ kind: "open", ports });
    const timeoutMs = OPEN_TIMEOUT_MS;
    if (
      await waitAtMost(this.#opened.promise, { clock, timeoutMs }) === "late"
    ) {
      logger.error(
        "A thread has not opened its listeners; continuing without it",
        {
          thread: this.#number,
          timeoutMs,
        },
      );
    }
  }

  /**
   * Counts a check without a message; replaces a worker that is silent for too
   * long.
   */
  look(): void {
    if (this.#worker === undefined) return;
    const isReading = this.#documents !== undefined && !this.#isConfigured;
    const most = isReading ? SILENT_LOOKS_AT_FIRST : SILENT_LOOKS;
    if (++this.#silentLooks > most) {
      this.#ended(`nothing was heard of it for ${most} s`);
    }
  }

  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  async #stop(graceMs: number): Promise<void> {
    this.#restart?.cancel();
    this.#opened.resolve();
    if (this.#worker === undefined) return;
    this.tell({ kind: "stop", graceMs });
    await waitAtMost(this.#stopped.promise, {
      clock: this.#options.clock,
      timeoutMs: graceMs + STOP_MARGIN_MS,
    });
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  #take(message: FromThread): void {
    this.#silentLooks = 0;
    switch (message.kind) {
      case "configured":
        this.#isConfigured = true;
        return;
      case "opened":
        this.#restarts.reset();
        return this.#opened.resolve();
      case "beat":
        this.#count(message.connections);
        if (message.overLimitKeys !== undefined) {
          this.#options.overLimit.replace(this.#number, message.overLimitKeys);
        }
        return this.#absorb(message.changes);
      case "stopped":
        this.#absorb(message.changes);
        return this.#stopped.resolve();
      case "failed":
        return this.#ended(message.problems.join("; "));
    }
  }

  #count(connections: number): void {
    this.connections = connections;
    this.#connections.set(connections);
  }

  #absorb(changes: readonly StatChange[]): void {
    this.#options.registry.absorb(this.#number, changes);
    for (const change of changes) {
      if (change.kind === "counter" && change.name === DECISION_REQUESTS) {
        this.#calls.add(change.increase);
      }
    }
  }

  /**
   * Replaces the worker, after a wait that grows when this happens repeatedly.
   */
  #ended(reason: string): void {
    const { stores, registry, overLimit, clock, logger, restarts } =
      this.#options;
    this.#worker?.terminate();
    this.#worker = undefined;
    const wereCountersLost = releaseStores(stores, this.#number);
    registry.forget(this.#number);
    overLimit.replace(this.#number, []);
    this.#count(0);
    if (this.#stopping !== undefined) return this.#stopped.resolve();
    const delayMs = this.#restarts.next();
    logger.error("A thread has ended and will be replaced", {
      thread: this.#number,
      reason,
      delayMs,
      wereCountersLost,
    });
    restarts.add();
    this.#restart = clock.setTimer(() => this.start(), delayMs);
  }
}
