/**
 * The service, put together from its settings.
 *
 * @module
 */

import { type Clock, steadyClock } from "../shared/clock.ts";
import { H2GrpcServer } from "../shared/grpc/h2_server.ts";
import { HealthBoard, healthMethods } from "../shared/grpc/health.ts";
import type { GrpcAddress, GrpcMethods } from "../shared/grpc/method.ts";
import { reflectionMethods } from "../shared/grpc/reflection.ts";
import { shownAddress } from "../shared/http/open_port.ts";
import { Http1Server } from "../shared/http1/server.ts";
import { Lifecycle, type SignalSource } from "../shared/lifecycle.ts";
import type { Logger } from "../shared/logger.ts";
import { Periodic } from "../shared/periodic.ts";
import { describeError } from "../shared/settled.ts";
import { type OpenTracing, TRACE_FIELDS } from "../shared/telemetry/tracing.ts";
import { Slices } from "../shared/slices.ts";
import type { Part, StopOutcome } from "../shared/stopper.ts";
import { DecisionEndpoint } from "./api/decision_endpoint.ts";
import { Explainer } from "./api/explain_page.ts";
import { HealthState } from "./api/health_state.ts";
import { debugRoutes } from "./api/debug_routes.ts";
import { publicRoutes } from "./api/http_routes.ts";
import { CpuProfiler } from "./api/profiles.ts";
import { measuredMethods, rateLimitMethods } from "./api/rate_limit_methods.ts";
import { RefusalLog } from "./api/refusal.ts";
import { createRouter } from "./api/router.ts";
import { Candidate } from "./candidate/candidate.ts";
import type { CounterStore } from "./counters/counter_store.ts";
import { Decider } from "./decision/decide.ts";
import type { DecisionRules } from "./decision/explain.ts";
import { StatsRecorder } from "./decision/stats_recorder.ts";
import type { GrpcTls } from "./grpc_tls.ts";
import { opened, PublicListeners } from "./listeners.ts";
import { loadRules } from "./rules/load.ts";
import { loadInThread } from "./rules/load_thread.ts";
import type { RateLimitSettings } from "./settings.ts";
import { ConfigLoader } from "./sources/config_loader.ts";
import { openSource } from "./sources/open_source.ts";
import { processStats } from "./stats/process_stats.ts";
import type { StatsRegistry } from "./stats/registry.ts";
import { createRuleStatsCache } from "./stats/stats.ts";

/** What the service gets from the process it runs in. */
interface ServeOptions {
  /** Keeps the counters. */
  readonly store: CounterStore;
  /** TLS of the gRPC listener; undefined leaves it in plain text. */
  readonly tls: GrpcTls | undefined;
  /** Keeps the counters of a candidate; undefined without one. */
  readonly candidateStore: CounterStore | undefined;
  /** Keeps the statistics. */
  readonly registry: StatsRegistry;
  /** Sends statistics somewhere; undefined sends them nowhere. */
  readonly statsSink: Part | undefined;
  /** Traces; undefined where tracing is off. */
  readonly tracing?: OpenTracing | undefined;
  /** Time. */
  readonly clock: Clock;
  /** Takes everything worth logging. */
  readonly logger: Logger;
  /** SIGTERM, SIGINT and SIGHUP. */
  readonly signals: SignalSource;
}

const HEALTH_REFRESH_MS = 1_000;
/** How long a client may take for the body of a request, or for its answer. */
const BODY_TIMEOUT_MS = 30_000;

/**
 * Runs the service until it is stopped.
 *
 * @throws When a part can't start: the error says which and why.
 */
