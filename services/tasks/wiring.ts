/**
 * Puts the parts of the service together and runs them.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import { FairTurns } from "../shared/fair_turns.ts";
import type { HttpHandler } from "../shared/http/exchange.ts";
import { metricsPart } from "../shared/http/metrics_port.ts";
import { openPort } from "../shared/http/open_port.ts";
import { Http1Server } from "../shared/http1/server.ts";
import { publicServerOptions } from "../shared/http1/settings.ts";
import { Lifecycle, type SignalSource } from "../shared/lifecycle.ts";
import type { Logger } from "../shared/logger.ts";
import type { StopOutcome } from "../shared/stopper.ts";
import { Authenticator } from "./access/authenticator.ts";
import { CredentialCache, type KeyCredential } from "./access/credential.ts";
import { digestOf } from "./access/credential_token.ts";
import { ProviderWatch } from "./access/identity_provider.ts";
import { PushCaller } from "./delivery/push_call.ts";
import { CredentialRecords } from "./engine/credential_records.ts";
import { Delivery } from "./engine/delivery.ts";
import { Engine } from "./engine/engine.ts";
import { LastUsed } from "./engine/last_used.ts";
import {
  MirrorSettling,
  MirrorWorker,
} from "./engine/mirroring/mirror_worker.ts";
import { openParts } from "./engine/parts.ts";
import { warnOfUnknownPlans } from "./engine/plan_book.ts";
import { Push } from "./engine/push.ts";
import { serviceWrite } from "./engine/record_writes.ts";
import { REGISTRY } from "./engine/repositories.ts";
import { SecretsWorker } from "./engine/secrets_worker.ts";
import { TenantEraser } from "./engine/tenant_removal.ts";
import { Vault } from "./engine/vault.ts";
import { Cursors } from "./http/page.ts";
import { createHandler } from "./http/handler.ts";
import { IdempotentAnswers } from "./http/idempotent_answers.ts";
import type { WaitMetrics } from "./http/wait_metrics.ts";
import { allRoutes, type AllRoutesOptions } from "./routes/all_routes.ts";
import type { ApiParts, Readiness } from "./routes/api_parts.ts";
import { openOperations } from "./routes/tasks/bulk_routes.ts";
import { viewTask } from "./routes/tasks/task_view.ts";
import { settingWarnings } from "./setting_faults.ts";
import type { TasksSettings } from "./settings.ts";
import type { Store } from "./store/store.ts";
import { createTaskIds } from "./store/task_id.ts";
import type { WorkerCredential } from "./domain/records.ts";
import type { Certificate, Configuration } from "./configuration.ts";

/** What the service is given besides its settings. */
interface ServeOptions extends Configuration {
  /** Where everything is stored. */
  readonly store: Store;
  /** Counts how long requests wait; the store reports commits to it. */
  readonly waits: WaitMetrics;
  /** The certificate, when the port speaks https. */
  readonly tls: Certificate | undefined;
  /** Gives random bytes fit for keys. */
  readonly randomBytes: (length: number) => Uint8Array;
  /** Time. */
  readonly clock: Clock;
  /** Logs. */
  readonly logger: Logger;
  /** SIGTERM, SIGINT and SIGHUP. */
  readonly signals: SignalSource;
}

/** The part of the grace that push calls leave to what comes after them. */
const STORE_GRACE_MS = 2_000;

/**
 * Runs the service until it is stopped.
 *
 * @throws When a part can't start: the error says which and why.
 */
