/**
 * Puts the service together from its settings, and runs it.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import { openPort, shownAddress } from "../shared/http/open_port.ts";
import { Http1Server } from "../shared/http1/server.ts";
import { type Lifecycle, startFault } from "../shared/lifecycle.ts";
import type { Logger } from "../shared/logger.ts";
import {
  openLog,
  runService,
  type ServiceProcess,
} from "../shared/run_service.ts";
import type { ReadVariable } from "../shared/settings.ts";
import { Slices } from "../shared/slices.ts";
import type { Part } from "../shared/stopper.ts";
import { WatchThread } from "../shared/watch/watch_thread.ts";
import { ActivityReports } from "./activity/activity_report.ts";
import { OverLimitBoard } from "./activity/over_limit_keys.ts";
import { RuleActivity } from "./activity/rule_activity.ts";
import { Timeline, type TimelineArea } from "./activity/timeline.ts";
import { debugRoutes } from "./api/debug_routes.ts";
import { Explainer } from "./api/explain_page.ts";
import { consoleRoutes } from "./console/console_routes.ts";
import type { ConsoleSource } from "./console/page.ts";
import { CpuProfiler } from "./api/profiles.ts";
import { createRouter } from "./api/router.ts";
import type { CounterStore } from "./counters/counter_store.ts";
import { pickBackend, planStore } from "./counters/store_plan.ts";
import {
  type DecisionParts,
  decisionRules,
  DecisionService,
  grpcAddress,
} from "./decision_service.ts";
import { grpcTlsFaults } from "./grpc_tls.ts";
import { idleSettings } from "./inert_settings.ts";
import { PublicListeners } from "./listeners.ts";
import { openParts } from "./open_parts.ts";
import type { ConfigDocument } from "./rules/load.ts";
import { type RateLimitSettings, rateLimitSettings } from "./settings.ts";
import { ConfigLoader } from "./sources/config_loader.ts";
import { openSource, sourceFaults } from "./sources/open_source.ts";
import { openSink, sinkFaults } from "./stats/open_sinks.ts";
import { processStats } from "./stats/process_stats.ts";
import { StatsRegistry } from "./stats/registry.ts";
import {
  openThreads,
  threadFaults,
  threadSettings,
} from "./threads/open_threads.ts";
import type { ServingThreads } from "./threads/serving_threads.ts";

/**
 * Runs the service until it is stopped.
 *
 * @returns The exit code.
 */
export function serveRateLimit(process: ServiceProcess): Promise<number> {
  const { env, io } = process;
  const readVariable: ReadVariable = (name) => env.get(name);
  const readText = Deno.readTextFile;
  const { hardwareConcurrency: cores } = navigator;
  return runService(
    {
      settings: rateLimitSettings,
      findFaults: (read) =>
        settingFaults(threadSettings(read, { cores }), readVariable),
      tellIdle(notices, read) {
        const logger = openLog(read, process);
        const idle = [...notices, ...idleSettings(read, readVariable)];
        for (const notice of idle) logger.warn(notice);
      },
    },
    process,
    async (read, tools) => {
      const settings = threadSettings(read, { cores });
      const timeline = new Timeline(tools.clock);
      const watch = (area: TimelineArea) => timeline.watch(tools.logger, area);
      const logger = watch("service");
      const registry = new StatsRegistry({
        maxNames: settings.statsMaxNames,
        onOverflow: ({ name, reason }) =>
          logger.warn("Statistics have no room for further names", {
            name,
            reason,
          }),
      });
      const board = new OverLimitBoard();
      const { threads, sharing } = openThreads(settings, {
        registry,
        overLimit: board,
        logger: watch("threads"),
      });
      const reports = new WatchThread(tools);
      const parts = await openParts(settings, {
        ...{ ...tools, registry, reports, sharing, logger: watch("store") },
        tracing: await tools.openTracing(settings),
      });
      const sink = await openSink(settings, {
        ...{
          ...tools,
          registry,
          logger,
          write: io.out,
          readVariable,
          readText,
        },
      });
      if (sink.kind === "invalid") throw startFault(sink.problems);
      addParts(settings, {
        ...{ ...tools, ...parts, reports, threads, logger, timeline, board },
        candidateLogger: watch("candidate"),
        statsSink: sink.part,
        log: tools.logger,
        addressLog: addressLog(settings, process),
      });
    },
  );
}

/**
 * Returns what is wrong with the settings together and with the files that they
 * name, one line each. Tracing is checked elsewhere, alike for every service.
 *
 * @param readVariable Reads the variables of mogrifiers, whose names depend on
 * settings.
 */
async function settingFaults(
  settings: RateLimitSettings,
  readVariable: ReadVariable,
): Promise<readonly string[]> {
  const readText = Deno.readTextFile;
  const store = await planStore(settings, readText);
  return [
    ...threadFaults(settings),
    ...await grpcTlsFaults(settings),
    ...(store.kind === "invalid" ? store.problems : []),
    ...await sourceFaults(settings, readText),
    ...await sinkFaults(settings, { readVariable, readText }),
  ];
}

