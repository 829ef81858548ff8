/**
 * Puts the parts of the tasks service together.
 *
 * @module
 */

import { steadyClock } from "../shared/clock.ts";
import { randomBytes } from "../shared/random_bytes.ts";
import { FairTurns } from "../shared/fair_turns.ts";
import type { HttpHandler } from "../shared/http/exchange.ts";
import { addInstances } from "../shared/metrics/instance_metrics.ts";
import { metricsPart } from "../shared/http/metrics_port.ts";
import { openPort, shownAddress } from "../shared/http/open_port.ts";
import { Http1Server } from "../shared/http1/server.ts";
import { publicServerOptions } from "../shared/http1/settings.ts";
import { landingPages } from "../shared/http/landing_page.ts";
import { Periodic } from "../shared/periodic.ts";
import type { ServiceTools } from "../shared/run_service.ts";
import { describeError } from "../shared/settled.ts";
import { STORE_OVERRUN_MS } from "../shared/stopper.ts";
import type { Tracing } from "../shared/telemetry/tracing.ts";
import { VERSION } from "../shared/version.ts";
import type { WatchThread } from "../shared/watch/watch_thread.ts";
import { AlertWatch } from "./engine/alerts/alert_watch.ts";
import { AuditTrimmer } from "./engine/audit_trimmer.ts";
import { Authenticator } from "./access/authenticator.ts";
import { hashSecret } from "./access/credential_token.ts";
import { PushCaller } from "./delivery/push_call.ts";
import { cursorKey, MasterKeyWatch } from "./engine/common_keys.ts";
import { CredentialRecords } from "./engine/credential_records.ts";
import { Delivery } from "./engine/delivery.ts";
import { Engine } from "./engine/engine.ts";
import { EventWatch } from "./engine/events/event_watch.ts";
import { LastUsed } from "./engine/last_used.ts";
import { openParts } from "./engine/parts.ts";
import { warnOfUnknownPlans } from "./engine/plan_book.ts";
import { Push } from "./engine/push.ts";
import { Sessions } from "./engine/sessions.ts";
import { SecretsWorker } from "./engine/secrets_worker.ts";
import { TenantEraser } from "./engine/tenant_removal.ts";
import { Vault } from "./engine/vault.ts";
import { WebhookFeed } from "./engine/webhooks/webhook_feed.ts";
import { Cursors } from "./http/page.ts";
import { createHandler } from "./http/handler.ts";
import { IdempotentAnswers } from "./http/idempotency.ts";
import { RIGHTS_ROUTE } from "./mcp/rights_route.ts";
import type { TasksMcp, TasksMcpOptions } from "./mcp/tasks_mcp.ts";
import {
  addCallsInFlight,
  addEvents,
  addInbox,
  meteredCaller,
  TasksMetrics,
} from "./metrics/tasks_metrics.ts";
import { allRoutes, type AllRoutesOptions } from "./routes/all_routes.ts";
import type { ApiParts } from "./routes/api_parts.ts";
import { askReadiness } from "./routes/service/service_routes.ts";
import { openOperations } from "./routes/tasks/bulk_routes.ts";
import { InboxWorker } from "./routes/tasks/inbox_worker.ts";
import { viewTask } from "./routes/tasks/task_view.ts";
import { createStore } from "./open_store.ts";
import type { TasksSettings } from "./settings.ts";
import { demandWhole } from "./transfer/transfer_mark.ts";
import type { Store } from "./store/store.ts";
import { TaskIds } from "./store/task_id.ts";
import type { Configuration } from "./configuration.ts";

/** What the parts are made with, beside the settings. */
interface PartsOptions
  extends Configuration, Omit<ServiceTools, "openTracing"> {
  /** Reports changes of files, from the start of the service to its end. */
  readonly reports: WatchThread;
  /** The tracing of requests; undefined where tracing is off. */
  readonly tracing: Tracing | undefined;
}

/**
 * The part of the shutdown's grace period that is reserved for the store, after
 * push calls have stopped, in milliseconds.
 */
const STORE_GRACE_MS = 2_000;

