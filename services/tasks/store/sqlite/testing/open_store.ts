/**
 * Opens stores in temporary folders, for tests.
 *
 * @module
 */

import { RecordingLogger } from "../../../../../tests/support/recording_logger.ts";
import { systemClock } from "../../../../shared/clock.ts";
import type { Store } from "../../store.ts";
import { SqliteStore } from "../sqlite_store.ts";

type SqliteStoreOptions = ConstructorParameters<typeof SqliteStore>[0];

/** Creates a folder, calls `use` with it and removes it. */
export async function withFolder(
  use: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "sqlite_store_" });
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Opens a store in a folder, calls `use` with it and stops it. */
export async function withStore(
  dataFolder: string,
  use: (store: Store, logger: RecordingLogger) => Promise<void>,
  options: Partial<SqliteStoreOptions> = {},
): Promise<void> {
  const logger = new RecordingLogger();
  const store = new SqliteStore({
    dataFolder,
    clock: systemClock,
    logger,
    ...options,
  });
  await store.start();
  try {
    await use(store, logger);
  } finally {
    await store.stop();
  }
}
