/**
 * Picks the store that the settings name. Nothing above it knows which.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import { readConnection } from "../shared/postgres/connection.ts";
import type { TasksMetrics } from "./metrics/tasks_metrics.ts";
import type { TasksSettings } from "./settings.ts";
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
      const read = readConnection(settings, "tasks");
      if (read.kind === "invalid") {
        throw new Error(`Cannot use STORE=postgres: ${read.reason}`);
      }
      // Loaded here alone, so that services on SQLite do without the client.
      const { PostgresStore } = await import(
        "./store/postgres/postgres_store.ts"
      );
      return new PostgresStore({
        ...common,
        connection: read.connection,
        schema: settings.databaseSchema,
        durability: settings.durability,
        prepare: settings.databasePrepare,
      });
    }
  }
}

/** What is wrong with the settings of the store, as messages. */
export function storeFaults(settings: TasksSettings): readonly string[] {
  if (settings.store === "sqlite") {
    return settings.durability === "replicated"
      ? ["Cannot use DURABILITY=replicated: STORE is sqlite, which is one file"]
      : [];
  }
  const read = readConnection(settings, "tasks");
  return read.kind === "ok"
    ? []
    : [`Cannot use STORE=postgres: ${read.reason}`];
}
