/**
 * The part of the service that decides, one for each thread: rules in force,
 * counters, and the listeners for gRPC and HTTP.
 *
 * @module
 */

import { type Clock, steadyClock } from "../shared/clock.ts";
import { H2GrpcServer } from "../shared/grpc/h2_server.ts";
import { HealthBoard, healthMethods } from "../shared/grpc/health.ts";
import type { GrpcAddress, GrpcMethods } from "../shared/grpc/method.ts";
import { reflectionMethods } from "../shared/grpc/reflection.ts";
import { landingPages } from "../shared/http/landing_page.ts";
import { Http1Server } from "../shared/http1/server.ts";
import type { Logger } from "../shared/logger.ts";
import { documentPages } from "../shared/openapi/served_document.ts";
import { Periodic } from "../shared/periodic.ts";
import { describeError } from "../shared/settled.ts";
import type { Pausing } from "../shared/slices.ts";
import type { Part } from "../shared/stopper.ts";
import { TRACE_FIELDS, type Tracing } from "../shared/telemetry/tracing.ts";
import { VERSION } from "../shared/version.ts";
import type { ChangeReports } from "../shared/watch/change_reports.ts";
import { OverLimitKeys } from "./activity/over_limit_keys.ts";
import { DecisionEndpoint } from "./api/decision_endpoint.ts";
import { HealthState } from "./api/health_state.ts";
import { rateLimitDocument } from "./api/openapi.ts";
import { publicRoutes } from "./api/http_routes.ts";
import { measuredMethods, rateLimitMethods } from "./api/rate_limit_methods.ts";
import { RefusalLog } from "./api/refusal.ts";
import { createRouter } from "./api/router.ts";
import { Candidate } from "./candidate/candidate.ts";
import type { CounterStore } from "./counters/counter_store.ts";
import { Decider } from "./decision/decide.ts";
import type { DecisionRules } from "./decision/explain.ts";
import { StatsRecorder } from "./decision/stats_recorder.ts";
import type { GrpcTls } from "./grpc_tls.ts";
import type { ServingPorts } from "./listeners.ts";
import type { CompileOptions } from "./rules/compile.ts";
import { type ConfigDocument, type Loaded, loadRules } from "./rules/load.ts";
import { loadBesideDecisions } from "./rules/load_thread.ts";
import type { Snapshot } from "./rules/snapshot.ts";
import type { RateLimitSettings } from "./settings.ts";
import type { StatsRegistry } from "./stats/registry.ts";
import { createRuleStatsCache } from "./stats/stats.ts";

/** What a {@linkcode DecisionService} is made of. */
export interface DecisionParts {
  /** Keeps the counters. */
  readonly store: CounterStore;
  /** Keeps the counters of a candidate; undefined without one. */
  readonly candidateStore: CounterStore | undefined;
  /** TLS of the gRPC listener; undefined for plain text. */
  readonly tls: GrpcTls | undefined;
  /** Makes spans; undefined where tracing is off. */
  readonly tracing: Tracing | undefined;
  /** Keeps the statistics. */
  readonly registry: StatsRegistry;
  /** Reports changes of files. */
  readonly reports: ChangeReports;
  /** Gives the time. */
  readonly clock: Clock;
  /** Takes the log lines. */
  readonly logger: Logger;
  /**
   * Takes those about the candidate.
   *
   * @default {logger}
   */
  readonly candidateLogger?: Logger | undefined;
  /** Number of threads that share the ports. */
  readonly threads: number;
}

/** The listeners that requests come to. */
export interface DecisionListeners {
  /** Answers gRPC. */
  readonly grpc: H2GrpcServer;
  /** Answers HTTP. */
  readonly http: Http1Server;
}

/**
 * Milliseconds that a client may take for the body of a request, or for its
 * answer.
 */
const BODY_TIMEOUT_MS = 30_000;
/** Most connections to each port, for all threads together. */
const MAX_CONNECTIONS = 10_000;