export async function serve(
  settings: TasksSettings,
  options: ServeOptions,
): Promise<StopOutcome> {
  const { store, plans, clock, logger } = options;
  for (const warning of settingWarnings(settings)) logger.warn(warning);
  const ids = createTaskIds({ clock, randomBytes: options.randomBytes });
  const parts = openParts({
    store,
    limitsOfPlan: (plan) => plans.plan(plan).limits,
    clock,
    random: Math.random,
    newId: (prefix) => `${prefix}_${ids.next().slice(4)}`,
    logger,
  });
  const engine = new Engine(parts);
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
      caller,
      view: (task, options) => viewTask(task, { ...options, payloads: true }),
    }),
    maxInFlight: settings.pushMaxInFlight,
  });
  const operations = openOperations(engine);
  const { identityProvider: mirror } = options;
  const mirrorSettling = settings.idpMirrorUsers && mirror !== undefined
    ? new MirrorSettling({ mirror, parts })
    : undefined;
  const mirrorWorker = mirrorSettling &&
    new MirrorWorker({ settling: mirrorSettling, parts });
  const eraser = new TenantEraser({ engine, vault, mirrorWorker });
  const lastUsed = new LastUsed({ ...parts });
  const secretsWorker = new SecretsWorker({ parts, vault });
  const lifecycle = new Lifecycle({
    logger,
    clock,
    graceMs: settings.shutdownGraceMs,
    signals: options.signals,
  });
  const turns = new FairTurns();
  const stopping = new AbortController();
  let planCheck: Promise<void> | undefined;
  let server: Http1Server | undefined;
  lifecycle
    .add({
      name: "store",
      start: () => store.start(),
      stop: () => store.stop(),
    })
    .add({
      name: "engine",
      async start() {
        const recovered = await engine.start();
        if (recovered > 0) {
          logger.warn("Returned push calls of an earlier start", {
            tasks: recovered,
          });
        }
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
        // What is given back has to be written, and the store to be closed.
        await push.stop(graceMs - Math.min(STORE_GRACE_MS, graceMs / 2));
        await caller.close();
      },
    })
    .add({
      name: "background work",
      async start() {
        await operations.start();
        eraser.start();
        mirrorWorker?.start();
        lastUsed.start();
        secretsWorker.start();
        planCheck = warnOfUnknownPlans({
          repositories: parts.repositories,
          plans,
          logger,
          signal: stopping.signal,
        });
      },
      async stop() {
        stopping.abort();
        await planCheck;
        await operations.stop();
        await eraser.stop();
        await mirrorWorker?.stop();
        await lastUsed.stop();
        await secretsWorker.stop();
      },
    })
    .add(metricsPart({
      host: settings.metricsHost,
      port: settings.metricsPort,
      text: () => options.waits.text(),
      logger,
      clock,
    }))
    .add({
      name: "listener",
      async start() {
        const handler = await openApi(settings, {
          ...options,
          running: { engine, vault, caller },
          lastUsed,
          secretsWorker,
          mirrorSettling,
          turns,
          background: {
            operations,
            onTenantRemoved: () => eraser.wake(),
          },
        });
        server = await listen(settings, { ...options, handler });
      },
      async stop(graceMs) {
        // What has been read is begun before the signal tells that the end is near.
        turns.release();
        await server?.stop(graceMs);
      },
    })
    // Workers that wait for tasks go home before the port waits for them.
    .onStopping(() => engine.leases.stop())
    .onReload(async () => {
      if (options.tls === undefined || !await options.tls.reload()) return;
      await server?.reloadTls();
      logger.info("Reloaded certificate", {
        not_after: options.tls.notAfter().toISOString(),
      });
    });
  await lifecycle.start();
  return await lifecycle.done;
}

/** Opens the public port. */
async function listen(
  settings: TasksSettings,
  options: Pick<ServeOptions, "clock" | "logger" | "tls"> & {
    readonly handler: HttpHandler;
  },
): Promise<Http1Server> {
  const { clock, logger, tls, handler } = options;
  const server = new Http1Server({
    ...publicServerOptions(settings),
    handler,
    logger,
    clock,
    tls: tls && { certificate: tls.certificate },
  });
  const { hostname, port } = await openPort(() => server.start(), settings);
  const scheme = tls === undefined ? "http" : "https";
  logger.info(`Listening on ${scheme}://${hostname}:${port}`, {
    tenants: `<domain>.${settings.serviceHost}`,
  });
  return server;
}

/** The parts that the API needs. */
interface OpenApiOptions extends ServeOptions {
  /** What runs already. */
  readonly running: Pick<ApiParts, "engine" | "vault" | "caller">;
  /** Notes when credentials are used. */
  readonly lastUsed: LastUsed;
  /** Knows whether the keys of tenants open. */
  readonly secretsWorker: Pick<SecretsWorker, "unopenedTenants">;
  /** Mirrors users; absent when nothing is mirrored. */
  readonly mirrorSettling: ApiParts["mirrorSettling"];
  /** What requests take turns in. */
  readonly turns: FairTurns;
  /** What runs in the background on behalf of routes. */
  readonly background: Pick<AllRoutesOptions, "operations" | "onTenantRemoved">;
}

