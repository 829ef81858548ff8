/**
 * Picks what keeps the relayer's rows, keys and blobs, as the settings say:
 * files of the data folder, or a database that several relayers share. Nothing
 * above it knows which.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import { demandConnection } from "../shared/postgres/connection.ts";
import { tracedFetch } from "../shared/telemetry/traced_http.ts";
import type { Tracing } from "../shared/telemetry/tracing.ts";
import type { RelayerParts } from "./api/parts.ts";
import type { BlobCatalog, BlobStore } from "./blobs/blob_store.ts";
import { FileBlobs } from "./blobs/file_blobs.ts";
import { HttpBlobs } from "./blobs/http_blobs.ts";
import { BlobLocks } from "./concurrency/semaphore.ts";
import { withoutSlash } from "./remote/http_call.ts";
import { openLedgerFile } from "./ledger/ledger_file.ts";
import { LocalCatalog } from "./ledger/local_catalog.ts";
import type { LedgerPlace } from "./open_ledger.ts";
import { blobPlace, LEDGER_FILE, type RelayerSettings } from "./settings.ts";
import { SqliteStore } from "./store/sqlite/sqlite_store.ts";
import type {
  DatabaseListeners,
  PostgresStore,
} from "./store/postgres/postgres_store.ts";
import type { RelayerStore } from "./store/store.ts";
import type { KeyNotice, OpenKeyRows } from "./vault/key_rows.ts";

/** What keeps the rows, keys and blobs; open until it is closed. */
export interface RelayerStorage extends Pick<RelayerParts, "blobLocks"> {
  /** Keeps the rows; it is started. */
  readonly store: RelayerStore;
  /** Keeps the blobs; it is started. */
  readonly blobs: BlobStore;
  /** Opens what keeps wrapped keys; undefined for the file `keys.db`. */
  readonly openRows: OpenKeyRows | undefined;
  /** The place of an embedded ledger. */
  readonly place: LedgerPlace;
  /** The catalogue beside the embedded ledger. */
  readonly catalog: BlobCatalog;
  /** Writes what waits, and closes all. */
  close(): Promise<void>;
}

/** What an embedded ledger that runs alone needs; open until it is closed. */
export interface LedgerStorage
  extends Pick<RelayerStorage, "place" | "catalog" | "close"> {
  /** Knows who uses the database; undefined for a file, which is locked. */
  readonly members: RelayerStore | undefined;
}

/** Parts that opening needs. */
export interface StorageTools {
  /** The time. */
  readonly clock: Clock;
  /** Logs what goes wrong. */
  readonly logger: Logger;
  /**
   * Makes spans of calls to the blob store.
   *
   * @default no spans
   */
  readonly tracing?: Tracing | undefined;
  /**
   * Is told how the database is.
   *
   * @default no listener
   */
  readonly ofDatabase?: DatabaseListeners | undefined;
}

/**
 * Opens the storage; the data folder must exist where it is used.
 *
 * @throws {Error} when a part cannot be opened; nothing is left open then
 */
export async function openStorage(
  settings: RelayerSettings,
  tools: StorageTools,
): Promise<RelayerStorage> {
  return settings.store === "postgres"
    ? await openShared(settings, tools)
    : await openOwn(settings, tools);
}

/**
 * Opens what an embedded ledger needs that runs alone; the data folder must
 * exist where it is used.
 *
 * @throws {Error} when it cannot be opened; nothing is left open then
 */
export async function openLedgerStorage(
  settings: RelayerSettings,
  tools: StorageTools,
): Promise<LedgerStorage> {
  if (settings.store === "sqlite") return openFile(settings, tools);
  const { PostgresCatalog } = await import("./ledger/postgres_catalog.ts");
  const store = await openDatabase(settings, tools);
  const catalog = new PostgresCatalog(store.beside.data, store.demandDurable);
  return {
    ...{ place: placeOf(store, tools), catalog, members: store },
    async close() {
      await catalog.close();
      await store.stop();
    },
  };
}

/** Opens the ledger's file. */
function openFile(
  { dataDir }: RelayerSettings,
  { clock }: StorageTools,
): LedgerStorage {
  const file = openLedgerFile(`${dataDir}/${LEDGER_FILE}`, clock);
  return {
    place: { kind: "file", file },
    catalog: new LocalCatalog(file),
    members: undefined,
    close: () => file.close(),
  };
}

