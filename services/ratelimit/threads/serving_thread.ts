/**
 * The program of a thread that serves beside the main thread: on the same ports,
 * with the same rules and counters. Files with rules, statistics and the debug port are the
 * main thread's.
 *
 * @module
 */

import { type Clock, systemClock } from "../../shared/clock.ts";
import { Lifecycle } from "../../shared/lifecycle.ts";
import { createLogger, type Logger } from "../../shared/logger.ts";
import { Periodic } from "../../shared/periodic.ts";
import { describeError } from "../../shared/settled.ts";
import { Slices } from "../../shared/slices.ts";
import { stderrWriter } from "../../shared/stderr_writer.ts";
import {
  type DecisionListeners,
  DecisionService,
} from "../decision_service.ts";
import type { ServingPorts } from "../listeners.ts";
import { openParts } from "../open_parts.ts";
import { formatConfigFault } from "../rules/config.ts";
import type { ConfigDocument } from "../rules/load.ts";
import { StatsRegistry } from "../stats/registry.ts";
import type { FromThread, ToThread } from "./thread_messages.ts";

/** What runs in the thread: the messages that come in and go out. */
interface ThreadScope {
  /** Takes what the thread is told. */
  onmessage: ((event: MessageEvent<ToThread>) => void) | null;
  /** Tells the main thread. */
  postMessage(message: FromThread): void;
}

/** How often a thread tells that it lives, and its statistics. */
const BEAT_MS = 200;
/** Questions for the time; that with the quickest answer counts. */
const TIME_QUESTIONS = 5;
const MAX_FAULTS_TOLD = 5;

/** Does what the main thread tells. */
function serveThread(scope: ThreadScope): void {
  const time = new SharedTime(scope);
  let thread: Promise<ServingThread> | undefined;
  scope.onmessage = async ({ data }) => {
    if (data.kind === "time") return time.take(data.monotonicMs);
    try {
      if (data.kind === "start") {
        thread = time.known.then((monotonicMs) =>
          openThread(scope, { start: data, monotonicMs })
        );
      }
      await (await thread)?.take(data);
    } catch (error) {
      scope.postMessage({ kind: "failed", problems: [describeError(error)] });
    }
  };
}

/** The main thread's monotonic clock: each thread's own begins with itself. */
class SharedTime {
  /** Milliseconds of that clock, once it is known. */
  readonly known: Promise<() => number>;
  readonly #scope: ThreadScope;
  readonly #known = Promise.withResolvers<() => number>();
  #askedMs = 0;
  #asked = 0;
  #quickestMs = Infinity;
  #aheadMs = 0;

  constructor(scope: ThreadScope) {
    this.#scope = scope;
    this.known = this.#known.promise;
    this.#ask();
  }

  /** Takes an answer. */
  take(monotonicMs: number): void {
    const nowMs = performance.now();
    const tookMs = nowMs - this.#askedMs;
    if (tookMs < this.#quickestMs) {
      this.#quickestMs = tookMs;
      this.#aheadMs = monotonicMs - (this.#askedMs + nowMs) / 2;
    }
    if (this.#asked < TIME_QUESTIONS) return this.#ask();
    const aheadMs = this.#aheadMs;
    this.#known.resolve(() => performance.now() + aheadMs);
  }

  #ask(): void {
    this.#asked++;
    this.#askedMs = performance.now();
    this.#scope.postMessage({ kind: "time" });
  }
}

async function openThread(
  scope: ThreadScope,
  { start, monotonicMs }: {
    readonly start: Extract<ToThread, { readonly kind: "start" }>;
    readonly monotonicMs: () => number;
  },
): Promise<ServingThread> {
  const { settings, stores, thread } = start;
  const clock = systemClock;
  const logger = threadLogger(
    createLogger({
      format: settings.logFormat,
      level: settings.logLevel,
      clock,
      write: stderrWriter(),
    }),
    thread,
  );
  const registry = new StatsRegistry({ maxNames: settings.statsMaxNames });
  const opened = await openParts(settings, {
    registry,
    clock,
    logger,
    sharing: { stores, thread, monotonicMs },
  });
  if (opened.kind === "invalid") {
    throw new Error(opened.problems.join("; "));
  }
  const service = new DecisionService(settings, {
    ...opened.parts,
    threads: settings.workers,
  });
  const lifecycle = new Lifecycle({
    logger: quiet(logger),
    clock,
    graceMs: settings.shutdownGraceMs,
  });
  if (opened.parts.tracing !== undefined) {
    lifecycle.add(opened.parts.tracing.part);
  }
  for (const part of service.lifelongParts) lifecycle.add(part);
  await lifecycle.start();
  return new ServingThread(scope, {
    service,
    lifecycle,
    registry,
    clock,
    logger,
  });
}