export async function serve(
  settings: RateLimitSettings,
  options: ServeOptions,
): Promise<StopOutcome> {
  const { store, tls, registry, clock, logger } = options;
  // For durations; the time of day is for windows and for files.
  const steady = steadyClock(clock);
  const board = new HealthBoard();
  const health = new HealthState({
    board,
    isStoreHealthy: () => store.isHealthy(),
    needsDomain: settings.healthyWithConfig,
  });
  const compile = {
    mergeDomains: settings.mergeDomainConfig,
    keyPrefix: settings.cacheKeyPrefix,
    keyFormat: settings.cacheKeyFormat,
    onlyFixedWindow: settings.backendType === "altcache",
  };
  const candidate = options.candidateStore && new Candidate({
    directory: settings.candidateDirectory,
    ignoreDotFiles: settings.runtimeIgnoreDotFiles,
    compile,
    store: options.candidateStore,
    rules: decisionRules(settings),
    share: settings.candidateShare,
    maxInFlight: settings.candidateMaxInFlight,
    stats: registry,
    clock,
    logger,
  });
  const decider = createDecider(settings, { store, registry, candidate });
  const pausing = new Slices().open();
  const stopping = new AbortController();
  const loader: ConfigLoader = new ConfigLoader({
    load: (documents) =>
      // Before the first rules there are no decisions to hold up.
      loader.isLoaded
        ? loadInThread(documents, {
          compile,
          pausing,
          clock: steady,
          signal: stopping.signal,
        })
        : loadRules(documents, compile),
    async adopt(snapshot) {
      decider.adopt(snapshot);
      health.configured(snapshot.domainNames.length);
      await decider.showStatistics(pausing);
    },
    stats: registry,
    logger,
    pausing,
  });
  const source = openSource(settings, { loader, pausing, clock, logger });
  const endpoint = new DecisionEndpoint({
    decider,
    clock,
    stats: registry,
    refusals: new RefusalLog(logger, steady),
    maxDescriptors: settings.maxDescriptors,
    tracing: options.tracing?.tracing,
  });

  const lifecycle = new Lifecycle({
    logger,
    clock,
    signals: options.signals,
    graceMs: settings.shutdownGraceMs,
    drainDelayMs: settings.shutdownDrainDelayMs,
  });
  let failure: unknown;
  // What is added first is stopped last: all spans have ended by then.
  if (options.tracing !== undefined) lifecycle.add(options.tracing.part);
  lifecycle
    .onStopping(() => health.terminating())
    .onReload(async () => {
      await source.reload();
      await candidate?.reload();
    })
    .add(debugListener(settings, {
      decider,
      store,
      candidate,
      registry,
      logger,
      clock,
    }))
    .add({
      name: "counter store",
      start: () => store.start(),
      stop: () => store.stop(),
    })
    .add({
      name: "configuration",
      start: () => source.start(),
      stop() {
        stopping.abort();
        return source.stop();
      },
    })
    .add(healthRefresh(health, { clock, logger }))
    .add(processStats({ stats: registry, clock }));
  if (candidate !== undefined) lifecycle.add(candidate);
  if (tls !== undefined) {
    lifecycle.onReload(() => tls.files.reload()).add(tls.files);
  }
  if (options.statsSink !== undefined) lifecycle.add(options.statsSink);
  lifecycle.add(
    new PublicListeners({
      grpc: new H2GrpcServer({
        methods: grpcMethods({
          ...rateLimitMethods(endpoint),
          ...healthMethods(board),
        }, { settings, stats: registry, clock: steady }),
        address: grpcAddress(settings),
        tls: tls?.server,
        maxReceiveBytes: settings.maxRequestBytes,
        maxUnfinishedBytes: settings.maxUnfinishedBytes,
        maxConnectionAgeMs: settings.grpcMaxConnectionAgeMs,
        maxConnectionAgeGraceMs: settings.grpcMaxConnectionAgeGraceMs,
        keptNames: options.tracing === undefined ? [] : TRACE_FIELDS,
        logger,
      }),
      isGrpcTls: tls !== undefined,
      http: new Http1Server({
        hostname: settings.host,
        port: settings.port,
        requestTimeoutMs: BODY_TIMEOUT_MS,
        maxBodyBytesInFlight: Math.max(
          settings.maxUnfinishedBytes,
          2 * settings.maxRequestBytes,
        ),
        handler: createRouter({
          routes: publicRoutes({
            endpoint,
            health,
            maxBytes: settings.maxRequestBytes,
          }),
          logger,
        }),
        logger,
        clock,
      }),
      ready: () =>
        settings.forceStart || loader.isLoaded ? undefined : loader.firstLoad,
      onFailure(error) {
        failure = error;
        lifecycle.stop("a listener could not be opened");
      },
      logger,
    }),
  );
  await lifecycle.start();
  const outcome = await lifecycle.done;
  if (failure !== undefined) throw failure;
  return outcome;
}

