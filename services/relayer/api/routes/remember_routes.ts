/**
 * Accepts texts: one, or some at once.
 *
 * @module
 */

import {
  IMPORTANCE,
  MAX_TEXT_BYTES,
  members,
  METADATA,
  NAMESPACE,
  RECORD_ID,
  SHORT_NAME,
  text,
} from "../body_schemas.ts";
import { optional } from "../../../shared/schema/object.ts";
import { list } from "../../../shared/schema/composite.ts";
import { quote } from "../../../shared/quote.ts";
import type { AcceptOutcome } from "../../jobs/intake.ts";
import { type Answer, ok, refused } from "../answer.ts";
import { readBody } from "../json_body.ts";
import type { RelayerParts } from "../parts.ts";
import { MAX_BODY_BYTES, type SignedRoute } from "../route.ts";

/** The answer to texts that were not accepted. */
export function intakeRefusal(
  outcome: Exclude<AcceptOutcome, { readonly kind: "accepted" }>,
): Answer {
  switch (outcome.kind) {
    case "key_reused":
      return refused(
        409,
        "Cannot remember: the idempotency key stood for something else before",
      );
    case "nothing_to_supersede":
      return refused(
        404,
        `Cannot supersede memory ${quote(outcome.id)}: there is none such`,
      );
    case "over_quota":
      return overQuota(outcome.quotaBytes);
    case "busy":
      return refused(503, "Cannot remember: too much is on its way already", {
        retryAfterMs: outcome.retryAfterMs,
      });
  }
}

/** The answer to an owner who would have more than the quota. */
export function overQuota(quotaBytes: number): Answer {
  return refused(
    402,
    `Cannot remember: the owner would have more than ${quotaBytes} bytes; ` +
      "delete memories to make room",
  );
}

/** Most texts of one request. */
export const MAX_BULK_ITEMS = 20;

const TEXT_FIELDS = {
  text: text(MAX_TEXT_BYTES),
  namespace: NAMESPACE,
  importance: IMPORTANCE,
  metadata: optional(METADATA),
  supersedes: optional(RECORD_ID),
};

const KEY_FIELD = { idempotency_key: optional(SHORT_NAME) };

const NEW_TEXT = members({ ...TEXT_FIELDS, ...KEY_FIELD });

const NEW_TEXTS = members({
  items: list(members(TEXT_FIELDS), { minItems: 1, maxItems: MAX_BULK_ITEMS }),
  ...KEY_FIELD,
});

/** The routes. */
export function rememberRoutes(
  parts: RelayerParts,
): readonly SignedRoute[] {
  return [rememberRoute(parts), bulkRoute(parts)];
}

function rememberRoute(
  { intake }: RelayerParts,
): SignedRoute {
  return {
    access: "signed",
    method: "POST",
    path: "/api/remember",
    maxBodyBytes: MAX_BODY_BYTES,
    async answer({ caller, body, pausing }) {
      const read = readBody(body, NEW_TEXT, { action: "remember text" });
      if (read.kind === "refused") return read.answer;
      const { text, namespace, idempotency_key: idempotencyKey, ...rest } =
        read.value;
      const outcome = await intake.accept(caller, [
        { text, namespace, ...rest },
      ], { status: "running", pausing, idempotencyKey });
      if (outcome.kind !== "accepted") return intakeRefusal(outcome);
      return ok({ job_id: outcome.jobIds[0], status: "running" }, 202);
    },
  };
}

function bulkRoute({ intake }: RelayerParts): SignedRoute {
  return {
    access: "signed",
    method: "POST",
    path: "/api/remember/bulk",
    maxBodyBytes: MAX_BODY_BYTES,
    async answer({ caller, body, pausing }) {
      const read = readBody(body, NEW_TEXTS, { action: "remember texts" });
      if (read.kind === "refused") return read.answer;
      const { items, idempotency_key: idempotencyKey } = read.value;
      const outcome = await intake.accept(caller, items, {
        status: "running",
        pausing,
        idempotencyKey,
      });
      if (outcome.kind !== "accepted") return intakeRefusal(outcome);
      const { jobIds } = outcome;
      return ok(
        { job_ids: jobIds, total: jobIds.length, status: "running" },
        202,
      );
    },
  };
}
