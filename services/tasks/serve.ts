/**
 * The service, put together from its settings.
 *
 * @module
 */

import { FairTurns } from "../shared/fair_turns.ts";
import type { HttpHandler } from "../shared/http/exchange.ts";
import { metricsPart } from "../shared/http/metrics_port.ts";
import { openPort } from "../shared/http/open_port.ts";
import { PublicServer } from "../shared/http/public_server.ts";
import { publicServerOptions } from "../shared/http/public_settings.ts";
import { Lifecycle } from "../shared/lifecycle.ts";
import type { StopOutcome } from "../shared/stopper.ts";
import { LastUsed } from "./engine/last_used.ts";
import { MirrorRounds } from "./engine/mirroring/mirror_rounds.ts";
import { MirrorSettling } from "./engine/mirroring/mirror_settling.ts";
import { Operations } from "./routes/tasks/operations.ts";
import { TenantEraser } from "./engine/tenant_eraser.ts";
import { warnOfUnknownPlans } from "./engine/unknown_plans.ts";
import { viewTask } from "./routes/tasks/task_view.ts";
import { PushCaller } from "./delivery/push_call.ts";
import { Delivery } from "./engine/delivery.ts";
import { Engine } from "./engine/engine.ts";
import { openParts } from "./engine/open_parts.ts";
import { Push } from "./engine/push.ts";
import { SecretsRounds } from "./engine/secrets_rounds.ts";
import { Vault } from "./engine/vault.ts";
import { openApi } from "./open_api.ts";
import type { ServeOptions } from "./serve_options.ts";
import { settingWarnings } from "./setting_warnings.ts";
import type { TasksSettings } from "./settings.ts";
import { createTaskIds } from "./store/task_id.ts";

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
    ...(options.masterKeys === undefined
      ? {}
      : { masterKeys: options.masterKeys }),
  });
  const caller = new PushCaller({
    allowList: options.parsed.allowList,
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
  const operations = new Operations(engine);
  const { identityProvider: mirror } = options;
  const mirrorSettling = settings.idpMirrorUsers && mirror !== undefined
    ? new MirrorSettling({ mirror, parts })
    : undefined;
  const mirrorRounds = mirrorSettling &&
    new MirrorRounds({ settling: mirrorSettling, parts });
  const eraser = new TenantEraser({ engine, vault, mirrorRounds });
  const lastUsed = new LastUsed({ ...parts });
  const secretsRounds = new SecretsRounds({ parts, vault });
  const lifecycle = new Lifecycle({
    logger,
    clock,
    graceMs: settings.shutdownGraceMs,
    signals: options.signals,
  });
  const turns = new FairTurns();
  const stopping = new AbortController();
  let planCheck: Promise<void> | undefined;
  let server: PublicServer | undefined;
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
          logger.warn("Gave back push calls of an earlier start", {
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
        mirrorRounds?.start();
        lastUsed.start();
        secretsRounds.start();
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
        await mirrorRounds?.stop();
        await lastUsed.stop();
        await secretsRounds.stop();
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
          secretsRounds,
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
): Promise<PublicServer> {
  const { clock, logger, tls, handler } = options;
  const server = new PublicServer({
    ...publicServerOptions(settings),
    handler,
    logger,
    clock,
    ...(tls === undefined ? {} : { tls: { certificate: tls.certificate } }),
  });
  const { hostname, port } = await openPort(() => server.start(), settings);
  const scheme = tls === undefined ? "http" : "https";
  logger.info(`Listening on ${scheme}://${hostname}:${port}`, {
    tenants: `<domain>.${settings.serviceHost}`,
  });
  return server;
}
