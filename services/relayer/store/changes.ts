/**
 * What stores have to know of the changes of a commit before they apply them.
 *
 * @module
 */

import type { Change } from "./store.ts";

/** Bytes that a change takes beside what it carries. */
const CHANGE_BYTES = 512;

/** About how many bytes of memory changes take while they are queued. */
export function estimateBytes(changes: readonly Change[]): number {
  let bytes = 0;
  for (const change of changes) {
    bytes += CHANGE_BYTES;
    if (change.kind === "new_job") bytes += change.job.payload.length;
    if (change.kind === "job") bytes += change.patch.payload?.length ?? 0;
    if (change.kind === "snapshot_part") bytes += change.part.bytes.length;
    if (change.kind === "reindex") bytes += change.sealedIndex.length;
    if (change.kind === "new_memory") {
      bytes += change.memory.sealedIndex.length;
    }
  }
  return bytes;
}
