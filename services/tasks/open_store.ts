/**
 * Picks the store that the settings name. Nothing above it knows which.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import {
  databaseFaults,
  demandConnection,
} from "../shared/postgres/connection.ts";
import type { TasksMetrics } from "./metrics/tasks_metrics.ts";
import type { TasksSettings } from "./settings.ts";
import type { RowSource } from "./store/rows.ts";
import { folderRows } from "./store/sqlite/row_reads.ts";
import { SqliteStore } from "./store/sqlite/sqlite_store.ts";
import type { Store } from "./store/store.ts";

/** What a store needs beside the settings. */
interface StoreTools {
  /** What counts the store's commits. */
  readonly metrics: Pick<TasksMetrics, "ofStore">;
  /** The clock of the machine. */
  readonly clock: Clock;
  /** The logger of the service. */
  readonly logger: Logger;
}

/**
 * Creates the store without opening it.
 *
 * @throws {Error} when the database cannot be told from the settings
 */
export async function createStore(
  settings: TasksSettings,
  { metrics, clock, logger }: StoreTools,
): Promise<Store> {
  const common = {
    ...metrics.ofStore,
    maxQueuedRows: settings.maxQueuedWrites,
    clock,
    logger,
  };
  switch (settings.store) {
    case "sqlite":
      return new SqliteStore({
        ...common,
        dataFolder: settings.dataDir,
        durability: settings.durability === "relaxed" ? "relaxed" : "full",
      });
    case "postgres": {
      const connection = demandConnection(settings, "tasks");
      // Loaded here alone, so that services on SQLite do without the client.
      const { PostgresStore } = await import(
        "./store/postgres/postgres_store.ts"
      );
      return new PostgresStore({
        ...common,
        connection,
        schema: settings.databaseSchema,
        durability: settings.durability,
        prepare: settings.databasePrepare,
        connections: settings.databasePool,
      });
    }
  }
}

/** What a command needs of a store, beside the settings. */
type CommandTools = Omit<StoreTools, "metrics">;

/**
 * Calls `use` with a store for a command. An instance of the service may use
 * the store only where several may.
 *
 * @throws {Error} when the store cannot be opened
 */
export async function withStore<Answer>(
  settings: TasksSettings,
  tools: CommandTools,
  use: (store: Store) => Promise<Answer>,
): Promise<Answer> {
  const ofStore = {
    onWritten() {},
    onGroup() {},
    onRefused() {},
    onHealth() {},
    onCall() {},
  };
  const metrics = { ofStore };
  const store = await createStore(settings, { ...tools, metrics });
  await store.start();
  try {
    return await use(store);
  } finally {
    await store.stop();
  }
}

/**
 * Calls `use` with all rows of a store, which the service may be using.
 *
 * @throws {Error} when the store cannot be opened
 */
export async function withRowSource<Answer>(
  settings: TasksSettings,
  tools: CommandTools,
  use: (source: RowSource) => Promise<Answer>,
): Promise<Answer> {
  return settings.store === "sqlite"
    ? await use(folderRows(settings.dataDir))
    : await withStore(settings, tools, use);
}

/**
 * Names the database of a store on PostgreSQL for people, without a password.
 *
 * @throws {Error} when the database cannot be told from the settings
 */
export function storePlace(settings: TasksSettings): string {
  const { hosts, user, database } = demandConnection(settings, "tasks");
  const at = hosts.map(({ host, port }) =>
    `${host.includes(":") ? `[${host}]` : host}:${port}`
  ).join();
  return `postgres://${encodeURIComponent(user)}@${at}/${
    encodeURIComponent(database)
  } (schema ${settings.databaseSchema})`;
}

/** What is wrong with the settings of the store, as messages. */
export function storeFaults(settings: TasksSettings): readonly string[] {
  if (settings.store === "sqlite") {
    return settings.durability === "replicated"
      ? ["Cannot use DURABILITY=replicated: STORE is sqlite, which is one file"]
      : [];
  }
  return databaseFaults(settings, "tasks");
}
