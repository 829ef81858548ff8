/**
 * Changes the data of a stopped relayer to what an earlier version would have
 * left.
 *
 * @module
 */

import { assert } from "@std/assert";
import { openData } from "../../services/relayer/open_data.ts";
import { relayerSettings } from "../../services/relayer/settings.ts";
import { systemClock } from "../../services/shared/clock.ts";
import { readSettings } from "../../services/shared/settings.ts";
import { RecordingLogger } from "../support/recording_logger.ts";

/**
 * Removes the words from the index entries of the first hundred memories, which
 * must have words; `env` has the relayer's settings.
 *
 * @returns The number of changed entries.
 */
export async function withoutWords(
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const read = readSettings(relayerSettings, (name) => env[name]);
  assert(read.kind === "ok");
  const tools = { clock: systemClock, logger: new RecordingLogger() };
  const data = await openData(read.values, tools);
  try {
    const rows = await data.store.scanMemories({ limit: 100 });
    for (const { owner, id, sealedIndex } of rows) {
      const entry = await data.vault.openIndex(owner, sealedIndex);
      assert(entry.kind === "ok" && entry.value.words !== undefined);
      const { vector, model, metadata } = entry.value;
      await data.store.commit([{
        ...{ kind: "reindex", owner, id },
        sealedIndex: await data.vault.sealIndex(owner, {
          ...{ vector, model, metadata },
        }),
      }]);
    }
    return rows.length;
  } finally {
    await data.close();
  }
}
