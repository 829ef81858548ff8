/**
 * Makes the parts of the relayer service from its settings.
 *
 * @module
 */

import { steadyMs } from "../shared/clock.ts";
import { FairTurns } from "../shared/fair_turns.ts";
import { parseTrustedProxies } from "../shared/http/client_address.ts";
import { landingPages } from "../shared/http/landing_page.ts";
import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
} from "../shared/http/exchange.ts";
import { metricsPart } from "../shared/http/metrics_port.ts";
import { openPort, shownAddress } from "../shared/http/open_port.ts";
import { Http1Server } from "../shared/http1/server.ts";
import { publicServerOptions } from "../shared/http1/settings.ts";
import { deriveRegistryId } from "../shared/ledger/account_contract.ts";
import { documentPages } from "../shared/openapi/served_document.ts";
import { Instances } from "../shared/instances.ts";
import { Periodic } from "../shared/periodic.ts";
import type { ServiceTools } from "../shared/run_service.ts";
import { describeError } from "../shared/settled.ts";
import { STORE_OVERRUN_MS } from "../shared/stopper.ts";
import type { Tracing } from "../shared/telemetry/tracing.ts";
import { askReadiness } from "./api/routes/service_routes.ts";
import { relayerDocument } from "./api/document/relayer_document.ts";
import { withCors } from "./api/cors.ts";
import { allRoutes, createHandler } from "./api/handler.ts";
import type { RelayerParts } from "./api/parts.ts";
import { WatchedEmbedder } from "./embed/watched_embedder.ts";
import { ActivityLog, STEP_MS } from "./console/activity_log.ts";
import type { RelayerConsole } from "./console/console.tsx";
import type { OperatorView } from "./console/operator_page.tsx";
import { RelayerMetrics } from "./metrics/relayer_metrics.ts";
import { openData, type RelayerData, removeExpired } from "./open_data.ts";
import {
  DUTIES,
  openAccess,
  openModels,
  openWork,
  type RelayerAccess,
  type RelayerInstances,
  type RelayerWork,
} from "./open_work.ts";
import { SHARED_SYNC_MS } from "./auth/rate_limits.ts";
import type { OpenRpc } from "./ledger/embedded_rpc.ts";
import { resolveKeyServerThreshold } from "./ledger/key_server_input.ts";
import type { RelayerMcp } from "./mcp/relayer_mcp.ts";
import type { RelayerSettings } from "./settings.ts";

/** What the parts of the relayer are made with, beside its settings. */
interface PartsOptions extends Omit<ServiceTools, "openTracing"> {
  /** The relayer's version, such as `1.2.3`. */
  readonly version: string;
  /** Gives random bytes fit for ids. */
  readonly randomBytes: (length: number) => Uint8Array;
  /** Returns a number from 0 up to, but not including, 1. */
  readonly random: () => number;
  /** Makes spans; undefined where tracing is off. */
  readonly tracing: Tracing | undefined;
  /**
   * Loads what answers JSON-RPC over the embedded ledger.
   *
   * @default nothing answers it
   */
  readonly loadRpc?: (() => Promise<OpenRpc>) | undefined;
  /**
   * Serves the API elsewhere than at the ports of the settings, of which none
   * is opened then.
   *
   * @default the ports
   */
  readonly openFront?: ((handler: HttpHandler) => Promise<Front>) | undefined;
}

/** What hands requests to the API's handler, such as a server at a port. */
export type Front = Pick<Http1Server, "drain" | "stop">;

const SWEEP_EVERY_MS = 60_000;
const FLUSH_EVERY_MS = 5_000;
const CHECK_EVERY_MS = 5_000;
/**
 * How long `/health` waits for the index to load at most; less than health
 * probes wait by default.
 */
const SETTLE_MS = 900;

/** The parts that are there once the data is open. */
interface Running {
  readonly data: RelayerData;
  readonly instances: RelayerInstances;
  readonly access: RelayerAccess;
  readonly work: RelayerWork;
}

/**
 * Adds the parts of the relayer to its lifecycle.
 *
 * @throws {Error} when a model that the settings name cannot be used
 */
