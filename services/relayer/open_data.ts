/**
 * Opens the relayer's data as the settings say: store, vault, blobs, catalogue
 * and ledger.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import { tracedFetch } from "../shared/telemetry/traced_http.ts";
import type { Tracing } from "../shared/telemetry/tracing.ts";
import type { RelayerParts } from "./api/parts.ts";
import type { BlobStore } from "./blobs/blob_store.ts";
import { writeDurableFile } from "../shared/data_file.ts";
import { FileBlobs } from "./blobs/file_blobs.ts";
import { HttpBlobs } from "./blobs/http_blobs.ts";
import type { OpenRpc } from "./ledger/embedded_rpc.ts";
import { toldKeyServers } from "./ledger/key_server_input.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { openLedgerFile } from "./ledger/ledger_file.ts";
import { ledgerFaultsTo, openCatalog, openLedger } from "./open_ledger.ts";
import { withoutSlash } from "./remote/http_call.ts";
import { ReceiptSigner } from "./receipts/receipt.ts";
import { LEDGER_FILE, type RelayerSettings } from "./settings.ts";
import { SqliteStore } from "./store/sqlite/sqlite_store.ts";
import { StorageWatch } from "./store/storage_watch.ts";
import { openVault } from "./open_vault.ts";
import type { LocalVault } from "./vault/local_vault.ts";
import type { OwnerSessions } from "./vault/owner_sessions.ts";
import type { RelayerVault } from "./vault/vault.ts";

/**
 * The opened data: everything that outlives the process, and the ledger with
 * the accounts that may use it.
 */
export interface RelayerData extends
  Pick<
    RelayerParts,
    "store" | "blobs" | "catalog" | "answerRpc" | "receipts" | "keyServers"
  > {
  /** Seals and opens memories, and keeps their keys. */
  readonly vault: RelayerVault;
  /**
   * The vault whose keys are in the data folder: the same as `vault`, or a part
   * of it where key servers are used.
   */
  readonly local: LocalVault;
  /**
   * Takes sessions of owners for the key servers; undefined where memories are
   * not behind key servers.
   */
  readonly sessions: OwnerSessions | undefined;
  /** Reads the accounts. */
  readonly ledger: Ledger;
  /** Watches whether writes reach the disk. */
  readonly storage: StorageWatch;
  /** Writes what is still queued, then closes every part. */
  close(): Promise<void>;
}

/** Parts that opening needs. */
interface OpenDataTools {
  /** The time. */
  readonly clock: Clock;
  /** Logs what goes wrong. */
  readonly logger: Logger;
  /**
   * Loads what answers JSON-RPC over the embedded ledger.
   *
   * @default nothing answers it
   */
  readonly loadRpc?: (() => Promise<OpenRpc>) | undefined;
  /**
   * Makes spans of calls to the ledger and the blob store.
   *
   * @default no spans
   */
  readonly tracing?: Tracing | undefined;
}

/**
 * Opens all parts of the data; the data folder must exist.
 *
 * @throws {Error} when a part cannot be opened; parts opened before it are
 * closed again
 */
export async function openData(
  settings: RelayerSettings,
  { clock, logger, tracing, loadRpc }: OpenDataTools,
): Promise<RelayerData> {
  const { dataDir } = settings;
  const file = openLedgerFile(`${dataDir}/${LEDGER_FILE}`, clock);
  const store = new SqliteStore({ dataFolder: dataDir, clock, logger });
  const blobs = openBlobs(settings, { clock, logger, tracing });
  const started: { stop(): Promise<void> }[] = [];
  const close = async (): Promise<void> => {
    for (const part of started.reverse()) await part.stop();
    await file.close();
  };
  try {
    const opened = await openLedger(settings, { file, clock, tracing });
    const { ledger } = opened;
    const keyServers = await toldKeyServers(settings.keyServers);
    const { vault, local, sessions } = openVault(settings, {
      ...{ ledger, keyServers, clock, logger },
    });
    const storage = new StorageWatch(
      () => tryWrite(dataDir, { store, vault: local, clock }),
      logger,
    );
    started.push(ledger);
    for (const part of [store, vault, blobs]) {
      await part.start();
      started.push(part);
    }
    const catalog = openCatalog(settings, { file, clock, tracing });
    const receipts = await ReceiptSigner.open(local, clock);
    const onFault = ledgerFaultsTo({ storage, logger });
    const openRpc = opened.executor && settings.ledgerRpcEnabled
      ? await loadRpc?.()
      : undefined;
    const answerRpc = opened.executor && openRpc?.({ ...opened, onFault });
    return {
      ...{ store, vault, local, sessions, receipts, blobs, catalog, ledger },
      ...{ answerRpc, keyServers, storage, close },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Bytes that the probe writes: the disk must have room for them. */
const PROBE_BYTES = 262_144;
/** The owner of the probe's rows; it is not an address, so no owner has it. */
const PROBE_OWNER = "write probe";

/** Writes a file, a key and a row, as storing a memory does, and removes them. */
async function tryWrite(
  dataDir: string,
  { store, vault, clock }:
    & Pick<RelayerData, "store" | "vault">
    & Pick<OpenDataTools, "clock">,
): Promise<void> {
  const path = `${dataDir}/write.probe`;
  try {
    await writeDurableFile(path, new Uint8Array(PROBE_BYTES));
  } finally {
    await Deno.remove(path).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }
  const nowMs = clock.nowMs();
  const { keyId } = await vault.seal(PROBE_OWNER, {
    id: PROBE_OWNER,
    namespace: PROBE_OWNER,
    text: "",
    createdAtMs: nowMs,
    agentId: PROBE_OWNER,
    importance: 0,
    metadata: {},
  });
  await vault.destroy(PROBE_OWNER, keyId);
  // The nonce has already expired: the next sweep removes it.
  const nonce = `${PROBE_OWNER} ${keyId}`;
  await store.commit([{ kind: "nonce", nonce, expiresAtMs: nowMs }]);
}

/** Most rows that one step of the sweep removes. */
const SWEEP_ROWS = 2_000;

/**
 * Removes all rows that have expired, in steps, so that the store takes other
 * writes in between.
 */
export async function removeExpired(
  store: Pick<RelayerData["store"], "sweep">,
  { settings, nowMs, signal }: {
    readonly settings: Pick<
      RelayerSettings,
      "jobRetentionMs" | "tombstoneRetentionMs"
    >;
    readonly nowMs: number;
    /**
     * Ends the sweep after the current step; a later sweep removes the rest.
     */
    readonly signal: AbortSignal;
  },
): Promise<void> {
  let removed: number;
  do {
    removed = await store.sweep({
      nowMs,
      finishedJobsBeforeMs: nowMs - settings.jobRetentionMs,
      tombstonesBeforeMs: nowMs - settings.tombstoneRetentionMs,
      limit: SWEEP_ROWS,
    });
  } while (removed >= SWEEP_ROWS && !signal.aborted);
}

function openBlobs(
  settings: RelayerSettings,
  { clock, logger, tracing }: OpenDataTools,
): BlobStore {
  const { publisherUrl, aggregatorUrls, blobEpochs: epochs } = settings;
  if (publisherUrl === "") {
    return new FileBlobs({ folder: `${settings.dataDir}/blobs`, logger });
  }
  return new HttpBlobs({
    publisherUrl: withoutSlash(publisherUrl),
    aggregatorUrls: aggregatorUrls.map(withoutSlash),
    epochs,
    fetch: tracedFetch(fetch, { tracing, peer: "blob store" }),
    clock,
  });
}