/** Adds the parts of the service to its lifecycle. */
export async function addParts(
  settings: TasksSettings,
  options: PartsOptions,
): Promise<void> {
  const { plans, logger, lifecycle } = options;
  const metrics: TasksMetrics = new TasksMetrics({
    store: { tenantQueues: () => store.tenantQueues() },
    clock: options.clock,
    logger,
    agentSessions: () => agents?.sessions(),
  });
  const store = await createStore(settings, { ...options, metrics });
  // All that is stored is judged by the store's time.
  const { clock } = store;
  const ids = new TaskIds(clock, randomBytes);
  const parts = openParts({
    store,
    limitsOfPlan: plans.getLimits,
    clock: store.clock,
    address: shownAddress(settings.host, settings.port),
    random: Math.random,
    newId: ids.newId,
    logger,
  });
  const engine = new Engine(
    parts,
    settings.idpMirrorUsers ? options.identityProvider : undefined,
  );
  engine.changes.onChange(metrics.tasks.note);
  engine.recovery.onEnded((tasks) => {
    metrics.tasks.noteRecovered(tasks);
    logger.warn("Returned push calls of an instance that is gone", { tasks });
  });
  const vault = new Vault({
    repositories: parts.repositories,
    clock,
    masterKeys: options.masterKeys,
  });
  const caller = new PushCaller({
    allowList: options.allowList,
    allowHttp: settings.pushAllowHttp,
    clock,
  });
  const push = new Push({
    parts,
    changes: engine.changes,
    claims: engine.claims,
    delivery: new Delivery({
      parts,
      changes: engine.changes,
      vault,
      caller: meteredCaller(caller, { registry: metrics.registry, clock }),
      mirroring: engine.mirroring,
      tracing: options.tracing,
      view: (task, options) => viewTask(task, { ...options, payloads: true }),
    }),
    maxInFlight: settings.pushMaxInFlight,
  });
  addCallsInFlight(metrics.registry, () => push.inFlight);
  addEvents(metrics.registry, () => parts.events.counts);
  addInstances(metrics.registry, {
    service: "tasks",
    instances: () => parts.instances,
  });
  const operations = openOperations(engine);
  const eraser = new TenantEraser({ engine, vault });
  const lastUsed = new LastUsed({ ...parts });
  const secretsWorker = new SecretsWorker({ parts, keys: vault.keys });
  const masterKeyWatch = new MasterKeyWatch({
    parts,
    masterKeys: options.masterKeys,
  });
  const background = [
    operations,
    eraser,
    lastUsed,
    secretsWorker,
    masterKeyWatch,
    new AuditTrimmer(parts),
    new EventWatch({ parts, liveness: engine.liveness, usage: engine.usage }),
    new WebhookFeed({ parts, changes: engine.changes }),
    new AlertWatch({ parts, changes: engine.changes }),
  ];
  const turns = new FairTurns();
  const targets = {
    allowHttp: settings.pushAllowHttp,
    allowList: options.allowList,
  };
  const { inbox } = store;
  const enqueued = addInbox(metrics.registry, () => inboxWorker);
  const inboxWorker = inbox && new InboxWorker({
    parts: { engine, targets, onTimeMs: settings.onTimeMs },
    inbox,
    turns,
    onEnded: (outcome) => enqueued.of({ outcome }).add(),
  });
  // Every instance does it, since each has a file of plans of its own.
  const planChecks = new Periodic({
    clock,
    run: (signal) =>
      warnOfUnknownPlans({
        repositories: parts.repositories,
        plans,
        logger,
        signal,
      }),
    onError: (error) =>
      logger.error("Cannot find removed plans", {
        error: describeError(error),
      }),
  });
  let server: Http1Server | undefined;
  let agents: TasksMcp | undefined;
  let isStopping = false;
  lifecycle
    .add({
      name: "store",
      overrunMs: STORE_OVERRUN_MS,
      start: () => store.start(),
      stop: () => store.stop(),
    })
    .add({
      name: "copied rows",
      start: () => demandWhole(store),
      stop: () => Promise.resolve(),
    })
    .add({
      name: "engine",
      async start() {
        await engine.start();
      },
      stop: () => engine.stop(),
    })
    .add({
      name: "push",
      start() {
        push.start();
        return Promise.resolve();
      },
      async stop(graceMs) {
        // After this, tasks that push calls give back have to be written and
        // the store closed.
        await push.stop(graceMs - Math.min(STORE_GRACE_MS, graceMs / 2));
        await caller.close();
      },
    })
    .add({
      name: "background work",
      async start() {
        for (const worker of background) await worker.start();
        planChecks.start();
        planChecks.wake();
      },
      async stop() {
        await planChecks.stop();
        for (const worker of background) await worker.stop();
      },
    })
    .add({
      name: "inbox",
      start() {
        inboxWorker?.start();
        return Promise.resolve();
      },
      async stop() {
        await inboxWorker?.stop();
      },
    })
    .add(metrics.watch)
    .add(metricsPart({
      service: "tasks",
      host: settings.metricsHost,
      port: settings.metricsPort,
      text: () => metrics.text(),
      logger,
      clock,
    }))
    .add({
      name: "listener",
      async start() {
        const handler = await openApi(settings, {
          ...options,
          store,
          metrics,
          engine,
          vault,
          caller,
          targets,
          operations,
          lastUsed,
          secretsWorker,
          masterKeyWatch,
          turns,
          isStopping: () => isStopping,
          onAgents: (opened) => agents = opened,
          onTenantRemoved: () => eraser.wake(),
        });
        server = await listen(settings, { ...options, handler });
      },
      async stop(graceMs) {
        // Requests that have been read begin now, before they are told that the
        // service stops.
        turns.release();
        // Workers that wait for tasks get their answers before the port waits
        // for open requests.
        engine.leases.stop();
        await parts.events.stop();
        agents?.drain();
        await server?.stop(graceMs);
        agents?.end();
      },
    })
    .onStopping(() => {
      isStopping = true;
      server?.drain();
    })
    .onReload(() => options.tls?.reload())
    .onReload(() => options.plansFile?.reload());
  options.plansFile?.onReplaced(() => planChecks.wake());
  if (options.tls !== undefined) lifecycle.add(options.tls);
  if (options.plansFile !== undefined) lifecycle.add(options.plansFile);
  lifecycle.add(options.reports);
}

