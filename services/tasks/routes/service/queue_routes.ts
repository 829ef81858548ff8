/**
 * The operator's route that tells which tenants have tasks to be done.
 *
 * @module
 */

import { list, nullable, record } from "../../../shared/schema/composite.ts";
import { object } from "../../../shared/schema/object.ts";
import {
  described,
  findExample,
  named,
} from "../../../shared/schema/schema.ts";
import { integer, text } from "../../../shared/schema/values.ts";
import { optionalTime } from "../../domain/instant.ts";
import { LIVE_STATUSES, liveCount } from "../../domain/task.ts";
import { dateTime } from "../../domain/value_schemas.ts";
import { REGISTRY } from "../../engine/repositories.ts";
import { json } from "../../http/answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { MAX_DOMAIN_CHARS } from "../accounts/tenant_fields.ts";
import type { ApiParts } from "../api_parts.ts";

/** Most tenants of an answer. */
const MAX_SHOWN = 100;

const QUEUE = named(
  "TenantQueue",
  object({
    tenant: described(text({ maxLength: 64 }), "The id of the tenant"),
    domain: described(
      nullable(text({ maxLength: MAX_DOMAIN_CHARS })),
      "The label of its host name; null for one that is removed",
    ),
    counts: described(
      record(integer({ minimum: 0 }), { maxEntries: LIVE_STATUSES.length }),
      "How many tasks it has in each status that is not final; those with " +
        "none are left out",
    ),
    due_since: described(
      nullable(dateTime()),
      "Since when the task that is due for the longest may be taken; null " +
        "where none is due",
    ),
  }),
  {
    description: "The tasks of a tenant that have not ended",
    examples: [{
      tenant: "ten_06f1cdq1s5n0q2v4x7z9b3d5f8",
      domain: "acme",
      counts: { waiting: 12, running: 3 },
      due_since: "2027-01-15T08:00:00.000Z",
    }],
  },
);

const QUEUES = named(
  "TenantQueueList",
  object({
    data: described(list(QUEUE, { maxItems: MAX_SHOWN }), "The longest first"),
    total: described(
      integer({ minimum: 0 }),
      "How many tenants have such tasks",
    ),
  }),
  {
    description: "The tenants that have tasks to be done",
    examples: [{ data: [findExample(QUEUE) ?? {}], total: 1 }],
  },
);

/** The route that lists the longest queues, at the operator's host. */
export function queuesRoute({ engine }: ApiParts): AnyRoute {
  const { store, repositories } = engine.parts;
  return defineRoute({
    method: "GET",
    path: "/v1/queues",
    hosts: "accounts_admin",
    operationId: "listQueues",
    summary: "List the tenants with the most live tasks",
    description: "The 100 longest. The store counts them in pieces, so the " +
      "numbers of several tenants may be of different moments.",
    tags: ["operator"],
    access: { kind: "operator" },
    answers: { 200: { description: "The queues", shape: QUEUES } },
    problems: [],
    handle: async () => {
      const queues = (await store.tenantQueues())
        .map((queue) => ({ ...queue, live: liveCount(queue.counts) }))
        .filter(({ live }) => live > 0)
        .toSorted((a, b) => b.live - a.live);
      const shown = queues.slice(0, MAX_SHOWN);
      return json({
        data: await Promise.all(
          shown.map(async ({ tenantId, counts, dueSinceMs }) => {
            const tenant = await repositories.tenants.get(REGISTRY, tenantId);
            return {
              tenant: tenantId,
              domain: tenant?.domain ?? null,
              counts: Object.fromEntries(
                LIVE_STATUSES.flatMap((status) => {
                  const count = counts[status] ?? 0;
                  return count === 0 ? [] : [[status, count]];
                }),
              ),
              due_since: optionalTime(dueSinceMs),
            };
          }),
        ),
        total: queues.length,
      });
    },
  });
}
