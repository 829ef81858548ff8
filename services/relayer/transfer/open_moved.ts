/**
 * Opens what the settings name for an export or an import, and the master keys.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { openDataFolder } from "../../shared/data_folder.ts";
import type { Logger } from "../../shared/logger.ts";
import {
  type MasterKey,
  parseMasterKeys,
  readMasterKeyFile,
} from "../../shared/master_keys.ts";
import { demandVersion, migrate } from "../../shared/postgres/migrations.ts";
import { openPool } from "../../shared/postgres/pool.ts";
import {
  LONG_MS,
  schemaOptions,
  schemaSettings,
} from "../../shared/postgres/schema.ts";
import { ServerWatch } from "../../shared/postgres/server_watch.ts";
import { quote } from "../../shared/quote.ts";
import { FileBlobs } from "../blobs/file_blobs.ts";
import { PostgresBlobs } from "../blobs/postgres_blobs.ts";
import { blobPlace, type RelayerSettings } from "../settings.ts";
import { migrationPlan } from "../store/postgres/migrations.ts";
import type { MovedData } from "./export_data.ts";
import { folderBlobIds, schemaBlobIds } from "./moved_blobs.ts";
import type { MovedLedger } from "./moved_entries.ts";
import { openPostgresRows } from "./postgres_rows.ts";
import { openSqliteRows } from "./sqlite_rows.ts";

/** What opening needs. */
interface MovedTools {
  /** The clock of the machine. */
  readonly clock: Clock;
  /** Hears of changed blobs, and of connections that fail. */
  readonly logger: Logger;
  /** Whether a folder, a file or tables that are missing are made. */
  readonly mayCreate: boolean;
}

/** Connections: one for rows, the others for blobs. */
const CONNECTIONS = 4;

/**
 * Calls `use` with all data of a relayer that is stopped.
 *
 * @throws {Error} when a relayer uses the data, or it is missing or cannot be
 * opened
 */
export async function withMovedData<Answer>(
  settings: RelayerSettings,
  tools: MovedTools,
  use: (data: MovedData) => Promise<Answer>,
): Promise<Answer> {
  return settings.store === "sqlite"
    ? await withFolder(settings, tools, use)
    : await withSchema(settings, tools, use);
}

async function withFolder<Answer>(
  settings: RelayerSettings,
  tools: MovedTools,
  use: (data: MovedData) => Promise<Answer>,
): Promise<Answer> {
  const { dataDir } = settings;
  if (tools.mayCreate) await openDataFolder(dataDir, { service: "relayer" });
  else await demandDatabase(dataDir);
  const { clock } = tools;
  const ledger = ledgerOf(settings, tools);
  const rows = await openSqliteRows(dataDir, { clock, ledger });
  try {
    return await withFolderBlobs(
      settings,
      tools,
      (blobs) => use({ rows, blobs, ledger }),
    );
  } finally {
    await rows.close();
  }
}

/** @throws {Error} when a folder has no database */
async function demandDatabase(dataDir: string): Promise<void> {
  try {
    await Deno.stat(`${dataDir}/relayer.db`);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error(
      `Cannot export ${
        quote(dataDir)
      }: there is no relayer.db; name the data ` +
        "folder with DATA_DIR or --data-dir",
      { cause: error },
    );
  }
}

async function withSchema<Answer>(
  settings: RelayerSettings,
  tools: MovedTools,
  use: (data: MovedData) => Promise<Answer>,
): Promise<Answer> {
  const { clock, logger } = tools;
  const { connection, schema } = schemaOptions(settings, "relayer");
  const pool = openPool({
    ...{ connection, clock, logger, max: CONNECTIONS },
    prepare: settings.databasePrepare,
    watch: new ServerWatch({ clock, logger }),
    queryTimeoutMs: LONG_MS,
    // The last commit of an import waits for the disk, and so for all others.
    settings: { ...schemaSettings(schema), synchronous_commit: "off" },
  });
  try {
    const prepare = tools.mayCreate ? migrate : demandVersion;
    await prepare(pool, migrationPlan(schema));
    const rows = await openPostgresRows(pool, `the schema ${quote(schema)}`);
    const ledger = ledgerOf(settings, tools);
    if (blobPlace(settings) !== "postgres") {
      return await withFolderBlobs(
        settings,
        tools,
        (blobs) => use({ rows, blobs, ledger }),
      );
    }
    const store = new PostgresBlobs({ pool, clock, logger });
    await store.start();
    try {
      const blobs = { store, ids: () => schemaBlobIds(pool) };
      return await use({ rows, blobs, ledger });
    } finally {
      await store.stop();
    }
  } finally {
    await pool.close();
  }
}

/** The embedded ledger; undefined where the settings name a remote one. */
function ledgerOf(
  { ledgerRpcUrl, ledgerPackageId }: RelayerSettings,
  { clock }: MovedTools,
): MovedLedger | undefined {
  return ledgerRpcUrl === ""
    ? { packageId: ledgerPackageId || undefined, clock }
    : undefined;
}

async function withFolderBlobs<Answer>(
  settings: RelayerSettings,
  { logger }: MovedTools,
  use: (blobs: MovedData["blobs"]) => Promise<Answer>,
): Promise<Answer> {
  if (blobPlace(settings) !== "folder") return await use(undefined);
  const folder = `${settings.dataDir}/blobs`;
  await openDataFolder(settings.dataDir, { service: "relayer" });
  const store = new FileBlobs({ folder, logger });
  await store.start();
  try {
    return await use({ store, ids: () => folderBlobIds(folder) });
  } finally {
    await store.stop();
  }
}

/**
 * Reads the master keys of the settings, or of the data folder; never makes any.
 *
 * @throws {Error} when there are none
 */
export async function readMasterKeys(
  { masterKeys, dataDir }: RelayerSettings,
  logger: Logger,
): Promise<readonly MasterKey[]> {
  if (masterKeys === "") {
    return await readMasterKeyFile(dataDir, {
      ...{ mayCreate: false, about: "", logger },
    });
  }
  const outcome = parseMasterKeys(masterKeys);
  if (outcome.kind === "ok") return outcome.keys;
  throw new Error(`${outcome.reason} (MASTER_KEYS)`);
}