/** Opens the public port. */
async function listen(
  settings: TasksSettings,
  options: Pick<PartsOptions, "clock" | "logger" | "tls"> & {
    readonly handler: HttpHandler;
  },
): Promise<Http1Server> {
  const { clock, logger, tls, handler } = options;
  const server = new Http1Server({
    ...publicServerOptions(settings),
    handler,
    pages: landingPages({
      name: "tasks",
      summary: "Schedules tasks for many tenants: on time, at least once, " +
        "with retries, schedules and a history.",
      api: "/api/v1/ at each tenant's own host",
      links: [
        ...settings.console
          ? [{ path: "/console", text: "Console, at each tenant's own host" }]
          : [],
        { path: "/docs", text: "Reference of the API" },
        { path: "/openapi.json", text: "OpenAPI document" },
        { path: "/healthz", text: "Health" },
      ],
      alsoAt: ["/api/v1", "/api/v1/"],
    }),
    logger,
    clock,
    tls: tls && (() => tls.current),
  });
  const { hostname, port } = await openPort(() => server.start(), {
    service: "tasks",
    host: settings.host,
    port: settings.port,
  });
  const scheme = tls === undefined ? "http" : "https";
  logger.info(`Listening on ${scheme}://${shownAddress(hostname, port)}`, {
    tenants: `<domain>.${settings.serviceHost}`,
  });
  return server;
}

/** The parts that the API needs: the configuration and the running parts. */
interface OpenApiOptions
  extends
    PartsOptions,
    Pick<ApiParts, "engine" | "vault" | "caller" | "targets" | "isStopping">,
    Pick<AllRoutesOptions, "operations" | "onTenantRemoved"> {
  readonly store: Store;
  readonly metrics: TasksMetrics;
  readonly lastUsed: LastUsed;
  readonly secretsWorker: Pick<SecretsWorker, "unopenedTenants">;
  readonly masterKeyWatch: Pick<MasterKeyWatch, "isDifferent">;
  readonly turns: FairTurns;
  /** Called with the endpoint for agents when it is opened. */
  readonly onAgents: (agents: TasksMcp) => void;
}

