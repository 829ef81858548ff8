/**
 * The routes that list requests from the inbox of which no task became: a
 * tenant's own, and those of any tenant for the operator.
 *
 * @module
 */

import { nullable } from "../../../shared/schema/composite.ts";
import { anyJson } from "../../../shared/schema/json_value.ts";
import { object } from "../../../shared/schema/object.ts";
import { querySchema } from "../../../shared/schema/query.ts";
import {
  described,
  type JsonValue,
  named,
} from "../../../shared/schema/schema.ts";
import { integer, text } from "../../../shared/schema/values.ts";
import { utcTime } from "../../domain/instant.ts";
import { REGISTRY } from "../../engine/repositories.ts";
import type { Answer } from "../../http/answer.ts";
import { type Call, getTenant } from "../../http/call.ts";
import { answerPage, PAGE_FIELDS, pageShape } from "../../http/page.ts";
import { problem } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import type { RefusedRequest } from "../../store/inbox.ts";
import type { ApiParts } from "../api_parts.ts";
import { shownTime } from "../record_table.ts";

/** Most bytes of a problem. */
const MAX_PROBLEM_BYTES = 262_144;

const REFUSED = named(
  "RefusedRequest",
  object({
    request: described(
      integer({ minimum: 1 }),
      "The number that `enqueue` returned",
    ),
    role: described(text({ maxLength: 63 }), "The role that enqueued it"),
    worker: described(text(), "The worker, as the request names it"),
    key: described(nullable(text()), "The task's key; null without one"),
    asked_at: shownTime("When `enqueue` was called, by the database's time"),
    refused_at: shownTime("When it was refused, by the database's time"),
    problem: described(
      anyJson({ maxBytes: MAX_PROBLEM_BYTES }),
      "The problem that `POST /v1/tasks` answers to the same task",
    ),
  }),
  {
    description:
      "A request from a transaction of the database that was refused",
    examples: [{
      request: 17,
      role: "shop",
      worker: "mailer",
      key: "order-4711",
      asked_at: "2027-01-15T08:00:00.000Z",
      refused_at: "2027-01-15T08:00:00.021Z",
      problem: {
        type: "/problems/quota_exceeded",
        title: "The plan's quota is used up",
        status: 403,
        detail: "Cannot create task: the plan allows 1000 active tasks",
        instance: "/requests/enqueue_17",
        code: "quota_exceeded",
        request_id: "enqueue_17",
        limit: 1_000,
        used: 1_000,
        plan: "free",
      },
    }],
  },
);

const ANSWERS = {
  200: {
    description: "A page of refused requests, newest first",
    shape: pageShape("RefusedRequestList", REFUSED),
  },
} as const;

const DESCRIPTION =
  "Requests that a transaction of the database enqueued and " +
  "that became no task, newest first. They are kept for 30 days, 10,000 of a " +
  "tenant at most. Always empty where the store is no database of PostgreSQL.";

function viewRefused(
  { number, role, worker, key, ...of }: RefusedRequest,
): Readonly<Record<string, unknown>> {
  return {
    ...{ request: number, role, worker },
    key: key ?? null,
    asked_at: utcTime(of.askedAtMs),
    refused_at: utcTime(of.refusedAtMs),
    problem: JSON.parse(of.problem),
  };
}

/** The routes that list refused requests. */
export function refusedRoutes(parts: ApiParts): readonly AnyRoute[] {
  const { tenants } = parts.engine.parts.repositories;
  return [
    defineRoute({
      method: "GET",
      path: "/v1/refused-requests",
      hosts: "tenant",
      operationId: "listRefusedRequests",
      summary: "List enqueued requests that were refused",
      description: DESCRIPTION,
      tags: ["tasks"],
      access: { kind: "member", role: "viewer", scope: "tasks:read" },
      query: querySchema(PAGE_FIELDS),
      answers: ANSWERS,
      problems: ["bad_cursor"],
      handle: (call) =>
        listRefused(parts, call, {
          tenantId: getTenant(call).id,
          path: "/v1/refused-requests",
        }),
    }),
    defineRoute({
      method: "GET",
      path: "/:domain/refused-requests",
      hosts: "accounts_admin",
      operationId: "listRefusedRequestsOfTenant",
      summary: "List enqueued requests of a tenant that were refused",
      description: DESCRIPTION,
      tags: ["operator"],
      access: { kind: "operator" },
      query: querySchema(PAGE_FIELDS),
      answers: ANSWERS,
      problems: ["not_found", "bad_cursor"],
      handle: async (call) => {
        const { domain = "" } = call.params;
        const tenant = await tenants.byAlias(REGISTRY, domain.toLowerCase());
        if (tenant === undefined) {
          return problem("not_found", {
            detail: "Cannot find tenant: none has this domain",
          });
        }
        return await listRefused(parts, call, {
          tenantId: tenant.id,
          path: `/${encodeURIComponent(domain)}/refused-requests`,
        });
      },
    }),
  ];
}

async function listRefused(
  { engine, cursors }: ApiParts,
  call: Call<
    { readonly limit: number; readonly cursor?: string },
    unknown
  >,
  { tenantId, path }: { readonly tenantId: string; readonly path: string },
): Promise<Answer> {
  const { inbox } = engine.parts.store;
  const { limit } = call.query;
  return await answerPage(call, {
    cursors,
    tenantId,
    filter: "refused-requests",
    query: call.query,
    url: call.baseUrl + path,
    read: async (position: JsonValue | undefined) => {
      const found = await inbox?.refused({
        tenantId,
        limit: limit + 1,
        before: typeof position === "number" ? position : undefined,
      }) ?? [];
      const shown = found.slice(0, limit);
      return {
        data: shown.map(viewRefused),
        next: found.length > limit ? shown.at(-1)?.number : undefined,
      };
    },
  });
}