export async function addParts(
  settings: RelayerSettings,
  options: PartsOptions,
): Promise<void> {
  const { clock, logger, lifecycle, tracing } = options;
  const turns = new FairTurns();
  let running: Running | undefined;
  let front: Front | undefined;
  let agents: RelayerMcp | undefined;
  let isStopping = false;
  let rounds: readonly Periodic[] = [];
  let preloading: Promise<void> | undefined;
  let probed: Promise<void> | undefined;
  const settled = Promise.withResolvers<void>();
  const parts = (): Running => {
    if (running === undefined) throw new Error("the data is not open");
    return running;
  };
  const isWriteReady = (): boolean =>
    !isStopping && !parts().instances.isFenced &&
    parts().work.intake.isReady && parts().data.storage.isReady;
  const metrics = new RelayerMetrics(clock, {
    index: () => running?.work.index,
    questions: () => running?.work.questionCounts(),
    renewal: () =>
      settings.renewalsPerSecond > 0
        ? running?.work.renewal.progress
        : undefined,
    isWriteReady,
    instances: () => running?.instances,
    agentSessions: () => agents?.sessions(),
  });
  const metered = metrics.partners.meteredModels(
    await openModels(settings, { clock, tracing }),
  );
  const metricsText = async (): Promise<string> => {
    const { store } = parts().data;
    await metrics.jobs.readLag(store, clock.nowMs());
    await metrics.readMemories(store);
    return metrics.registry.text();
  };
  const activity = new ActivityLog();
  const embedder = new WatchedEmbedder(metered.embedder);
  const models = { ...metered, embedder };
  const probing = new AbortController();
  lifecycle
    .add({
      name: "data",
      overrunMs: STORE_OVERRUN_MS,
      async start() {
        const data = meteredData(
          await openData(settings, {
            ...{ ...options, tracing },
            ofDatabase: metrics.ofDatabase,
          }),
          metrics,
        );
        try {
          const instances: RelayerInstances = new Instances({
            store: data.store,
            duties: DUTIES,
            clock,
            newId: (prefix) => `${prefix}_${options.randomBytes(12).toHex()}`,
            logger,
            address: shownAddress(settings.host, settings.port),
          });
          const tools = { ...options, data, instances };
          const access = await openAccess(settings, tools);
          const work = openWork(settings, { ...tools, models, turns });
          running = { data, instances, access, work };
        } catch (error) {
          await data.close();
          throw error;
        }
      },
      async stop() {
        await running?.access.flush();
        await running?.work.index.stop();
        await preloading;
        await running?.data.close();
      },
    })
    .add({
      name: "instance",
      start: () => parts().instances.join(),
      stop: () => running?.instances.leave() ?? Promise.resolve(),
    })
    .add({
      name: "jobs",
      start() {
        parts().work.waiters.start();
        parts().work.runner.start();
        return Promise.resolve();
      },
      stop: (graceMs) => parts().work.runner.stop(graceMs),
    })
    .add({
      name: "background work",
      start() {
        rounds = backgroundWork(settings, {
          ...parts(),
          clock,
          logger,
          noteActivity: () => activity.note(metrics.registry.text()),
        });
        activity.note(metrics.registry.text());
        for (const round of rounds) round.start();
        return Promise.resolve();
      },
      async stop() {
        await Promise.all(rounds.map((round) => round.stop()));
      },
    })
    .add(metrics.watch);
  if (options.openFront === undefined) {
    lifecycle.add(metricsPart({
      service: "relayer",
      host: settings.metricsHost,
      port: settings.metricsPort,
      text: metricsText,
      pages: settings.console
        ? operatorPages({
          log: activity,
          view: async () => ({
            metrics: await metricsText(),
            instances: running?.instances,
            version: options.version,
          }),
        })
        : undefined,
      logger,
      clock,
    }));
  }
  lifecycle
    .add({
      name: "listener",
      async start() {
        front = await serveApi(settings, {
          ...options,
          ...parts(),
          models,
          metrics,
          onAgents: (opened) => agents = opened,
          turns,
          isWriteReady,
          isStopping: () => isStopping,
          settled: settled.promise,
        });
      },
      async stop(graceMs) {
        // Requests that have been read, and those that wait for a job, are
        // answered first, so that closing the port need not wait for them.
        turns.release();
        running?.work.waiters.stop();
        running?.access.refusalDelay.releaseAll();
        agents?.drain();
        await front?.stop(graceMs);
        agents?.end();
      },
    })
    // Loaded after the port is open: a recall waits only for the memories of
    // its own owner.
    .add({
      name: "index",
      start() {
        const { work, data } = parts();
        preloading = work.index.preload().then(() => {}, (error) => {
          if (data.storage.note(error)) return;
          logger.error("Cannot load the index: it is loaded as owners recall", {
            error: describeError(error),
          });
        });
        const timer = clock.setTimer(settled.resolve, SETTLE_MS);
        void preloading.then(() => {
          timer.cancel();
          settled.resolve();
          if (!isStopping) work.index.startSnapshots();
        });
        if (settings.renewalsPerSecond > 0) work.renewal.start(preloading);
        // A width that does not fit is found now, not by the first caller.
        if (settings.embeddingUrl !== "") {
          probed = embedder.probe({ logger, signal: probing.signal });
        }
        return Promise.resolve();
      },
      async stop() {
        probing.abort();
        await probed;
        running?.work.index.endPreload();
        await running?.work.renewal.stop();
      },
    })
    .onStopping(() => {
      isStopping = true;
      front?.drain();
    });
}

