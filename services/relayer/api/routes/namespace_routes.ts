/**
 * Routes for a whole namespace: rebuild its index, forget it, count its
 * memories.
 *
 * @module
 */

import { withDefault } from "../../../shared/schema/object.ts";
import { ok, unavailable } from "../answer.ts";
import { clampedCount, members, NAMESPACE } from "../body_schemas.ts";
import { memoryAnswer } from "../document/memory_answers.ts";
import { signedPost } from "../json_body.ts";
import type { RelayerParts } from "../parts.ts";
import { LOCKED_WORDS, lockedAnswer } from "./recall_routes.ts";
import { MAX_SMALL_BODY_BYTES, type SignedRoute } from "../route.ts";
import { READS, WRITES } from "../token_rule.ts";

const DEFAULT_RESTORE_LIMIT = 10;

const NAMED = members({ namespace: NAMESPACE });

const RESTORE = members({
  namespace: NAMESPACE,
  limit: withDefault(
    clampedCount({ min: 1, max: 100 }),
    DEFAULT_RESTORE_LIMIT,
    "Most memories to bring back; what is beyond 1 to 100 becomes that",
  ),
});

/** The routes of namespaces. */
export function namespaceRoutes(
  { index, restorer, store, receipts, clock }: RelayerParts,
): readonly SignedRoute[] {
  const maxBodyBytes = MAX_SMALL_BODY_BYTES;
  return [
    signedPost("/api/restore", RESTORE, {
      action: "restore namespace",
      words: {
        id: "restore",
        tag: "namespaces",
        summary: "Rebuild the index of a namespace",
        description:
          "From blobs and catalogue; `limit` is moved into 1 to 100.",
        sent: { namespace: "default", limit: 10 },
        answer: memoryAnswer("Restored"),
        means: "What came back",
        others: LOCKED_WORDS,
      },
      token: { ...WRITES, opensMemories: true },
      namespacesOf: ({ namespace }) => [namespace],
      points: 3,
      maxBodyBytes,
      async answer({ caller: { owner }, signal, pausing }, body) {
        const { namespace } = body;
        const outcome = await restorer.restore(owner, {
          ...body,
          signal,
          pausing,
        });
        if (outcome.kind === "unavailable") {
          return unavailable(
            "Cannot restore namespace: it takes too long, or a part of the " +
              "relayer does not answer; what was restored stays",
            outcome,
          );
        }
        if (outcome.kind === "locked") {
          return lockedAnswer("restore namespace", outcome.why);
        }
        const { restoredIds, isTruncated, unreadable } = outcome;
        const { skipped, failed, missing, total } = outcome;
        const json = {
          restored: restoredIds.length,
          ...{ skipped, failed, missing, total, namespace, owner },
          truncated: isTruncated,
          restored_ids: restoredIds,
          needs_vectors: unreadable.length === 0
            ? undefined
            : unreadable.map(({ memoryId, blobId }) => ({
              memory_id: memoryId,
              blob_id: blobId,
            })),
        };
        return { ...ok(json), readBytes: outcome.readBytes };
      },
    }),
    signedPost("/api/forget", NAMED, {
      action: "forget namespace",
      words: {
        id: "forget",
        tag: "namespaces",
        summary: "Empty the index of a namespace",
        description: "Blobs stay, and `/api/restore` brings memories back.",
        sent: { namespace: "default" },
        answer: memoryAnswer("Forgotten"),
        means: "How many memories are forgotten",
      },
      token: WRITES,
      namespacesOf: ({ namespace }) => [namespace],
      maxBodyBytes,
      async answer({ caller: { owner } }, { namespace }) {
        const { memories: deleted } = await store.stats(owner, namespace);
        await store.commit([{ kind: "remove_namespace", owner, namespace }]);
        index.removeNamespace(owner, namespace);
        const receipt = receipts.sign({
          ...{ kind: "forget", owner, namespace, count: deleted },
          timeMs: Math.floor(clock.nowMs()),
        });
        return ok({ deleted, namespace, owner, receipt });
      },
    }),
    signedPost("/api/stats", NAMED, {
      action: "count memories",
      words: {
        id: "stats",
        tag: "namespaces",
        summary: "Count the memories of a namespace",
        sent: { namespace: "default" },
        answer: memoryAnswer("Stats"),
        means: "How many, and how large",
      },
      token: READS,
      namespacesOf: ({ namespace }) => [namespace],
      onlyReads: true,
      maxBodyBytes,
      async answer({ caller: { owner } }, { namespace }) {
        const { memories, bytes } = await store.stats(owner, namespace);
        return ok({
          memory_count: memories,
          storage_bytes: bytes,
          namespace,
          owner,
        });
      },
    }),
  ];
}
