/**
 * Counts what a namespace holds.
 *
 * @module
 */

import { readCount, readString } from "./answer_reader.ts";
import { requireName } from "./arguments.ts";
import type { ClientParts } from "./client_parts.ts";
import type { StatsResult } from "./namespace_types.ts";

/**
 * Counts the memories of a namespace, or of the client's when none is named.
 *
 * @throws {TypeError} When `namespace` is no name.
 * @throws {MemError} When the relayer does not tell.
 */
export async function stats(
  parts: ClientParts,
  namespace: string = parts.namespace,
): Promise<StatsResult> {
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/stats",
    body: { namespace: requireName(namespace, "namespace") },
    timeoutMs: parts.requestTimeoutMs,
  });
  return {
    memory_count: readCount(json, "memory_count"),
    storage_bytes: readCount(json, "storage_bytes"),
    namespace: readString(json, "namespace"),
    owner: readString(json, "owner"),
  };
}
