/**
 * Opens the ledger and the catalogue of blobs as the settings say: embedded in
 * this process, in a file or a database, or remote.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import { describeError } from "../shared/settled.ts";
import { tracedFetch } from "../shared/telemetry/traced_http.ts";
import type { Pool } from "../shared/postgres/pool.ts";
import type { Tracing } from "../shared/telemetry/tracing.ts";
import type { BlobCatalog } from "./blobs/blob_store.ts";
import type { RpcLedger } from "./ledger/embedded_rpc.ts";
import { FullNodeLedger } from "./ledger/full_node_ledger.ts";
import { readKeyServers } from "./ledger/key_server_input.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { LedgerFile } from "./ledger/ledger_file.ts";
import { LocalLedger } from "./ledger/local_ledger.ts";
import { RemoteCatalog } from "./ledger/remote_catalog.ts";
import { TransactionExecutor } from "./ledger/transaction_executor.ts";
import {
  type AddressCounts,
  TransactionLimits,
} from "./ledger/transaction_limits.ts";
import type { RelayerSettings } from "./settings.ts";
import type { StorageWatch } from "./store/storage_watch.ts";
import { StoreBusyError } from "./store/store.ts";

/** A place of an embedded ledger. */
export type LedgerPlace =
  | {
    readonly kind: "file";
    /** The file. */
    readonly file: LedgerFile;
  }
  | {
    readonly kind: "database";
    /** Connections whose search path is the schema. */
    readonly pool: Pool;
    /** The database's time. */
    readonly clock: Clock;
    /** Told when the log is not to be trusted. */
    readonly logger: Logger;
    /** Throws where a write would not be as durable as promised. */
    readonly demandDurable: () => void;
  };

/** Parts that opening needs. */
interface OpenLedgerTools {
  /** The place of the embedded ledger. */
  readonly place: LedgerPlace;
  /** The time. */
  readonly clock: Clock;
  /**
   * Makes spans of calls to a remote ledger.
   *
   * @default no spans
   */
  readonly tracing?: Tracing | undefined;
}

/** An embedded ledger. */
export interface EmbeddedLedger {
  /** Reads accounts. */
  readonly ledger: Ledger;
  /** What JSON-RPC over it needs. */
  readonly rpc: Pick<RpcLedger, "ledger" | "executor" | "catchUp">;
  /**
   * Runs a change on the newest state. It may run several times, and what it
   * enters into the log is durable when this resolves.
   */
  change<T>(apply: (ledger: LocalLedger) => T): Promise<T>;
}

/**
 * Opens the embedded ledger and adds the key servers of the settings to it.
 *
 * @throws {Error} when a key server cannot be used, or the log is not to be
 * trusted
 */
export async function openEmbeddedLedger(
  settings: RelayerSettings,
  place: LedgerPlace,
): Promise<EmbeddedLedger> {
  const opened = await openEmbedded(settings, place);
  try {
    for (const server of await readKeyServers(settings.keyServers)) {
      await opened.change((ledger) => ledger.addKeyServer(server));
    }
    return opened;
  } catch (error) {
    await opened.ledger.stop();
    throw error;
  }
}

/**
 * Opens the embedded ledger as it is.
 *
 * @throws {Error} when the log is not to be trusted
 */
export async function openEmbedded(
  settings: RelayerSettings,
  place: LedgerPlace,
): Promise<EmbeddedLedger> {
  return place.kind === "file"
    ? openInFile(settings, place.file)
    : await openInDatabase(settings, place);
}

function openInFile(
  settings: RelayerSettings,
  file: LedgerFile,
): EmbeddedLedger {
  const ledger = new LocalLedger(file, settings.ledgerPackageId || undefined);
  const limits = openLimits(settings, file.clock);
  const executor = new TransactionExecutor(ledger, { file, limits });
  return {
    ledger,
    rpc: { ledger, executor },
    // deno-lint-ignore require-await -- a throw becomes a rejection
    change: async (apply) => apply(ledger),
  };
}

async function openInDatabase(
  settings: RelayerSettings,
  place: Extract<LedgerPlace, { readonly kind: "database" }>,
): Promise<EmbeddedLedger> {
  // Loaded here alone, so that relayers on SQLite do without the client.
  const { SharedLedger } = await import("./ledger/shared_ledger.ts");
  const ledger = await SharedLedger.open({
    ...place,
    packageId: settings.ledgerPackageId || undefined,
  });
  const { clock } = place;
  const { replica, writes } = ledger;
  const executor = new TransactionExecutor(replica, {
    file: { clock, writes },
    limits: openLimits(settings, clock, ledger.addresses),
  });
  return {
    ledger,
    rpc: { ledger: replica, executor, catchUp: () => ledger.catchUp() },
    change: (apply) => ledger.change(apply),
  };
}

function openLimits(
  { ledgerPerMinute: perMinute, ledgerPerDay: perDay }: RelayerSettings,
  clock: Clock,
  addresses?: AddressCounts,
): TransactionLimits {
  return new TransactionLimits({ perMinute, perDay, clock, addresses });
}

/** Opens the ledger that accounts are read from; a remote one has no `rpc`. */
export async function openLedger(
  settings: RelayerSettings,
  tools: OpenLedgerTools,
): Promise<
  EmbeddedLedger | { readonly ledger: Ledger; readonly rpc: undefined }
> {
  const { ledgerRpcUrl: url, ledgerPackageId, ledgerRegistryId } = settings;
  if (url === "") return await openEmbeddedLedger(settings, tools.place);
  const ledger = new FullNodeLedger({
    ...{ url, packageId: ledgerPackageId, clock: tools.clock },
    registryId: ledgerRegistryId || undefined,
    fetch: tracedFetch(fetch, { tracing: tools.tracing, peer: "ledger" }),
  });
  return { ledger, rpc: undefined };
}

/**
 * Opens the catalogue of blobs on the remote ledger; undefined when there is
 * none, or the settings lack its credential.
 */
export function openCatalog(
  settings: RelayerSettings,
  { clock, tracing }: Omit<OpenLedgerTools, "place">,
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
