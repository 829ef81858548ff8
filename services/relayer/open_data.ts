/**
 * Opens the relayer's data as the settings say: store, vault, blobs, catalogue
 * and ledger.
 *
 * @module
 */

import { removeIfThere } from "../shared/missing_file.ts";
import type { RelayerParts } from "./api/parts.ts";
import { writeDurableFile } from "../shared/data_file.ts";
import type { OpenRpc } from "./ledger/embedded_rpc.ts";
import { toldKeyServers } from "./ledger/key_server_input.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { type LeftBlobCalls, removeLeftBlobs } from "./jobs/left_blobs.ts";
import { ledgerFaultsTo, openCatalog, openLedger } from "./open_ledger.ts";
import { ReceiptSigner } from "./receipts/receipt.ts";
import { type RelayerSettings, usesDataFolder } from "./settings.ts";
import { StorageWatch } from "./store/storage_watch.ts";
import { openStorage, type StorageTools } from "./open_storage.ts";
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
    | "store"
    | "blobs"
    | "blobLocks"
    | "catalog"
    | "answerRpc"
    | "receipts"
    | "keyServers"
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
interface OpenDataTools extends StorageTools {
  /**
   * Loads what answers JSON-RPC over the embedded ledger.
   *
   * @default nothing answers it
   */
  readonly loadRpc?: (() => Promise<OpenRpc>) | undefined;
}

/**
 * Opens all parts of the data; the data folder must exist.
 *
 * @throws {Error} when a part cannot be opened; parts opened before it are
 * closed again
 */
export async function openData(
  settings: RelayerSettings,
  { clock, logger, tracing, ofDatabase, loadRpc }: OpenDataTools,
): Promise<RelayerData> {
  const { dataDir } = settings;
  const started: { stop(): Promise<void> }[] = [];
  const close = async (): Promise<void> => {
    for (const part of started.reverse()) await part.stop();
  };
  try {
    const kept = await openStorage(settings, {
      ...{ clock, logger, tracing, ofDatabase },
    });
    started.push({ stop: () => kept.close() });
    const { store, blobs, blobLocks, place } = kept;
    const { ledger, rpc } = await openLedger(settings, {
      ...{ place, clock, tracing },
    });
    started.push(ledger);
    const keyServers = await toldKeyServers(settings.keyServers);
    const { vault, local, sessions } = openVault(settings, {
      ...{ ledger, keyServers, clock, logger, openRows: kept.openRows },
    });
    const folder = usesDataFolder(settings) ? dataDir : undefined;
    const storage = new StorageWatch(
      () => tryWrite(folder, { store, vault: local, clock }),
      logger,
    );
    await vault.start();
    started.push(vault);
    const catalog = openCatalog(settings, { clock, tracing }) ??
      kept.catalog;
    const receipts = await ReceiptSigner.open(local.keys, clock);
    const onFault = ledgerFaultsTo({ storage, logger });
    const openRpc = rpc && settings.ledgerRpcEnabled
      ? await loadRpc?.()
      : undefined;
    const answerRpc = rpc && openRpc?.({ ...rpc, onFault });
    return {
      ...{ store, vault, local, sessions, receipts, catalog, ledger },
      ...{ blobs, blobLocks, answerRpc, keyServers, storage, close },
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
  folder: string | undefined,
  { store, vault, clock }:
    & Pick<RelayerData, "store" | "vault">
    & Pick<OpenDataTools, "clock">,
): Promise<void> {
  if (folder !== undefined) await tryWriteFile(folder);
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

async function tryWriteFile(folder: string): Promise<void> {
  const path = `${folder}/write.probe`;
  try {
    await writeDurableFile(path, new Uint8Array(PROBE_BYTES));
  } finally {
    await removeIfThere(path);
  }
}

/** Most rows that one step of the sweep removes. */
const SWEEP_ROWS = 2_000;

/**
 * Removes all rows that have expired, and blobs that deletions have left, in
 * steps, so that the store takes other writes in between.
 */
export async function removeExpired(
  { store, blobs }: {
    readonly store: Pick<RelayerData["store"], "sweep" | LeftBlobCalls>;
    readonly blobs: Pick<RelayerData["blobs"], "remove" | "hasHashIds">;
  },
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
  await removeLeftBlobs({ store, blobs }, { nowMs, signal });
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
