/**
 * Gives commands the data of the service, wherever the settings say that it is.
 *
 * @module
 */

import type { WrappedKey } from "./secrets/tenant_key.ts";
import type { DataSettings } from "./settings.ts";
import { schemaOptions } from "../shared/postgres/schema.ts";
import type { CheckedHistories } from "./store/task_check.ts";

/** What can be done to the data without a running service, or beside one. */
export interface StoredData {
  /**
   * Checks that the data is whole.
   *
   * @returns the faults, a sentence each; empty when there are none
   * @throws {Error} when there is no data, or it cannot be read
   */
  check(
    onProgress: ((checked: CheckedHistories) => void) | undefined,
  ): Promise<readonly string[]>;
  /**
   * Calls `decide` with each wrapped key and stores the keys that it returns.
   *
   * @throws {Error} when there is no data, or it cannot be changed; keys that
   * were written stay written
   */
  changeKeys(
    decide: (stored: WrappedKey) => readonly WrappedKey[],
  ): Promise<void>;
}

/** The data that the settings name. Nothing is opened yet. */
export function storedData(settings: DataSettings): StoredData {
  return settings.store === "sqlite" ? inFolder(settings) : inSchema(settings);
}

function inFolder({ dataDir }: DataSettings): StoredData {
  return {
    async check(onProgress) {
      const { integrityCheck } = await import(
        "./store/sqlite/database_file.ts"
      );
      const faults = integrityCheck(dataDir);
      // With broken pages, checking the histories would tell nothing more.
      if (faults.length > 0) return faults;
      const { historyCheck } = await import("./store/sqlite/history_check.ts");
      return historyCheck(dataDir, { onProgress });
    },
    async changeKeys(decide) {
      const { changeDataKeys } = await import("./store/sqlite/data_keys.ts");
      changeDataKeys(dataDir, decide);
    },
  };
}

function inSchema(settings: DataSettings): StoredData {
  const load = () => import("./store/postgres/schema_access.ts");
  return {
    async check(onProgress) {
      const { withSchema } = await load();
      const { historyCheck } = await import(
        "./store/postgres/history_check.ts"
      );
      return await withSchema(
        schemaOptions(settings, "tasks"),
        (pool) => historyCheck(pool, { onProgress }),
      );
    },
    async changeKeys(decide) {
      const { withSchema } = await load();
      const { changeDataKeys } = await import("./store/postgres/data_keys.ts");
      await withSchema(
        schemaOptions(settings, "tasks"),
        (pool) => changeDataKeys(pool, decide),
      );
    },
  };
}