/** Decides requests, once rules were adopted and the listeners are open. */
export class DecisionService {
  /** Makes the decisions. */
  readonly decider: Decider;
  /** The state that health checks report. */
  readonly health: HealthState;
  /** Candidate rules; undefined without any. */
  readonly candidate: Candidate | undefined;
  /** The counters that refuse most often; undefined when that is off. */
  readonly overLimitKeys: OverLimitKeys | undefined;
  readonly #settings: RateLimitSettings;
  readonly #parts: DecisionParts;
  readonly #compile: CompileOptions;
  readonly #board = new HealthBoard();
  readonly #endpoint: DecisionEndpoint;
  readonly #stopping = new AbortController();

  /** Makes a service of which nothing is started or open yet. */
  constructor(settings: RateLimitSettings, parts: DecisionParts) {
    const { store, registry, clock, logger } = parts;
    this.#settings = settings;
    this.#parts = parts;
    this.#compile = {
      mergeDomains: settings.mergeDomainConfig,
      keyPrefix: settings.cacheKeyPrefix,
      keyFormat: settings.cacheKeyFormat,
      onlyFixedWindow: settings.backendType === "altcache",
    };
    this.health = new HealthState({
      board: this.#board,
      isStoreHealthy: () => store.isHealthy(),
      needsDomain: settings.healthyWithConfig,
    });
    this.candidate = parts.candidateStore && new Candidate({
      directory: settings.candidateDirectory,
      ignoreDotFiles: settings.runtimeIgnoreDotFiles,
      compile: this.#compile,
      store: parts.candidateStore,
      rules: decisionRules(settings),
      share: settings.candidateShare,
      maxInFlight: settings.candidateMaxInFlight,
      stats: registry,
      reports: parts.reports,
      clock,
      logger: parts.candidateLogger ?? logger,
    });
    this.overLimitKeys = settings.topKeys ? new OverLimitKeys() : undefined;
    this.decider = createDecider(settings, {
      store,
      registry,
      candidate: this.candidate,
      overLimit: this.overLimitKeys,
      logger,
    });
    this.#endpoint = new DecisionEndpoint({
      decider: this.decider,
      clock,
      stats: registry,
      refusals: new RefusalLog(logger, steadyClock(clock)),
      maxDescriptors: settings.maxDescriptors,
      tracing: parts.tracing,
    });
  }

  /** Parts that live as long as the service, in the order of their start. */
  get lifelongParts(): readonly Part[] {
    const { store, tls, clock } = this.#parts;
    const steady = steadyClock(clock);
    return [
      {
        name: "counter store",
        start: () => store.start(),
        stop: () => store.stop(),
      },
      secondly(() => {
        this.health.refresh();
        this.overLimitKeys?.fade(steady.nowMs());
      }, this.#parts),
      ...(this.candidate === undefined ? [] : [this.candidate]),
      ...(tls === undefined ? [] : [tls.files]),
    ];
  }

  /**
   * Makes the listeners, which are not open yet; `ports` replace those of the
   * settings.
   */
  listeners(ports?: ServingPorts): DecisionListeners {
    const settings = { ...this.#settings, ...ports };
    return {
      grpc: this.#grpcServer(settings),
      http: this.#httpServer(settings),
    };
  }

  /**
   * Loads rules from documents, in another thread where decisions would have to
   * wait.
   */
  load(
    documents: readonly ConfigDocument[],
    { pausing, isFirst }: {
      /** Lets decisions run in between. */
      readonly pausing: Pausing;
      /**
       * True for the first rules, before which there are no decisions to delay.
       */
      readonly isFirst: boolean;
    },
  ): Loaded | Promise<Loaded> {
    return isFirst
      ? loadRules(documents, this.#compile)
      : loadBesideDecisions(documents, {
        compile: this.#compile,
        pausing,
        clock: steadyClock(this.#parts.clock),
        signal: this.#stopping.signal,
      });
  }

  /** Puts rules into force. */
  adopt(snapshot: Snapshot): void {
    this.decider.adopt(snapshot);
    this.health.configured(snapshot.domainNames.length);
  }

  /**
   * Creates the statistics of all rules in force, so that rules without hits
   * are shown as well; takes a while.
   */
  async showStatistics(pausing: Pausing): Promise<void> {
    await this.decider.showStatistics(pausing);
  }

  /**
   * Reads files again, except for the rules in force: the candidate's rules and
   * the certificates.
   */
  async reload(): Promise<void> {
    await this.candidate?.reload();
    await this.#parts.tls?.files.reload();
  }

  /** Aborts the loading of rules. */
  abortLoads(): void {
    this.#stopping.abort();
  }

  #grpcServer(settings: RateLimitSettings): H2GrpcServer {
    const { registry, clock, logger, tls, tracing, threads } = this.#parts;
    const methods: GrpcMethods = {
      ...rateLimitMethods(this.#endpoint),
      ...healthMethods(this.#board),
    };
    const served = measuredMethods(methods, {
      stats: registry,
      clock: steadyClock(clock),
    });
    return new H2GrpcServer({
      methods: settings.grpcReflection
        ? { ...served, ...reflectionMethods(methods) }
        : served,
      address: grpcAddress(settings),
      reusePort: settings.reusePort || threads > 1,
      tls: tls?.server,
      maxReceiveBytes: settings.maxRequestBytes,
      maxHeaderBytes: settings.maxHeaderBytes,
      maxUnfinishedBytes: settings.maxUnfinishedBytes,
      maxConnections: Math.ceil(MAX_CONNECTIONS / threads),
      maxConnectionAgeMs: settings.grpcMaxConnectionAgeMs,
      maxConnectionAgeGraceMs: settings.grpcMaxConnectionAgeGraceMs,
      keptNames: tracing === undefined ? [] : TRACE_FIELDS,
      logger,
    });
  }

  #httpServer(settings: RateLimitSettings): Http1Server {
    const { clock, logger, threads } = this.#parts;
    return new Http1Server({
      hostname: settings.host,
      port: settings.port,
      reusePort: settings.reusePort || threads > 1,
      requestTimeoutMs: BODY_TIMEOUT_MS,
      maxHeaderBytes: settings.maxHeaderBytes,
      maxConnections: Math.ceil(MAX_CONNECTIONS / threads),
      maxBodyBytesInFlight: Math.max(
        settings.maxUnfinishedBytes,
        2 * settings.maxRequestBytes,
      ),
      handler: createRouter({
        routes: publicRoutes({
          endpoint: this.#endpoint,
          health: this.health,
          maxBytes: settings.maxRequestBytes,
        }),
        logger,
      }),
      pages: new Map([
        ...landingPages({
          name: "ratelimit",
          summary: "Decides whether requests are within their limits.",
          api: "POST /json",
          links: [
            { path: "/docs", text: "Reference of the API" },
            { path: "/openapi.json", text: "OpenAPI document" },
            { path: "/healthcheck", text: "Health" },
          ],
          alsoAt: ["/json"],
        }),
        ...documentPages(() => rateLimitDocument(VERSION)),
      ]),
      logger,
      clock,
    });
  }
}

/** Returns how decisions are made, from the settings. */
export function decisionRules(settings: RateLimitSettings): DecisionRules {
  return {
    keyFormat: settings.cacheKeyFormat,
    nearLimitRatio: settings.nearLimitRatio,
    stopWhenOver: settings.stopWhenOver,
    shadowMode: settings.shadowMode,
    quotaMode: settings.quotaMode,
  };
}

function createDecider(
  settings: RateLimitSettings,
  parts: {
    readonly store: CounterStore;
    readonly registry: StatsRegistry;
    readonly candidate: Candidate | undefined;
    readonly overLimit: OverLimitKeys | undefined;
    readonly logger: Logger;
  },
): Decider {
  // Each path has seven counters. Paths with values of callers get a third of
  // the room.
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
    overLimit: parts.overLimit,
    logger: parts.logger,
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

/** Makes a part that does its work each second. */
function secondly(
  run: () => void,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Part {
  const rounds = new Periodic({
    clock,
    intervalMs: 1_000,
    run,
    onError: (error) =>
      logger.error("Cannot refresh health and counts", {
        error: describeError(error),
      }),
  });
  return {
    name: "health",
    start() {
      rounds.start();
      return Promise.resolve();
    },
    stop: () => rounds.stop(),
  };
}

/** Returns the address on which gRPC listens, from the settings. */
export function grpcAddress(settings: RateLimitSettings): GrpcAddress {
  return settings.grpcUds === ""
    ? { kind: "tcp", host: settings.grpcHost, port: settings.grpcPort }
    : {
      kind: "unix",
      path: settings.grpcUds,
      mode: parseInt(settings.grpcUdsMode, 8),
    };
}