/** What a thread consists of. */
interface ThreadParts {
  readonly service: DecisionService;
  readonly lifecycle: Lifecycle;
  readonly registry: StatsRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
}

class ServingThread {
  readonly #scope: ThreadScope;
  readonly #parts: ThreadParts;
  readonly #pausing = new Slices().open();
  readonly #changes: ReturnType<StatsRegistry["openReader"]>;
  readonly #beats: Periodic;
  /** One configuration after the other. */
  #configured: Promise<void> = Promise.resolve();
  #isConfigured = false;
  #listeners: DecisionListeners | undefined;

  constructor(scope: ThreadScope, parts: ThreadParts) {
    const { registry, clock, logger } = parts;
    this.#scope = scope;
    this.#parts = parts;
    this.#changes = registry.openReader();
    this.#beats = new Periodic({
      clock,
      intervalMs: BEAT_MS,
      run: () =>
        scope.postMessage({
          kind: "beat",
          changes: this.#changesSeen(),
          connections: this.#listeners?.grpc.connections ?? 0,
        }),
      onError: (error) =>
        logger.error("Cannot tell the main thread of statistics", {
          error: describeError(error),
        }),
    });
    this.#beats.start();
  }

  async take(message: ToThread): Promise<void> {
    const { service } = this.#parts;
    switch (message.kind) {
      case "configure": {
        const { documents } = message;
        this.#configured = this.#configured.then(() =>
          this.#configure(documents)
        );
        await this.#configured;
        return this.#scope.postMessage({ kind: "configured" });
      }
      case "open":
        return await this.#open(message.ports);
      case "retire":
        return this.#listeners?.grpc.retire(message.connections);
      case "reload":
        return await service.reload();
      case "terminate":
        return service.health.terminating();
      case "stop":
        return await this.#stop(message.graceMs);
    }
  }

  async #configure(documents: readonly ConfigDocument[]): Promise<void> {
    const { service, logger } = this.#parts;
    const { snapshot, faults } = await service.load(documents, {
      pausing: this.#pausing,
      isFirst: !this.#isConfigured,
    });
    if (snapshot === undefined) {
      return logger.error("Cannot load rules that the main thread has loaded", {
        faults: faults.slice(0, MAX_FAULTS_TOLD).map(formatConfigFault)
          .join("; "),
      });
    }
    this.#isConfigured = true;
    service.adopt(snapshot);
    await service.showStatistics(this.#pausing);
  }

  async #open(ports: ServingPorts): Promise<void> {
    await this.#configured;
    this.#listeners = this.#parts.service.listeners(ports);
    const { grpc, http } = this.#listeners;
    await Promise.all([grpc.start(), http.start()]);
    this.#scope.postMessage({ kind: "opened" });
  }

  async #stop(graceMs: number): Promise<void> {
    const { service, lifecycle } = this.#parts;
    service.abortLoads();
    await Promise.all([
      this.#listeners?.grpc.stop(graceMs),
      this.#listeners?.http.stop(graceMs),
    ]);
    await lifecycle.stop("the service stops");
    await this.#beats.stop();
    this.#scope.postMessage({ kind: "stopped", changes: this.#changesSeen() });
  }

  #changesSeen(): FromThreadChanges {
    return [...this.#changes.changes()].filter((change) =>
      change.kind !== "gauge" || change.changed
    );
  }
}

type FromThreadChanges = Extract<
  FromThread,
  { readonly kind: "beat" }
>["changes"];

/** Names the thread in each line. */
function threadLogger(logger: Logger, thread: number): Logger {
  const of = (level: keyof Logger): Logger["info"] => (message, fields) =>
    logger[level](message, { ...fields, thread });
  return {
    debug: of("debug"),
    info: of("info"),
    warn: of("warn"),
    error: of("error"),
  };
}

/** Says what is wrong, and not what the main thread says as well. */
function quiet(logger: Logger): Logger {
  const silent = () => {};
  return { ...logger, debug: silent, info: silent, warn: silent };
}

serveThread(globalThis as unknown as ThreadScope);
