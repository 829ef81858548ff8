/**
 * One memory is deleted for good.
 *
 * @module
 */

import { type Answer, ok, refused } from "../answer.ts";
import { isRecordId } from "../checks/text_checks.ts";
import { type RemovalParts, removeMemory } from "../memory_removal.ts";
import type { SignedRoute } from "../route.ts";

/** The route. Asking again after an answer that never came does no harm. */
export function deleteMemoryRoute(parts: RemovalParts): SignedRoute {
  return {
    access: "signed",
    method: "DELETE",
    path: "/api/memories/:id",
    maxBodyBytes: 0,
    async answer({ caller, params }) {
      const id = params["id"] ?? "";
      if (!isRecordId(id)) return MISSING;
      const outcome = await removeMemory(caller.owner, id, parts);
      switch (outcome.kind) {
        case "removed":
          return ok({
            deleted: true,
            memory_id: id,
            // Empty for a text that was not stored yet.
            blob_id: outcome.blobId ?? "",
          });
        case "missing":
          return MISSING;
        case "busy":
          return BUSY;
      }
    },
  };
}

const MISSING: Answer = refused(
  404,
  "Cannot delete memory: there is none such",
);

const BUSY: Answer = refused(
  503,
  "Cannot delete memory: it is being stored at this moment; try again",
  { retryAfterMs: 1_000 },
);
