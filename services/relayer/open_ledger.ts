/**
 * Opens the ledger and the catalogue of blobs as the settings say: embedded in
 * this process as a file, or remote.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import { describeError } from "../shared/settled.ts";
import { tracedFetch } from "../shared/telemetry/traced_http.ts";
import type { Tracing } from "../shared/telemetry/tracing.ts";
import type { BlobCatalog } from "./blobs/blob_store.ts";
import { FullNodeLedger } from "./ledger/full_node_ledger.ts";
import { readKeyServers } from "./ledger/key_server_input.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { LedgerFile } from "./ledger/ledger_file.ts";
import { LocalLedger } from "./ledger/local_ledger.ts";
import { RemoteCatalog } from "./ledger/remote_catalog.ts";
import { TransactionExecutor } from "./ledger/transaction_executor.ts";
import { TransactionLimits } from "./ledger/transaction_limits.ts";
import type { RelayerSettings } from "./settings.ts";
import type { StorageWatch } from "./store/storage_watch.ts";
import { StoreBusyError } from "./store/store.ts";

/** Parts that opening needs. */
interface OpenLedgerTools {
  /** The file of the embedded ledger. */
  readonly file: LedgerFile;
  /** The time. */
  readonly clock: Clock;
  /**
   * Makes spans of calls to a remote ledger.
   *
   * @default no spans
   */
  readonly tracing?: Tracing | undefined;
}

/** An embedded ledger, and the executor of its transactions. */
interface OpenedLedger {
  /** Accounts and log. */
  readonly ledger: LocalLedger;
  /** Executes transactions on the ledger. */
  readonly executor: TransactionExecutor;
}

/**
 * Opens the embedded ledger and adds the key servers of the settings to it.
 *
 * @throws {Error} when a key server cannot be used
 */
export async function openEmbeddedLedger(
  settings: RelayerSettings,
  { file, clock }: OpenLedgerTools,
): Promise<OpenedLedger> {
  const ledger = new LocalLedger(file, settings.ledgerPackageId || undefined);
  for (const server of await readKeyServers(settings.keyServers)) {
    ledger.addKeyServer(server);
  }
  const limits = new TransactionLimits({
    perMinute: settings.ledgerPerMinute,
    perDay: settings.ledgerPerDay,
    clock,
  });
  return {
    ledger,
    executor: new TransactionExecutor(ledger, { file, limits }),
  };
}

/**
 * Opens the ledger that accounts are read from; a remote ledger has no
 * executor.
 */
export async function openLedger(
  settings: RelayerSettings,
  tools: OpenLedgerTools,
): Promise<
  OpenedLedger | { readonly ledger: Ledger; readonly executor: undefined }
> {
  const { ledgerRpcUrl: url, ledgerPackageId, ledgerRegistryId } = settings;
  if (url === "") return await openEmbeddedLedger(settings, tools);
  const ledger = new FullNodeLedger({
    ...{ url, packageId: ledgerPackageId, clock: tools.clock },
    registryId: ledgerRegistryId || undefined,
    fetch: tracedFetch(fetch, { tracing: tools.tracing, peer: "ledger" }),
  });
  return { ledger, executor: undefined };
}

/**
 * Opens the catalogue of blobs on the remote ledger; undefined when there is
 * none, or the settings lack its credential.
 */
export function openCatalog(
  settings: RelayerSettings,
  { clock, tracing }: Omit<OpenLedgerTools, "file">,
): BlobCatalog | undefined {
  const { ledgerRpcUrl: url, ledgerCredential: credential } = settings;
  if (url === "" || credential === "") return undefined;
  return new RemoteCatalog({
    ...{ url, credential, clock },
    fetch: tracedFetch(fetch, { tracing, peer: "ledger" }),
  });
}

/**
 * Makes the handler of errors while answering clients of the ledger. A failing
 * storage is logged once, any other error each time.
 */
export function ledgerFaultsTo(
  { storage, logger }: {
    readonly storage: Pick<StorageWatch, "note">;
    readonly logger: Logger;
  },
): (error: unknown) => void {
  return (error) => {
    if (error instanceof StoreBusyError || storage.note(error)) return;
    logger.error("Cannot answer the ledger's client", {
      error: describeError(error),
    });
  };
}
