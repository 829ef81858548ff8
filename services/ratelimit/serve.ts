/**
 * Puts the service together from its settings, and runs it.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import { openPort, shownAddress } from "../shared/http/open_port.ts";
import { Http1Server } from "../shared/http1/server.ts";
import { Lifecycle, type SignalSource } from "../shared/lifecycle.ts";
import type { Logger } from "../shared/logger.ts";
import { Slices } from "../shared/slices.ts";
import type { Part, StopOutcome } from "../shared/stopper.ts";
import type { WatchThread } from "../shared/watch/watch_thread.ts";
import { debugRoutes } from "./api/debug_routes.ts";
import { Explainer } from "./api/explain_page.ts";
import { CpuProfiler } from "./api/profiles.ts";
import { createRouter } from "./api/router.ts";
import type { CounterStore } from "./counters/counter_store.ts";
import {
  type DecisionParts,
  decisionRules,
  DecisionService,
  grpcAddress,
} from "./decision_service.ts";
import { PublicListeners } from "./listeners.ts";
import type { ConfigDocument } from "./rules/load.ts";
import type { RateLimitSettings } from "./settings.ts";
import { ConfigLoader } from "./sources/config_loader.ts";
import { openSource } from "./sources/open_source.ts";
import { processStats } from "./stats/process_stats.ts";
import type { StatsRegistry } from "./stats/registry.ts";
import type { ServingThreads } from "./threads/serving_threads.ts";

/** What the service gets from the process it runs in. */
interface ServeOptions extends Omit<DecisionParts, "threads" | "reports"> {
  /** The other serving threads; undefined when this thread serves alone. */
  readonly threads: ServingThreads | undefined;
  /** Reports changes of files, from the start of the service to its end. */
  readonly reports: WatchThread;
  /**
   * Sends statistics to their server or log; undefined when they are not sent.
   */
  readonly statsSink: Part | undefined;
  /** Gets log lines with the addresses of the listeners. */
  readonly addressLog: Pick<Logger, "info">;
  /** Source of SIGTERM, SIGINT and SIGHUP. */
  readonly signals: SignalSource;
}

/**
 * Runs the service until it is stopped.
 *
 * @throws When a part can't start: the error says which and why.
 */
export async function serve(
  settings: RateLimitSettings,
  options: ServeOptions,
): Promise<StopOutcome> {
  const { registry, reports, clock, logger, threads } = options;
  const service = new DecisionService(settings, {
    ...options,
    threads: settings.workers,
  });
  const pausing = new Slices().open();
  let read: readonly ConfigDocument[] = [];
  const loader: ConfigLoader = new ConfigLoader({
    load(documents) {
      read = documents;
      return service.load(documents, { pausing, isFirst: !loader.isLoaded });
    },
    async adopt(snapshot) {
      threads?.configure(read);
      service.adopt(snapshot);
      // Callers that wait for the ports go first.
      await listeners.opened;
      await service.showStatistics(pausing);
    },
    stats: registry,
    logger,
    pausing,
  });
  const source = openSource(settings, {
    loader,
    pausing,
    reports,
    clock,
    logger,
  });

  const lifecycle = new Lifecycle({
    logger,
    clock,
    signals: options.signals,
    graceMs: settings.shutdownGraceMs,
    drainDelayMs: settings.shutdownDrainDelayMs,
  });
  let failure: unknown;
  const listeners = new PublicListeners({
    ...service.listeners(),
    places: { grpc: grpcAddress(settings), http: settings },
    isGrpcTls: options.tls !== undefined,
    others: threads,
    ready: () =>
      settings.forceStart || loader.isLoaded ? undefined : loader.firstLoad,
    onFailure(error) {
      failure = error;
      lifecycle.stop("a listener could not be opened");
    },
    logger,
    addressLog: options.addressLog,
  });
  // Parts that are added first are stopped last: by the stop of tracing, all
  // spans have ended.
  if (options.tracing !== undefined) lifecycle.add(options.tracing.part);
  lifecycle
    .onStopping(() => {
      service.health.terminating();
      threads?.terminating();
    })
    .onReload(async () => {
      await source.reload();
      await service.reload();
      threads?.reload();
    })
    .add(debugListener(settings, { ...options, service }));
  if (threads !== undefined) lifecycle.add(threads);
  for (const part of service.lifelongParts) lifecycle.add(part);
  lifecycle
    .add({
      name: "configuration",
      start: () => source.start(),
      stop() {
        service.abortLoads();
        return source.stop();
      },
    })
    .add(processStats({ stats: registry, clock }));
  if (options.statsSink !== undefined) lifecycle.add(options.statsSink);
  lifecycle.add(listeners).add(reports);
  if (threads !== undefined) {
    reports.subscribe({
      directories: () => Promise.resolve([]),
      onReport: () => threads.lookAtFiles(),
    });
  }
  await lifecycle.start();
  const outcome = await lifecycle.done;
  if (failure !== undefined) throw failure;
  return outcome;
}

function debugListener(
  settings: RateLimitSettings,
  parts: {
    readonly service: DecisionService;
    readonly store: CounterStore;
    readonly registry: StatsRegistry;
    readonly logger: Logger;
    readonly addressLog: Pick<Logger, "info">;
    readonly clock: Clock;
  },
): Part {
  const { store, registry, logger, addressLog, clock } = parts;
  const { decider, candidate } = parts.service;
  const snapshot = () => decider.snapshot;
  const rules = decisionRules(settings);
  const profiler = new CpuProfiler(clock);
  const server = new Http1Server({
    hostname: settings.debugHost,
    port: settings.debugPort,
    reusePort: settings.reusePort,
    handler: createRouter({
      routes: debugRoutes({
        snapshot,
        registry,
        profiler,
        candidate: () => candidate?.comparison.report(),
        explainers: {
          live: new Explainer({ snapshot, store, rules, clock }),
          candidate: candidate && new Explainer({
            snapshot: () => candidate.comparison.snapshot,
            store: candidate.store,
            rules,
            clock,
          }),
        },
        logger,
        access: {
          host: settings.debugHost,
          allowRemote: settings.debugAllowRemote,
        },
      }),
      ignoreLastSlash: true,
      logger,
    }),
    logger,
    clock,
  });
  return {
    name: "debug listener",
    async start() {
      const { hostname, port } = await openPort(() => server.start(), {
        service: "ratelimit",
        what: "debug",
        host: settings.debugHost,
        port: settings.debugPort,
        hostSetting: "DEBUG_HOST",
        portSetting: "DEBUG_PORT",
      });
      addressLog.info(`Listening for debug on ${shownAddress(hostname, port)}`);
    },
    stop(graceMs) {
      profiler.stop();
      return server.stop(graceMs);
    },
  };
}
