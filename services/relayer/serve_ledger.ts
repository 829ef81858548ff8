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
import { Instances } from "../shared/instances.ts";
import { Periodic } from "../shared/periodic.ts";
import type { ServiceTools } from "../shared/run_service.ts";
import { describeError } from "../shared/settled.ts";
import { createLedgerHandler } from "./api/ledger_handler.ts";
import type { OpenRpc } from "./ledger/embedded_rpc.ts";
import type { LedgerFile } from "./ledger/ledger_file.ts";
import type { LocalLedger } from "./ledger/local_ledger.ts";
import { LedgerMetrics } from "./metrics/ledger_metrics.ts";
import {
  type EmbeddedLedger,
  ledgerFaultsTo,
  openEmbeddedLedger,
} from "./open_ledger.ts";
import { openLedgerStorage } from "./open_storage.ts";
import type { RelayerSettings } from "./settings.ts";
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
  readonly server: Http1Server;
  readonly checks: Periodic;
  /** The ledger as it was last looked at. */
  readonly ledger: LocalLedger;
  /** Closes the ledger. */
  readonly close: () => Promise<void>;
  readonly storage: StorageWatch;
}

/** Adds the parts of the ledger. The data folder must be there if it is used. */
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
        await running?.close();
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
  const kept = await openLedgerStorage(settings, { clock, logger });
  const { place, catalog, members: store } = kept;
  // An import looks for members: it must not put entries beside this ledger.
  const instance = store && new Instances({
    ...{ store, duties: [], clock, logger },
    newId: (prefix) => `${prefix}_${crypto.randomUUID()}`,
    address: shownAddress(settings.host, settings.port),
  });
  let opened: EmbeddedLedger | undefined;
  const close = async (): Promise<void> => {
    await opened?.ledger.stop();
    await instance?.leave();
    await kept.close();
  };
  try {
    await instance?.join();
    opened = await openEmbeddedLedger(settings, place);
    const { rpc, change } = opened;
    const storage = new StorageWatch(
      // In a database it takes its turn, which is written down as well.
      () => place.kind === "file" ? tryWrite(place.file) : change(() => {}),
      logger,
    );
    const onFault = ledgerFaultsTo({ storage, logger });
    const server = new Http1Server({
      ...publicServerOptions(settings),
      handler: createLedgerHandler({
        answerRpc: openRpc({
          ...{ ...rpc, onFault, catalog },
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
    const { ledger } = rpc;
    const { sequence, hash } = ledger.log.head();
    logger.info(`Listening on http://${shownAddress(hostname, port)}`, {
      packageId: ledger.packageId,
      entries: sequence,
      head: hash.toHex(),
    });
    return { server, checks, ledger, storage, close };
  } catch (error) {
    await close();
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
