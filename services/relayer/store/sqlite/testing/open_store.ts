/**
 * Stores in folders of their own, for tests.
 *
 * @module
 */

import { FakeClock } from "../../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../../tests/support/recording_logger.ts";
import type { RelayerStore } from "../../store.ts";
import type { ConformanceSubject } from "../../testing/conformance/store_case.ts";
import { SAMPLE_MS } from "../../testing/sample_rows.ts";
import { SqliteStore } from "../sqlite_store.ts";

type SqliteStoreOptions = ConstructorParameters<typeof SqliteStore>[0];

/** Makes a folder, runs `use` and removes the folder. */
export async function withFolder(
  use: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "relayer_store_" });
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A started store in a folder of its own. */
export async function openSubject(
  options: Partial<SqliteStoreOptions> = {},
): Promise<ConformanceSubject & { readonly dataFolder: string }> {
  const dataFolder = await Deno.makeTempDir({ prefix: "relayer_store_" });
  const clock = new FakeClock(SAMPLE_MS);
  const logger = new RecordingLogger();
  const store = new SqliteStore({ dataFolder, clock, logger, ...options });
  await store.start();
  return {
    store,
    clock,
    dataFolder,
    async restart() {
      await store.stop();
      await store.start();
    },
    async close() {
      await store.stop();
      await Deno.remove(dataFolder, { recursive: true });
    },
  };
}

/** Opens a store in a folder of its own, runs `use` and removes the store. */
export async function withStore(
  use: (
    store: RelayerStore,
    subject: ConformanceSubject & { readonly dataFolder: string },
  ) => Promise<void>,
  options: Partial<SqliteStoreOptions> = {},
): Promise<void> {
  const subject = await openSubject(options);
  try {
    await use(subject.store, subject);
  } finally {
    await subject.close();
  }
}
