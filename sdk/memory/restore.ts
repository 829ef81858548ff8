/**
 * Indexes a namespace again.
 *
 * @module
 */

import {
  isObject,
  readCount,
  readOptionalBoolean,
  readOptionalNumber,
  readString,
  readStrings,
} from "./answer_reader.ts";
import { optionalNumber, requireName } from "./arguments.ts";
import type { ClientParts } from "./client_parts.ts";
import type { RestoreResult } from "./namespace_types.ts";

const DEFAULT_LIMIT = 10;
/** Blobs are fetched, opened and embedded, so it has a deadline of its own. */
const RESTORE_TIMEOUT_MS = 60_000;

/** Options of {@linkcode restore}. */
export interface RestoreOptions {
  /**
   * Most memories to index now; the relayer takes 1 to 100.
   *
   * @default {10}
   */
  readonly limit?: number | undefined;
}

/**
 * Indexes the memories of a namespace that the blob store has and the index has
 * not.
 *
 * @throws {TypeError} When an argument is not what it must be.
 * @throws {MemError} When the relayer does not do it.
 */
export async function restore(
  parts: ClientParts,
  namespace: string,
  options: RestoreOptions = {},
): Promise<RestoreResult> {
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/restore",
    body: {
      namespace: requireName(namespace, "namespace"),
      limit: optionalNumber(options.limit, "limit") ?? DEFAULT_LIMIT,
    },
    timeoutMs: RESTORE_TIMEOUT_MS,
  });
  const missing = readOptionalNumber(json, "missing");
  const hasIds = isObject(json) && Array.isArray(json["restored_ids"]);
  return {
    restored: readCount(json, "restored"),
    skipped: readCount(json, "skipped"),
    // Older relayers tell neither what failed nor whether there is more.
    failed: readOptionalNumber(json, "failed") ?? 0,
    ...(missing === undefined ? {} : { missing }),
    total: readCount(json, "total"),
    namespace: readString(json, "namespace"),
    owner: readString(json, "owner"),
    truncated: readOptionalBoolean(json, "truncated") ?? false,
    ...(hasIds ? { restored_ids: readStrings(json, "restored_ids") } : {}),
  };
}