/** Starts the store on a database. */
async function openDatabase(
  settings: RelayerSettings,
  { clock, logger, ofDatabase = {} }: StorageTools,
): Promise<PostgresStore> {
  const { databaseSchema: schema, durability } = settings;
  const connection = demandConnection(settings, "relayer");
  // Loaded here alone, so that relayers on SQLite do without the client.
  const { PostgresStore } = await import("./store/postgres/postgres_store.ts");
  const store = new PostgresStore({
    ...{ connection, schema, durability, clock, logger, ...ofDatabase },
    prepare: settings.databasePrepare,
    connections: settings.databasePool,
  });
  await store.start();
  return store;
}

/** The place of an embedded ledger in a database. */
function placeOf(
  { beside, clock, demandDurable }: PostgresStore,
  { logger }: StorageTools,
): LedgerPlace {
  const { ledger: pool } = beside;
  return { kind: "database", pool, clock, logger, demandDurable };
}

/** Opens files of the data folder. */
async function openOwn(
  settings: RelayerSettings,
  tools: StorageTools,
): Promise<RelayerStorage> {
  const { dataDir: dataFolder } = settings;
  const { clock, logger } = tools;
  const ledger = openFile(settings, tools);
  try {
    const store = new SqliteStore({ dataFolder, clock, logger });
    const blobs = openBlobs(settings, tools) ??
      new FileBlobs({ folder: `${dataFolder}/blobs`, logger });
    await startAll([store, blobs]);
    return {
      ...{ ...ledger, store, blobs, openRows: undefined },
      blobLocks: new BlobLocks(),
      async close() {
        await stopAll([blobs, store]);
        await ledger.close();
      },
    };
  } catch (error) {
    await ledger.close();
    throw error;
  }
}

/** Opens a database. */
async function openShared(
  settings: RelayerSettings,
  tools: StorageTools,
): Promise<RelayerStorage> {
  const { databaseSchema: schema, dataDir } = settings;
  const { clock, logger } = tools;
  const [
    { PostgresKeys },
    { PostgresBlobs },
    { PostgresBlobLocks },
    { PostgresCatalog },
  ] = await Promise.all([
    import("./vault/postgres_keys.ts"),
    import("./blobs/postgres_blobs.ts"),
    import("./blobs/postgres_blob_locks.ts"),
    import("./ledger/postgres_catalog.ts"),
  ]);
  const store = await openDatabase(settings, tools);
  try {
    const { data: pool, locks } = store.beside;
    const { demandDurable } = store;
    const blobs = openBlobs(settings, tools) ??
      (blobPlace(settings) === "folder"
        ? new FileBlobs({ folder: `${dataDir}/blobs`, logger })
        : new PostgresBlobs({ pool, clock, logger, demandDurable }));
    await blobs.start();
    const catalog = new PostgresCatalog(pool, demandDurable);
    const notices = {
      tell: (notice: KeyNotice) => store.tell([notice]),
      listen: (hear: (notice: KeyNotice) => void) =>
        store.onNotice((notice) => {
          if (notice.kind === "key_gone") hear(notice);
        }),
    };
    return {
      ...{ store, blobs, catalog, place: placeOf(store, tools) },
      openRows: (onGone) =>
        new PostgresKeys({ pool, schema, notices, onGone, demandDurable }),
      blobLocks: new PostgresBlobLocks({ pool: locks, schema, clock }),
      async close() {
        await catalog.close();
        await stopAll([blobs, store]);
      },
    };
  } catch (error) {
    await store.stop();
    throw error;
  }
}

/** The blob store over HTTP, where the settings name one. */
function openBlobs(
  settings: RelayerSettings,
  { clock, tracing }: StorageTools,
): BlobStore | undefined {
  const { publisherUrl, aggregatorUrls, blobEpochs: epochs } = settings;
  if (publisherUrl === "") return undefined;
  return new HttpBlobs({
    publisherUrl: withoutSlash(publisherUrl),
    aggregatorUrls: aggregatorUrls.map(withoutSlash),
    epochs,
    fetch: tracedFetch(fetch, { tracing, peer: "blob store" }),
    clock,
  });
}

/** Something that is started and stopped. */
interface Startable {
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts parts; stops those before one that cannot start. */
async function startAll(parts: readonly Startable[]): Promise<void> {
  const started: Startable[] = [];
  try {
    for (const part of parts) {
      await part.start();
      started.unshift(part);
    }
  } catch (error) {
    await stopAll(started);
    throw error;
  }
}

async function stopAll(parts: readonly Startable[]): Promise<void> {
  for (const part of parts) await part.stop();
}