/**
 * Returns the same data with metrics on the calls of its store and blob store.
 */
function meteredData(
  data: RelayerData,
  { jobs, partners }: RelayerMetrics,
): RelayerData {
  return {
    ...data,
    store: jobs.metered(data.store),
    blobs: partners.meteredBlobs(data.blobs),
  };
}

/** Makes the periodic work of the service. */
function backgroundWork(
  settings: RelayerSettings,
  { data, instances, access, clock, logger, noteActivity }:
    & Running
    & Pick<PartsOptions, "clock" | "logger">
    & { readonly noteActivity: () => void },
): readonly Periodic[] {
  const { store, storage } = data;
  const work = [
    {
      action: "remove what has expired",
      intervalMs: SWEEP_EVERY_MS,
      run: async (signal: AbortSignal) => {
        if (!instances.holds("sweep")) return;
        const nowMs = store.clock.nowMs();
        await removeExpired(data, { settings, nowMs, signal });
      },
    },
    {
      action: "write down rate windows",
      intervalMs: store.hasOwnTime ? SHARED_SYNC_MS : FLUSH_EVERY_MS,
      run: () => access.syncRates(),
    },
    {
      action: "check the storage",
      intervalMs: CHECK_EVERY_MS,
      run: () => storage.check(),
    },
    ...settings.console
      ? [{
        action: "note the counts of the last seconds",
        intervalMs: STEP_MS,
        run: () => Promise.resolve(noteActivity()),
      }]
      : [],
  ];
  return work.map(({ action, intervalMs, run }) =>
    new Periodic({
      ...{ clock, intervalMs, run },
      onError: (error) => {
        if (storage.note(error)) return;
        logger.error(`Cannot ${action}`, { error: describeError(error) });
      },
    })
  );
}

/**
 * Answers requests for the operator's page on the port of the metrics; it is
 * loaded with the first of them.
 */
function operatorPages(
  { log, view }: {
    readonly log: ActivityLog;
    readonly view: () => Promise<Omit<OperatorView, "activity">>;
  },
): (request: HttpRequest) => Promise<HttpResponse> | undefined {
  return (request) =>
    isConsolePath(request)
      ? import("./console/operator_page.tsx").then(({ answerOperator }) =>
        answerOperator(
          request,
          async () => ({ ...await view(), activity: log.activity }),
        )
      )
      : undefined;
}

function isConsolePath({ target }: HttpRequest): boolean {
  return /^\/console(?:[/?]|$)/.test(target);
}

/**
 * Puts the console in front of a handler. The console is loaded with the first
 * request for it, so that a start does not wait for it.
 */
function withConsole(
  handler: HttpHandler,
  { isOn, ledgerUrl }: {
    readonly isOn: boolean;
    readonly ledgerUrl: () => string | undefined;
  },
): HttpHandler {
  if (!isOn) return handler;
  let loading: Promise<RelayerConsole> | undefined;
  const load = async () => {
    const { RelayerConsole } = await import("./console/console.tsx");
    return new RelayerConsole(ledgerUrl());
  };
  return (request) =>
    isConsolePath(request)
      ? (loading ??= load()).then((pages) => pages.answer(request))
      : handler(request);
}

/**
 * Puts the endpoint for agents in front of the API. It is loaded with the first
 * request for it, so that a start does not wait for it.
 */
