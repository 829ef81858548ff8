/**
 * Memories that clients seal and embed themselves.
 *
 * @module
 */

import { ok } from "../answer.ts";
import { type Check, good, withDefault } from "../checks/check.ts";
import {
  namespace,
  orderingChecks,
  orderingOf,
} from "../checks/memory_checks.ts";
import { cappedCount, unitVector } from "../checks/number_checks.ts";
import { base64 } from "../checks/text_checks.ts";
import { overQuota } from "../intake_answer.ts";
import { readFields } from "../json_body.ts";
import { type ManualParts, storeManual } from "../manual_memory.ts";
import type { RelayerParts } from "../parts.ts";
import { MAX_BODY_BYTES, type SignedRoute } from "../route.ts";
import { manualHitView } from "../views/recall_view.ts";
import {
  DEFAULT_RECALL_LIMIT,
  MAX_RECALL_LIMIT,
  MAX_RECALL_MS,
  recallRefusal,
} from "./recall_route.ts";

/** The routes. */
export function manualRoutes(
  parts: ManualParts & Pick<RelayerParts, "recall">,
): readonly SignedRoute[] {
  return [rememberManualRoute(parts), recallManualRoute(parts)];
}

function rememberManualRoute(parts: ManualParts): SignedRoute {
  const checks = {
    encrypted_data: base64,
    vector: vectorOf(parts),
    namespace,
  };
  return {
    access: "signed",
    method: "POST",
    path: "/api/remember/manual",
    maxBodyBytes: MAX_BODY_BYTES,
    async answer({ caller, body, pausing }) {
      const read = readFields(body, checks, { action: "remember data" });
      if (read.kind === "refused") return read.answer;
      await pausing.pause();
      const { encrypted_data: bytes, vector, namespace } = read.value;
      const { owner } = caller;
      const stored = await storeManual(caller, {
        parts,
        content: { bytes, vector, namespace },
      });
      if (stored.kind === "over_quota") return overQuota(parts.quotaBytes);
      const { id, blobId } = stored;
      return ok({ id, blob_id: blobId, owner, namespace });
    },
  };
}

function recallManualRoute(
  parts: Pick<RelayerParts, "embedder" | "recall">,
): SignedRoute {
  const { sort: _sort, ...weighing } = orderingChecks;
  const checks = {
    vector: vectorOf(parts),
    limit: withDefault(cappedCount(MAX_RECALL_LIMIT), DEFAULT_RECALL_LIMIT),
    namespace,
    ...weighing,
  };
  return {
    access: "signed",
    method: "POST",
    path: "/api/recall/manual",
    maxBodyBytes: MAX_BODY_BYTES,
    async answer({ caller, body, signal, pausing }) {
      const read = readFields(body, checks, { action: "recall" });
      if (read.kind === "refused") return read.answer;
      const { vector, limit, namespace } = read.value;
      const outcome = await parts.recall.find({
        owner: caller.owner,
        query: vector,
        limit,
        namespace,
        ordering: orderingOf(read.value),
        deadlineMs: MAX_RECALL_MS,
        signal,
        pausing,
      });
      if (outcome.kind !== "ok") return recallRefusal(outcome);
      return ok({
        results: outcome.memories.map(manualHitView),
        total: outcome.memories.length,
      });
    },
  };
}

/** Vectors of other widths compare with nothing. */
function vectorOf(
  { embedder }: Pick<RelayerParts, "embedder">,
): Check<Float32Array> {
  return (value, name) => {
    const checked = unitVector(embedder.width)(value, name);
    return checked.kind === "ok" ? good(checked.value) : checked;
  };
}