/** Where the key of cursors is kept, so that they outlive a restart. */
const CURSOR_KEY_ID = "cursor_key";

/** Makes the handler of the public port. */
async function openApi(
  settings: TasksSettings,
  options: OpenApiOptions,
): Promise<HttpHandler> {
  const { clock, logger, lastUsed } = options;
  const { engine } = options.running;
  const apiKeys = new CredentialCache<KeyCredential>({ clock });
  const workerCredentials = new CredentialCache<WorkerCredential>({ clock });
  const provider = options.identityProvider &&
    new ProviderWatch({ provider: options.identityProvider, logger });
  const apiParts: ApiParts = {
    ...options.running,
    plans: options.plans,
    cursors: new Cursors(await cursorKey(options)),
    targets: {
      allowHttp: settings.pushAllowHttp,
      allowList: options.allowList,
    },
    apiKeys,
    workerCredentials,
    mirrorSettling: options.mirrorSettling,
    issuer: options.tokens === undefined ? undefined : settings.idpIssuer,
    accounts: {
      mode: settings.accountsMode,
      tokenDigests: digestsOf(settings.accountsToken),
      perHour: settings.signupsPerHour,
      serviceHost: settings.serviceHost,
    },
    readiness: () => readiness(options, provider),
    durability: settings.durability,
    maxBatchBytes: settings.maxBatchBytes,
  };
  const routes = allRoutes(apiParts, {
    ...options.background,
    tokens: options.tokens,
  });
  return createHandler({
    routes,
    serviceHost: settings.serviceHost,
    devFallback: settings.devTenantFallback,
    trustedProxies: options.trustedProxies,
    repositories: engine.parts.repositories,
    limitsOfPlan: (plan) => options.plans.plan(plan).limits,
    maxBodyBytes: settings.maxBodyBytes,
    maxBodiesBytes: settings.maxBodiesBytes,
    operatorDigests: digestsOf(settings.operatorToken),
    authenticator: new Authenticator({
      store: new CredentialRecords(engine.parts),
      apiKeys,
      workerCredentials,
      clock,
      tokens: options.tokens,
    }),
    leaseSource: engine,
    answers: new IdempotentAnswers(engine.parts),
    turns: options.turns,
    onWaited: (key, waitedMs) => options.waits.noteTurn(key, waitedMs),
    onCaller: (who) => lastUsed.noteCaller(who),
    clock,
    logger,
  });
}

function digestsOf(token: string): readonly string[] {
  return token === "" ? [] : [digestOf(token)];
}

/** The key that seals cursors; made at the first start. */
async function cursorKey(
  { store, randomBytes }: Pick<ServeOptions, "store" | "randomBytes">,
): Promise<Uint8Array> {
  const known = await store.record("service", REGISTRY, CURSOR_KEY_ID);
  if (known !== undefined) return Uint8Array.fromBase64(known.text);
  const key = randomBytes(32);
  const place = { tenantId: REGISTRY, id: CURSOR_KEY_ID };
  await store.commit([{ writes: [serviceWrite(place, key.toBase64())] }]);
  return key;
}

async function readiness(
  { store, secretsWorker }: Pick<OpenApiOptions, "store" | "secretsWorker">,
  provider: ProviderWatch | undefined,
): Promise<Readonly<Record<string, Readiness>>> {
  const checks: Record<string, Readiness> = {};
  try {
    await store.check();
    checks.store = { isReady: true };
  } catch {
    checks.store = { isReady: false, detail: "it cannot be read or written" };
  }
  if (provider !== undefined) {
    const outcome = await provider.check();
    checks.idp = outcome.kind === "ok"
      ? { isReady: true }
      : { isReady: false, detail: outcome.kind };
  }
  // All else works, so it is ready; the number is not for anonymous callers.
  if (secretsWorker.unopenedTenants > 0) {
    checks.secrets = {
      isReady: true,
      detail: "some tenants' secrets cannot be opened with the master keys " +
        "that are configured",
    };
  }
  return checks;
}
