/**
 * The route of the audit log.
 *
 * @module
 */

import type { ApiParts } from "../api_parts.ts";
import { tenantOf } from "../../http/call.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { shownTime } from "../shown_kinds.ts";
import { answerPage, PAGE_FIELDS, pageShape } from "../../http/page.ts";
import { described, named } from "../../../shared/schema/schema.ts";
import { choice, integer, text } from "../../../shared/schema/values.ts";
import { anyJson } from "../../../shared/schema/json_value.ts";
import { nullable } from "../../../shared/schema/composite.ts";
import { object } from "../../../shared/schema/object.ts";
import { queryOf } from "../../../shared/schema/query.ts";
import { viewAudit } from "./audit_view.ts";

/** What a line may hold beside who did what. */
const MAX_DETAIL_BYTES = 65_536;

const ENTRY = named(
  "AuditEntry",
  described(
    object({
      number: described(integer({ minimum: 1 }), "Rises with time"),
      at: shownTime("When"),
      action: described(text({ maxLength: 100 }), "What was done"),
      actor: described(
        nullable(object({
          type: choice(["user", "key", "worker", "system"]),
          id: text({ maxLength: 64 }),
        })),
        "Who did it",
      ),
      target: described(
        anyJson({ maxBytes: MAX_DETAIL_BYTES }),
        "What it was done to",
      ),
      detail: described(
        anyJson({ maxBytes: MAX_DETAIL_BYTES }),
        "What else is worth knowing",
      ),
    }),
    {
      description: "A line of the audit log",
      examples: [{
        number: 17,
        at: "2027-01-15T08:00:00.000Z",
        action: "user.created",
        actor: { type: "key", id: "dk_7Hq2mX0bYc9LpT4w" },
        target: "usr_06f1cdq1s5n0q2v4x7z9b3d5f8",
        detail: { role: "member" },
      }],
    },
  ),
);

/** The route of the audit log. */
export function auditRoute({ engine, cursors }: ApiParts): AnyRoute {
  return defineRoute({
    method: "GET",
    path: "/v1/audit",
    hosts: "tenant",
    operationId: "listAudit",
    summary: "Read the audit log",
    description: "Every change of users, keys, workers, secrets and the " +
      "tenant itself, newest first; it outlives what it tells of.",
    tags: ["account"],
    access: { kind: "member", role: "admin", scope: "audit:read" },
    query: queryOf(PAGE_FIELDS),
    answers: {
      200: {
        description: "A page of the log, newest first",
        shape: pageShape("AuditList", ENTRY),
      },
    },
    problems: ["bad_cursor"],
    handle: (call) =>
      answerPage(call, {
        cursors,
        tenantId: tenantOf(call).id,
        filter: "audit",
        query: call.query,
        url: `${call.baseUrl}/v1/audit`,
        read: async (position) => {
          const { limit } = call.query;
          const entries = await engine.parts.store.audit({
            tenantId: tenantOf(call).id,
            limit: limit + 1,
            ...(typeof position === "number" ? { before: position } : {}),
          });
          const shown = entries.slice(0, limit);
          const last = shown.at(-1);
          return {
            data: shown.map(viewAudit),
            ...(entries.length > limit && last !== undefined
              ? { next: last.number }
              : {}),
          };
        },
      }),
  });
}
