/**
 * Makes the parts of the key server service from its settings.
 *
 * @module
 */

import { demandWritable } from "../shared/data_folder.ts";
import { provePossession } from "../../sdk/vault/identity_encryption.ts";
import { FairTurns } from "../shared/fair_turns.ts";
import { landingPages } from "../shared/http/landing_page.ts";
import { metricsPart } from "../shared/http/metrics_port.ts";
import { parseTrustedProxies } from "../shared/http/client_address.ts";
import { openPort, shownAddress } from "../shared/http/open_port.ts";
import { Http1Server } from "../shared/http1/server.ts";
import { publicServerOptions } from "../shared/http1/settings.ts";
import { RateLimitedLog } from "../shared/logger.ts";
import { documentPages } from "../shared/openapi/served_document.ts";
import type { ServiceTools } from "../shared/run_service.ts";
import type { FolderLock } from "../shared/sqlite/folder_lock.ts";
import { tracedFetch } from "../shared/telemetry/traced_http.ts";
import type { Tracing } from "../shared/telemetry/tracing.ts";
import type { Approver } from "./approver.ts";
import { FullNodeApprover } from "./full_node_approver.ts";
import { createHandler, keyLimits } from "./handler.ts";
import { KeyServerMetrics } from "./key_server_metrics.ts";
import { LedgerRpc } from "./ledger_rpc.ts";
import { keyServerDocument } from "./openapi.ts";
import { lockKeyServer, openSecret, type ServerKeys } from "./secret_file.ts";
import { SeenAccounts } from "./seen_accounts.ts";
import type { KeyServerSettings } from "./settings.ts";
import { SignedApprover } from "./signed_approver.ts";

/** What the parts of the key server are made with, beside its settings. */
interface PartsOptions extends Omit<ServiceTools, "openTracing"> {
  /** The key server's version, such as `1.2.3`. */
  readonly version: string;
  /** The package whose keys are given. */
  readonly packageId: string;
  /** Makes spans; undefined where tracing is off. */
  readonly tracing: Tracing | undefined;
}

interface Running {
  readonly keys: ServerKeys;
  readonly lock: FolderLock;
  readonly approver: Approver;
  readonly server: Http1Server;
}

/** Adds the parts of the key server to its lifecycle. */
export function addParts(
  settings: KeyServerSettings,
  options: PartsOptions,
): void {
  const { clock, logger, lifecycle, tracing } = options;
  const metrics = new KeyServerMetrics(clock);
  const turns = new FairTurns();
  let running: Running | undefined;
  lifecycle
    .add(metrics.watch)
    .add(metricsPart({
      service: "keyserver",
      host: settings.metricsHost,
      port: settings.metricsPort,
      text: () => metrics.registry.text(),
      logger,
      clock,
    }))
    .add({
      name: "listener",
      async start() {
        const { dataDir, masterKeys } = settings;
        const keys = await openSecret({ dataDir, masterKeys, logger });
        await demandWritable(dataDir, { service: "keyserver" });
        const lock = lockKeyServer(dataDir);
        const approver = createApprover(settings, options);
        const objectId = settings.objectId || keys.objectId;
        const server = new Http1Server({
          ...publicServerOptions(settings),
          handler: createHandler({
            secret: keys.secret,
            objectId,
            possessionProof: madeOnce(() =>
              provePossession(keys.secret, objectId)
            ),
            packageId: options.packageId,
            approver,
            userLimits: keyLimits(settings.userPerMinute),
            peerLimits: keyLimits(settings.peerPerMinute),
            trustedProxies: parseTrustedProxies(settings.trustedProxies, []),
            turns,
            clock,
            logger,
            silence: new RateLimitedLog(logger, clock),
            metrics,
            tracing,
            version: options.version,
          }),
          pages: new Map([
            ...landingPages({
              name: "keyserver",
              summary:
                "Keeps one share of what opens owners' memories, and gives keys only to whom they name.",
              api: "POST /v1/fetch_key",
              links: [
                { path: "/docs", text: "Reference of the API" },
                { path: "/openapi.json", text: "OpenAPI document" },
                { path: "/health", text: "Health" },
              ],
            }),
            ...documentPages(() => keyServerDocument(options.version)),
          ]),
          logger,
          clock,
        });
        running = { keys, lock, approver, server };
        const { hostname, port } = await openPort(() => server.start(), {
          service: "keyserver",
          host: settings.host,
          port: settings.port,
        });
        logger.info(`Listening on http://${shownAddress(hostname, port)}`, {
          objectId,
          publicKey: keys.publicKey.toHex(),
        });
      },
      async stop(graceMs) {
        await running?.server.stop(graceMs);
        running?.approver.close();
        running?.lock.release();
        running?.keys.secret.fill(0);
      },
    })
    .onStopping(() => turns.release());
}

function createApprover(
  settings: KeyServerSettings,
  { packageId, clock, tracing }: PartsOptions,
): Approver {
  const rpc = new LedgerRpc({
    url: settings.ledgerRpcUrl,
    fetch: tracedFetch(fetch, { tracing, peer: "ledger" }),
  });
  if (settings.ledgerMode === "fullnode") {
    return new FullNodeApprover({ packageId, rpc, clock });
  }
  const seen = new SeenAccounts(settings.dataDir, clock);
  return new SignedApprover({ packageId, rpc, seen });
}

/**
 * Makes a value when it is first asked for: some values take longer to make
 * than a start may take.
 */
function madeOnce<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
