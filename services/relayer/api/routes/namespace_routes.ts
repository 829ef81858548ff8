/**
 * What is done with a namespace as a whole: rebuild, forget, count.
 *
 * @module
 */

import { clampedCount, members, NAMESPACE } from "../body_schemas.ts";
import { withDefault } from "../../../shared/schema/object.ts";
import { ok, unavailableAnswer } from "../answer.ts";
import { deadlineSignal } from "../../concurrency/bounded_work.ts";
import { readBody } from "../json_body.ts";
import type { RelayerParts } from "../parts.ts";
import { MAX_SMALL_BODY_BYTES, type SignedRoute } from "../route.ts";

/** The longest that rebuilding may take; clients wait for 60 seconds. */
const MAX_RESTORE_MS = 55_000;

const DEFAULT_RESTORE_LIMIT = 10;

const NAMED = members({ namespace: NAMESPACE });

const RESTORE = members({
  namespace: NAMESPACE,
  limit: withDefault(clampedCount({ min: 1, max: 100 }), DEFAULT_RESTORE_LIMIT),
});

/** The routes. */
export function namespaceRoutes(
  parts: RelayerParts,
): readonly SignedRoute[] {
  return [restoreRoute(parts), forgetRoute(parts), statsRoute(parts)];
}

function restoreRoute(
  { clock, logger, restorer }: RelayerParts,
): SignedRoute {
  return {
    access: "signed",
    method: "POST",
    path: "/api/restore",
    maxBodyBytes: MAX_SMALL_BODY_BYTES,
    async answer({ caller, body, signal: gone, pausing }) {
      const read = readBody(body, RESTORE, { action: "restore namespace" });
      if (read.kind === "refused") return read.answer;
      const { namespace, limit } = read.value;
      const { owner } = caller;
      const held = deadlineSignal(gone, { clock, timeoutMs: MAX_RESTORE_MS });
      try {
        const outcome = await restorer.restore(owner, {
          namespace,
          limit,
          signal: held.signal,
          pausing,
        });
        if (outcome.kind === "unavailable") {
          return unavailableAnswer(
            "Cannot restore namespace: it takes too long, or a part of the " +
              "relayer does not answer; what was restored stays",
            {
              logger,
              route: "POST /api/restore",
              reason: outcome.reason,
            },
          );
        }
        const { restoredIds, isTruncated } = outcome;
        const { skipped, failed, missing, total } = outcome;
        const json = {
          restored: restoredIds.length,
          skipped,
          failed,
          missing,
          total,
          namespace,
          owner,
          truncated: isTruncated,
          restored_ids: restoredIds,
        };
        return { ...ok(json), readBytes: outcome.readBytes };
      } finally {
        held.release();
      }
    },
  };
}

function forgetRoute({ index, store }: RelayerParts): SignedRoute {
  return {
    access: "signed",
    method: "POST",
    path: "/api/forget",
    maxBodyBytes: MAX_SMALL_BODY_BYTES,
    async answer({ caller, body }) {
      const read = readBody(body, NAMED, {
        action: "forget namespace",
      });
      if (read.kind === "refused") return read.answer;
      const { owner } = caller;
      const { namespace: name } = read.value;
      const { memories: deleted } = await store.stats(owner, name);
      await store.commit([
        { kind: "remove_namespace", owner, namespace: name },
      ]);
      index.removeNamespace(owner, name);
      return ok({ deleted, namespace: name, owner });
    },
  };
}

function statsRoute({ store }: RelayerParts): SignedRoute {
  return {
    access: "signed",
    method: "POST",
    path: "/api/stats",
    maxBodyBytes: MAX_SMALL_BODY_BYTES,
    async answer({ caller, body }) {
      const read = readBody(body, NAMED, {
        action: "count memories",
      });
      if (read.kind === "refused") return read.answer;
      const { owner } = caller;
      const { namespace: name } = read.value;
      const { memories, bytes } = await store.stats(owner, name);
      return ok({
        memory_count: memories,
        storage_bytes: bytes,
        namespace: name,
        owner,
      });
    },
  };
}