/** Makes the handler of the public port. */
async function openApi(
  settings: TasksSettings,
  options: OpenApiOptions,
): Promise<HttpHandler> {
  const { logger, engine, plans, lastUsed, metrics } = options;
  const { clock } = engine.parts;
  // How many instances share out the rates of tenants and addresses.
  const { instances } = engine.parts;
  const liveInstances = (): number => Math.max(1, instances.members.length);
  const apiParts: ApiParts = {
    engine,
    vault: options.vault,
    plans,
    cursors: new Cursors(await cursorKey(options.store, randomBytes)),
    caller: options.caller,
    targets: options.targets,
    issuer: options.tokens === undefined ? undefined : settings.idpIssuer,
    accounts: {
      mode: settings.accountsMode,
      tokenDigests: listDigests(settings.accountsToken),
      perHour: settings.signupsPerHour,
      liveInstances,
      serviceHost: settings.serviceHost,
    },
    readiness: () => askReadiness({ ...options, instances }),
    isStopping: options.isStopping,
    durability: settings.durability,
    maxBatchBytes: settings.maxBatchBytes,
    onTimeMs: settings.onTimeMs,
  };
  const users = new CredentialRecords(engine.parts);
  const authenticator = new Authenticator({
    store: users,
    clock,
    tokens: options.tokens,
  });
  const sessions = new Sessions(engine.parts);
  const operatorDigests = listDigests(settings.operatorToken);
  const routes = [
    ...allRoutes(apiParts, {
      ...options,
      console: settings.console
        ? {
          ...{ sessions, authenticator, users, logger, operatorDigests },
          login: options.login,
        }
        : undefined,
    }),
    ...settings.mcp ? [RIGHTS_ROUTE] : [],
  ];
  const hosts = {
    serviceHost: settings.serviceHost,
    devFallback: settings.devTenantFallback,
    trustedProxies: options.trustedProxies,
  };
  const handler = createHandler({
    routes,
    ...hosts,
    repositories: engine.parts.repositories,
    limitsOfPlan: plans.getLimits,
    maxBodyBytes: settings.maxBodyBytes,
    maxBodiesBytes: settings.maxBodiesBytes,
    liveInstances,
    operatorDigests,
    authenticator,
    sessions,
    leaseSource: engine,
    answers: new IdempotentAnswers(engine.parts),
    turns: options.turns,
    ...metrics.ofRequests,
    onCaller: lastUsed.noteCaller,
    tracing: options.tracing,
    clock,
    logger,
  });
  return settings.mcp
    ? withAgents(handler, {
      metrics,
      onOpen: options.onAgents,
      mcp: {
        ...{ ...hosts, handler, routes, clock, logger, version: VERSION },
        newId: () => randomBytes(16).toHex(),
        maxBodyBytes: settings.maxBodyBytes,
        onCall: (call) => metrics.agents.count(call),
      },
    })
    : handler;
}

/**
 * Puts the endpoint for agents in front of the API. It is loaded with the first
 * request for it, so that a start does not wait for it.
 */
function withAgents(
  handler: HttpHandler,
  { mcp, metrics, onOpen }: {
    readonly mcp: TasksMcpOptions;
    readonly metrics: TasksMetrics;
    readonly onOpen: (agents: TasksMcp) => void;
  },
): HttpHandler {
  const steady = steadyClock(mcp.clock);
  let loading: Promise<TasksMcp> | undefined;
  const load = async (): Promise<TasksMcp> => {
    const { openTasksMcp } = await import("./mcp/tasks_mcp.ts");
    const agents = openTasksMcp(mcp);
    onOpen(agents);
    return agents;
  };
  return async (request) => {
    const { method, target } = request;
    if (method === "OPTIONS" || !/^[^?]*\/mcp(?:\?|$)/.test(target)) {
      return await handler(request);
    }
    const arrivedMs = steady.nowMs();
    const response = await (await (loading ??= load())).answer(request);
    if (response === undefined) return await handler(request);
    const { status } = response;
    // A 405 may name any method, and each would be a series of its own.
    if (status !== 405) {
      metrics.http.count({
        ...{ status, route: `${method} /mcp` },
        tookMs: steady.nowMs() - arrivedMs,
      });
    }
    return response;
  };
}

function listDigests(token: string): readonly string[] {
  return token === "" ? [] : [hashSecret(token)];
}