/**
 * Returns a logger whose lines of level info are shown at the default level,
 * too: who starts the service wants to see its addresses.
 */
function addressLog(
  settings: RateLimitSettings,
  process: ServiceProcess,
): Logger {
  const { logLevel } = settings;
  return openLog(
    { ...settings, logLevel: logLevel === "warning" ? "info" : logLevel },
    process,
  );
}

/** What the parts of the service are made with, beside its settings. */
interface PartsOptions extends Omit<DecisionParts, "threads" | "reports"> {
  /** Starts and stops the parts. */
  readonly lifecycle: Lifecycle;
  /** Takes log lines that are to be noted as events of some part. */
  readonly log: Logger;
  /** The other serving threads; undefined when this thread serves alone. */
  readonly threads: ServingThreads | undefined;
  /** Reports changes of files, from the start of the service to its end. */
  readonly reports: WatchThread;
  /**
   * Sends statistics to their server or log; undefined when they are not sent.
   */
  readonly statsSink: Part | undefined;
  /** Keeps what happened. */
  readonly timeline: Timeline;
  /** Gets the counters that refuse most often from the other threads. */
  readonly board: OverLimitBoard;
  /** Gets log lines with the addresses of the listeners. */
  readonly addressLog: Pick<Logger, "info">;
}

function addParts(settings: RateLimitSettings, options: PartsOptions): void {
  const { registry, reports, clock, logger, threads, lifecycle } = options;
  const service = new DecisionService(settings, {
    ...options,
    threads: settings.workers,
  });
  const pausing = new Slices().open();
  const activity = new RuleActivity({ registry, pausing, clock, logger });
  let read: readonly ConfigDocument[] = [];
  let inForce = read;
  const loader: ConfigLoader = new ConfigLoader({
    load(documents) {
      read = documents;
      return service.load(documents, { pausing, isFirst: !loader.isLoaded });
    },
    async adopt(snapshot) {
      inForce = read;
      threads?.configure(read);
      service.adopt(snapshot);
      // Callers that wait for the ports go first.
      await listeners.opened;
      await service.showStatistics(pausing);
    },
    stats: registry,
    logger: options.timeline.watch(options.log, "rules"),
    pausing,
  });
  const isDiscovery = settings.configType === "discovery";
  const source = openSource(settings, {
    loader,
    pausing,
    reports,
    clock,
    logger: options.timeline.watch(
      options.log,
      isDiscovery ? "discovery" : "rules",
    ),
  });

  const listeners = new PublicListeners({
    ...service.listeners(),
    places: { grpc: grpcAddress(settings), http: settings },
    isGrpcTls: options.tls !== undefined,
    others: threads,
    ready: () =>
      settings.forceStart || loader.isLoaded ? undefined : loader.firstLoad,
    onFailure: (error) =>
      lifecycle.fail(error, "a listener could not be opened"),
    logger,
    addressLog: options.addressLog,
  });
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
    .add(debugListener(settings, {
      ...{ ...options, service },
      reports: new ActivityReports({
        ...{ activity, pausing, board: options.board },
        snapshot: () => service.decider.snapshot,
        overLimitKeys: service.overLimitKeys,
        timeline: options.timeline,
        keyFormat: settings.cacheKeyFormat,
      }),
      documents: { inForce: () => inForce, lastRead: () => read },
    }));
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
    .add(processStats({ stats: registry, clock }))
    .add(activity);
  if (options.statsSink !== undefined) lifecycle.add(options.statsSink);
  lifecycle.add(listeners).add(reports);
  if (threads !== undefined) {
    reports.subscribe({
      directories: () => Promise.resolve([]),
      onReport: () => threads.lookAtFiles(),
    });
  }
}

/** Where counters are kept, in words. */
function storeWords(settings: RateLimitSettings): string {
  return {
    memory: "in the memory of this process",
    kvstore: "in Redis",
    altcache: "in memcached",
  }[pickBackend(settings)];
}

function debugListener(
  settings: RateLimitSettings,
  parts: {
    readonly service: DecisionService;
    readonly store: CounterStore;
    readonly registry: StatsRegistry;
    readonly reports: ActivityReports;
    readonly documents: ConsoleSource["documents"];
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
  const shown = {
    ...{ registry, reports: parts.reports },
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
  };
  const server = new Http1Server({
    hostname: settings.debugHost,
    port: settings.debugPort,
    reusePort: settings.reusePort,
    handler: createRouter({
      routes: debugRoutes({
        ...{ ...shown, snapshot, profiler, logger },
        console: settings.console
          ? consoleRoutes({
            ...shown,
            documents: parts.documents,
            faults: () => parts.service.health.reasons,
            store: storeWords(settings),
          }, clock)
          : [],
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
