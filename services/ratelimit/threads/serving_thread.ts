/**
 * The program of a thread that serves beside the main thread: on the same
 * ports, with the same rules and counters. Only the main thread reads rule
 * files, sends statistics and has the debug port.
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
import { openTracing } from "../../shared/telemetry/open_tracing.ts";
import { ReportRelay } from "../../shared/watch/change_reports.ts";
import {
  MAX_KEYS_SENT,
  type OverLimitKey,
} from "../activity/over_limit_keys.ts";
import {
  type DecisionListeners,
  DecisionService,
} from "../decision_service.ts";
import type { ServingPorts } from "../listeners.ts";
import { openParts } from "../open_parts.ts";
import { formatConfigFault } from "../rules/config.ts";
import type { ConfigDocument } from "../rules/load.ts";
import { rateLimitSettings } from "../settings.ts";
import { StatsRegistry } from "../stats/registry.ts";
import type { FromThread, ToThread } from "./thread_messages.ts";

/** The global scope of the thread: its messages in and out. */
interface ThreadScope {
  /** Takes messages of the main thread. */
  onmessage: ((event: MessageEvent<ToThread>) => void) | null;
  /** Sends a message to the main thread. */
  postMessage(message: FromThread): void;
}

/**
 * Milliseconds between two messages with statistics, which also show that the
 * thread lives.
 */
const BEAT_MS = 200;
/** Beats between two messages with the counters that refuse most often. */
const KEY_BEATS = 5;
const MAX_FAULTS_TOLD = 5;

/** Does what messages of the main thread ask for. */
function serveThread(scope: ThreadScope): void {
  let thread: Promise<ServingThread> | undefined;
  scope.onmessage = async ({ data }) => {
    try {
      if (data.kind === "start") thread = openThread(scope, data);
      await (await thread)?.take(data);
    } catch (error) {
      scope.postMessage({ kind: "failed", problems: [describeError(error)] });
    }
  };
}

async function openThread(
  scope: ThreadScope,
  { settings, stores, thread, timeOriginMs }: Extract<
    ToThread,
    { readonly kind: "start" }
  >,
): Promise<ServingThread> {
  // The clock of each thread begins with the thread.
  const aheadMs = performance.timeOrigin - timeOriginMs;
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
  const reports = new ReportRelay();
  const lifecycle = new Lifecycle({
    logger: quiet(logger),
    clock,
    graceMs: settings.shutdownGraceMs,
  });
  const parts = await openParts(settings, {
    ...{ registry, reports, clock, logger },
    sharing: {
      ...{ stores, thread },
      monotonicMs: () => performance.now() + aheadMs,
    },
    tracing: await openTracing(settings, {
      ...{ lifecycle, clock, logger },
      table: rateLimitSettings,
    }),
  });
  const service = new DecisionService(settings, {
    ...parts,
    threads: settings.workers,
  });
  for (const part of service.lifelongParts) lifecycle.add(part);
  await lifecycle.start();
  return new ServingThread(scope, {
    service,
    lifecycle,
    registry,
    reports,
    clock,
    logger,
  });
}

/** The parts of a serving thread. */
interface ThreadParts {
  readonly service: DecisionService;
  readonly lifecycle: Lifecycle;
  readonly registry: StatsRegistry;
  readonly reports: ReportRelay;
  readonly clock: Clock;
  readonly logger: Logger;
}

class ServingThread {
  readonly #scope: ThreadScope;
  readonly #parts: ThreadParts;
  readonly #pausing = new Slices().open();
  readonly #changes: ReturnType<StatsRegistry["openReader"]>;
  readonly #beats: Periodic;
  /** The configurations so far: each waits for the one before. */
  #configured: Promise<void> = Promise.resolve();
  #isConfigured = false;
  #beatsDone = 0;
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
          overLimitKeys: this.#takeKeys(),
        }),
      onError: (error) =>
        logger.error("Cannot send statistics to the main thread", {
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
      case "lookAtFiles":
        return this.#parts.reports.report();
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

  #takeKeys(): readonly OverLimitKey[] | undefined {
    return this.#beatsDone++ % KEY_BEATS === 0
      ? this.#parts.service.overLimitKeys?.top(MAX_KEYS_SENT)
      : undefined;
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

/** Returns a logger that adds the thread's number to each line. */
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

/**
 * Returns a logger of errors alone: other lines would repeat those of the main
 * thread.
 */
function quiet(logger: Logger): Logger {
  const silent = () => {};
  return { ...logger, debug: silent, info: silent, warn: silent };
}

serveThread(globalThis as unknown as ThreadScope);