function withAgents(
  handler: HttpHandler,
  { metrics, parts, randomBytes, onOpen }: {
    readonly metrics: RelayerMetrics;
    readonly parts: RelayerParts;
    readonly randomBytes: PartsOptions["randomBytes"];
    readonly onOpen: (agents: RelayerMcp) => void;
  },
): HttpHandler {
  const { clock, corsOrigins } = parts;
  let loading: Promise<RelayerMcp> | undefined;
  const load = async (): Promise<RelayerMcp> => {
    const { openRelayerMcp } = await import("./mcp/relayer_mcp.ts");
    const agents = openRelayerMcp({
      ...parts,
      handler,
      newId: () => randomBytes(16).toHex(),
      onCall: (call) => metrics.agents.count(call),
    });
    onOpen(agents);
    return agents;
  };
  return async (request) => {
    const { method } = request;
    const [path = ""] = request.target.split("?", 1);
    if (method === "OPTIONS" || !/^\/api\/mcp(?:\/|$)/.test(path)) {
      return await handler(request);
    }
    const arrivedMs = steadyMs(clock);
    const response = await (await (loading ??= load())).answer(request);
    if (response === undefined) return await handler(request);
    const { status } = response;
    const tookMs = steadyMs(clock) - arrivedMs;
    // A 405 may name any method, and each would be a series of its own.
    if (status !== 405) {
      metrics.http.count({ route: `${method} ${path}`, status, tookMs });
    }
    return withCors(response, request, corsOrigins);
  };
}

/** Makes the API's handler, and opens what serves it. */
async function serveApi(
  settings: RelayerSettings,
  options:
    & Running
    & {
      readonly models: Awaited<ReturnType<typeof openModels>> & {
        readonly embedder: WatchedEmbedder;
      };
      readonly metrics: RelayerMetrics;
      readonly onAgents: (agents: RelayerMcp) => void;
      readonly isWriteReady: () => boolean;
      readonly isStopping: () => boolean;
      readonly settled: Promise<void>;
      readonly turns: FairTurns;
    }
    & Pick<
      PartsOptions,
      "version" | "clock" | "logger" | "tracing" | "randomBytes" | "openFront"
    >,
): Promise<Front> {
  const { data, access, work, models, clock, logger } = options;
  let url = settings.publicUrl;
  const parts: RelayerParts = {
    ...data,
    ...models,
    ...access,
    ...work,
    embedder: work.questions,
    turns: options.turns,
    jobWatch: work.waiters,
    clock,
    logger,
    tracing: options.tracing,
    version: options.version,
    buildCommit: undefined,
    network: settings.ledgerNetwork,
    get ledgerRpcUrl() {
      if (settings.ledgerRpcUrl !== "") return settings.ledgerRpcUrl;
      return settings.ledgerRpcEnabled ? url : undefined;
    },
    registryId: settings.ledgerRpcUrl === ""
      ? deriveRegistryId(data.ledger.packageId)
      : settings.ledgerRegistryId || undefined,
    keyServerThreshold: resolveKeyServerThreshold(settings),
    isRateLimitDisabled: settings.rateLimitDisabled,
    metrics: options.metrics.http,
    get isWriteReady() {
      return options.isWriteReady();
    },
    readiness: () => askReadiness({ ...options, ...data }),
    isStopping: options.isStopping,
    embedderState: () => models.embedder.state,
    settled: options.settled,
    quotaBytes: settings.quotaBytes,
    pointBytes: settings.pointBytes,
    corsOrigins: settings.corsOrigins,
    trustedProxies: parseTrustedProxies(settings.trustedProxies, []),
  };
  const api = createHandler(parts);
  const { openFront } = options;
  if (openFront !== undefined) return await openFront(api);
  const handler = settings.mcp
    ? withAgents(api, { ...options, parts, onOpen: options.onAgents })
    : api;
  const server = new Http1Server({
    ...publicServerOptions(settings),
    handler: withConsole(handler, {
      isOn: settings.console,
      ledgerUrl: () => parts.ledgerRpcUrl,
    }),
    pages: new Map([
      ...landingPages({
        name: "relayer",
        summary:
          "Remembers text for an account, encrypted, and finds it again.",
        api: "POST /api/remember, /api/recall and more, signed; use the SDK",
        links: [
          ...settings.console
            ? [{ path: "/console", text: "Console for owners" }]
            : [],
          { path: "/docs", text: "Reference of the API" },
          { path: "/openapi.json", text: "OpenAPI document" },
          { path: "/health", text: "Health" },
        ],
      }),
      ...documentPages(() =>
        relayerDocument(allRoutes(parts), options.version)
      ),
    ]),
    logger,
    clock,
  });
  const { hostname, port } = await openPort(() => server.start(), {
    service: "relayer",
    host: settings.host,
    port: settings.port,
  });
  const address = `http://${shownAddress(hostname, port)}`;
  if (url === "") url = address;
  logger.info(`Listening on ${address}`, {
    embedder: models.embedder.model,
    extractor: models.extractor.name,
    memories: await data.store.memoryCount(),
  });
  return server;
}
