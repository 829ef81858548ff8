/**
 * Deletes one memory.
 *
 * @module
 */

import { readBoolean, readString } from "./answer_reader.ts";
import type { ClientParts } from "./client_parts.ts";
import { MemError } from "./errors.ts";
import { canAskForJob } from "./job_ids.ts";
import type { DeleteMemoryResult } from "./namespace_types.ts";
import { quote } from "./server_text.ts";

const NOT_FOUND = 404;

/**
 * Deletes a memory for good: it is found no more, and the key of its blob is
 * destroyed.
 *
 * @throws {MemError} When the owner has no such memory (404), or no memory can
 * have this id; that is not asked for. Or when the relayer does not do it.
 */
export async function deleteMemory(
  parts: ClientParts,
  memoryId: string,
): Promise<DeleteMemoryResult> {
  if (!canAskForJob(memoryId)) {
    throw new MemError(
      `Cannot delete memory ${quote(memoryId)}: no memory has such an id`,
      { status: NOT_FOUND },
    );
  }
  const { json } = await parts.exchange.send({
    method: "DELETE",
    path: `/api/memories/${encodeURIComponent(memoryId)}`,
    timeoutMs: parts.requestTimeoutMs,
  });
  return {
    deleted: readBoolean(json, "deleted"),
    memory_id: readString(json, "memory_id"),
    blob_id: readString(json, "blob_id"),
  };
}