/** The methods, counted, and what tells tools of them. */
function grpcMethods(
  methods: GrpcMethods,
  options: {
    readonly settings: RateLimitSettings;
    readonly stats: StatsRegistry;
    readonly clock: Clock;
  },
): GrpcMethods {
  return {
    ...measuredMethods(methods, options),
    ...(options.settings.grpcReflection ? reflectionMethods(methods) : {}),
  };
}

function createDecider(
  settings: RateLimitSettings,
  parts: {
    readonly store: CounterStore;
    readonly registry: StatsRegistry;
    readonly candidate: Candidate | undefined;
  },
): Decider {
  // Each path has seven counters; callers' paths get a third of the room.
  const maxPaths = (share: number): number =>
    Math.floor(settings.statsMaxNames * share / 7);
  return new Decider({
    store: parts.store,
    recorder: new StatsRecorder(parts.registry, {
      configured: createRuleStatsCache(parts.registry, {
        maxPaths: maxPaths(0.6),
      }),
      requested: createRuleStatsCache(parts.registry, {
        maxPaths: maxPaths(0.3),
      }),
    }),
    ...decisionRules(settings),
    watcher: parts.candidate?.comparison,
    dynamicMetadata: settings.dynamicMetadata,
    headers: settings.headersEnabled
      ? {
        limit: settings.limitHeader,
        remaining: settings.remainingHeader,
        reset: settings.resetHeader,
      }
      : undefined,
  });
}

function decisionRules(settings: RateLimitSettings): DecisionRules {
  return {
    keyFormat: settings.cacheKeyFormat,
    nearLimitRatio: settings.nearLimitRatio,
    stopWhenOver: settings.stopWhenOver,
    shadowMode: settings.shadowMode,
    quotaMode: settings.quotaMode,
  };
}

function debugListener(
  settings: RateLimitSettings,
  parts: {
    readonly decider: Decider;
    readonly store: CounterStore;
    readonly candidate: Candidate | undefined;
    readonly registry: StatsRegistry;
    readonly logger: Logger;
    readonly clock: Clock;
  },
): Part {
  const { decider, store, candidate, registry, logger, clock } = parts;
  const snapshot = () => decider.snapshot;
  const rules = decisionRules(settings);
  const profiler = new CpuProfiler(clock);
  const server = new Http1Server({
    hostname: settings.debugHost,
    port: settings.debugPort,
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
      const { hostname, port } = await opened(() => server.start(), {
        what: "debug",
        settings: "DEBUG_HOST and DEBUG_PORT",
      });
      logger.warn(`Listening for debug on ${shownAddress(hostname, port)}`);
    },
    stop(graceMs) {
      profiler.stop();
      return server.stop(graceMs);
    },
  };
}

function healthRefresh(
  health: HealthState,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Part {
  const refreshes = new Periodic({
    clock,
    intervalMs: HEALTH_REFRESH_MS,
    run: () => health.refresh(),
    onError: (error) =>
      logger.error("Cannot refresh health", { error: describeError(error) }),
  });
  return {
    name: "health",
    start() {
      refreshes.start();
      return Promise.resolve();
    },
    stop: () => refreshes.stop(),
  };
}

function grpcAddress(settings: RateLimitSettings): GrpcAddress {
  return settings.grpcUds === ""
    ? { kind: "tcp", host: settings.grpcHost, port: settings.grpcPort }
    : {
      kind: "unix",
      path: settings.grpcUds,
      mode: parseInt(settings.grpcUdsMode, 8),
    };
}
