/**
 * Makes the parts of the embedded ledger as a service of its own (`relayer ledger`), which
 * several relayers and key servers share: accounts, transactions and the
 * catalogue of blobs.
 *
 * @module
 */

import { FairTurns } from "../shared/fair_turns.ts";
import { parseTrustedProxies } from "../shared/http/client_address.ts";
import { metricsPart } from "../shared/http/metrics_port.ts";
import { openPort, shownAddress } from "../shared/http/open_port.ts";
import { Http1Server } from "../shared/http1/server.ts";
import { publicServerOptions } from "../shared/http1/settings.ts";
import { Periodic } from "../shared/periodic.ts";
import type { ServiceTools } from "../shared/run_service.ts";
import { describeError } from "../shared/settled.ts";
import { createLedgerHandler } from "./api/ledger_handler.ts";
import type { OpenRpc } from "./ledger/embedded_rpc.ts";
import { type LedgerFile, openLedgerFile } from "./ledger/ledger_file.ts";
import { LocalCatalog } from "./ledger/local_catalog.ts";
import type { LocalLedger } from "./ledger/local_ledger.ts";
import { LedgerMetrics } from "./metrics/ledger_metrics.ts";
import { ledgerFaultsTo, openEmbeddedLedger } from "./open_ledger.ts";
import { LEDGER_FILE, type RelayerSettings } from "./settings.ts";
import { StorageWatch } from "./store/storage_watch.ts";

/** What the parts of the ledger are made with, beside its settings. */
interface LedgerPartsOptions extends Omit<ServiceTools, "openTracing"> {
  /** The version, such as `1.2.3`. */
  readonly version: string;
  /** Makes what answers JSON-RPC. */
  readonly openRpc: OpenRpc;
}

const CHECK_EVERY_MS = 5_000;

/** The parts that are there while the ledger runs. */
interface Running {
  readonly file: LedgerFile;
  readonly server: Http1Server;
  readonly checks: Periodic;
  readonly ledger: LocalLedger;
  readonly storage: StorageWatch;
}

/** Adds the parts of the ledger. The data folder must be there. */
export function addLedgerParts(
  settings: RelayerSettings,
  options: LedgerPartsOptions,
): void {
  const { clock, logger, lifecycle } = options;
  const turns = new FairTurns();
  let running: Running | undefined;
  const metrics = new LedgerMetrics(clock, {
    entries: () => running?.ledger.log.head().sequence ?? 0,
    accounts: () => running?.ledger.rows.count() ?? 0,
    isWriteReady: () => running?.storage.isReady ?? false,
  });
  lifecycle
    .add(metrics.watch)
    .add({
      name: "ledger",
      async start() {
        running = await open(settings, { ...options, turns, metrics });
      },
      async stop(graceMs) {
        await running?.server.stop(graceMs);
        await running?.checks.stop();
        await running?.file.close();
      },
    })
    .add(metricsPart({
      service: "relayer",
      host: settings.metricsHost,
      port: settings.metricsPort,
      text: () => metrics.registry.text(),
      logger,
      clock,
    }))
    .onStopping(() => turns.release());
}

async function open(
  settings: RelayerSettings,
  { clock, logger, turns, version, metrics, openRpc }: LedgerPartsOptions & {
    readonly turns: FairTurns;
    readonly metrics: LedgerMetrics;
  },
): Promise<Running> {
  const path = `${settings.dataDir}/${LEDGER_FILE}`;
  const file = openLedgerFile(path, clock);
  try {
    const tools = { file, clock };
    const { ledger, executor } = await openEmbeddedLedger(settings, tools);
    const storage = new StorageWatch(() => tryWrite(file), logger);
    const onFault = ledgerFaultsTo({ storage, logger });
    const server = new Http1Server({
      ...publicServerOptions(settings),
      handler: createLedgerHandler({
        answerRpc: openRpc({
          ...{ ledger, executor, onFault },
          catalog: new LocalCatalog(file),
          onCall: (method, outcome) =>
            metrics.calls.of({ method, outcome }).add(),
        }),
        credential: settings.ledgerCredential,
        corsOrigins: settings.corsOrigins,
        trustedProxies: parseTrustedProxies(settings.trustedProxies, []),
        ...{ turns, storage, logger, version },
      }),
      logger,
      clock,
    });
    const { hostname, port } = await openPort(() => server.start(), {
      service: "relayer",
      host: settings.host,
      port: settings.port,
    });
    const checks = new Periodic({
      clock,
      intervalMs: CHECK_EVERY_MS,
      run: () => storage.check(),
      onError: (error) => {
        if (storage.note(error)) return;
        logger.error("Cannot check the storage", {
          error: describeError(error),
        });
      },
    });
    checks.start();
    const { sequence, hash } = ledger.log.head();
    logger.info(`Listening on http://${shownAddress(hostname, port)}`, {
      packageId: ledger.packageId,
      entries: sequence,
      head: hash.toHex(),
    });
    return { file, server, checks, ledger, storage };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Writes one page of the file, as a transaction does, to find out whether the
 * disk takes writes.
 */
async function tryWrite({ db, writes }: LedgerFile): Promise<void> {
  await writes.add(() => {
    const version = db.prepare("PRAGMA user_version").get();
    db.exec(`PRAGMA user_version = ${Number(version?.["user_version"])}`);
  }, { bytes: 0 });
}
