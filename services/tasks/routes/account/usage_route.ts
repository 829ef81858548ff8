/**
 * The route that tells what a tenant uses of its plan.
 *
 * @module
 */

import type { PlanLimits } from "../../domain/records.ts";
import { LIVE_STATUSES } from "../../domain/task.ts";
import { usagePeriod } from "../../engine/usage_counter.ts";
import type { ApiParts } from "../api_parts.ts";
import { json } from "../../http/answer.ts";
import { tenantOf } from "../../http/call.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { countRecords } from "../../engine/count_records.ts";
import { surveyKeys } from "../keys/key_quota.ts";
import { LIMITS } from "../service/plan_schema.ts";
import { nullable } from "../../../shared/schema/composite.ts";
import { described, named } from "../../../shared/schema/schema.ts";
import { boolean, integer, text } from "../../../shared/schema/values.ts";
import { object } from "../../../shared/schema/object.ts";
import { viewLimits } from "../service/plan_view.ts";

/** Where nothing bounds it, counting stops here. */
const COUNT_CAP = 100_000;

const USE = named(
  "Use",
  described(
    object({
      limit: described(
        nullable(integer({ minimum: 0 })),
        "What the plan allows; null for no limit",
      ),
      used: integer({ minimum: 0 }),
      is_exact: described(
        boolean(),
        "Whether `used` is all of it; counting stops somewhere beyond the " +
          "limit",
      ),
    }),
    { examples: [{ limit: 1_000, used: 42, is_exact: true }] },
  ),
);

const EXAMPLE = { limit: 1_000, used: 42, is_exact: true } as const;

const USAGE = named(
  "Usage",
  described(
    object({
      plan: described(
        text({ maxLength: 63 }),
        "The id of the plan whose limits hold",
      ),
      period: described(
        text({ pattern: /^\d{4}-\d{2}$/, mustBe: "a month" }),
        "The month of UTC that executions are counted in",
      ),
      use: object({
        active_tasks: USE,
        executions_per_month: USE,
        workers: USE,
        users: USE,
        keys: USE,
      }),
      limits: described(LIMITS, "All limits of the plan"),
    }),
    {
      examples: [{
        plan: "free",
        period: "2027-01",
        use: {
          active_tasks: EXAMPLE,
          executions_per_month: EXAMPLE,
          workers: EXAMPLE,
          users: EXAMPLE,
          keys: EXAMPLE,
        },
        limits: {},
      }],
    },
  ),
);

interface Use {
  readonly limit: number | null;
  readonly used: number;
  readonly is_exact: boolean;
}

/** The route that tells what a tenant uses of its plan. */
export function usageRoute(parts: ApiParts): AnyRoute {
  return defineRoute({
    method: "GET",
    path: "/v1/usage",
    hosts: "tenant",
    operationId: "getUsage",
    summary: "Tell what is used of the plan",
    tags: ["account"],
    access: { kind: "member", role: "viewer", scope: "account:read" },
    answers: { 200: { description: "The use", shape: USAGE } },
    problems: [],
    handle: async (call) => {
      const { id: tenantId } = tenantOf(call);
      const plan = parts.plans.plan(tenantOf(call).plan);
      const { limits } = plan;
      const [activeTasks, executions, workers, users, keys] = await Promise.all(
        [
          activeTaskUse(parts, tenantId, limits),
          parts.engine.usage.executions(tenantId),
          recordUse(parts, { tenantId, kind: "worker", limit: limits.workers }),
          recordUse(parts, { tenantId, kind: "user", limit: limits.users }),
          keyUse(parts, {
            tenantId,
            nowMs: call.nowMs,
            limit: limits.keys,
          }),
        ],
      );
      return json({
        plan: plan.id,
        period: usagePeriod(call.nowMs),
        use: {
          active_tasks: activeTasks,
          executions_per_month: {
            limit: limits.executionsPerMonth,
            used: executions,
            is_exact: true,
          },
          workers,
          users,
          keys,
        },
        limits: viewLimits(limits),
      });
    },
  });
}

async function activeTaskUse(
  { engine }: ApiParts,
  tenantId: string,
  { activeTasks: limit }: PlanLimits,
): Promise<Use> {
  const counts = await engine.parts.store.counts({ tenantId });
  const used = LIVE_STATUSES.reduce(
    (sum, status) => sum + (counts[status] ?? 0),
    0,
  );
  return { limit, used, is_exact: true };
}

async function recordUse(
  { engine }: ApiParts,
  { tenantId, kind, limit }: {
    readonly tenantId: string;
    readonly kind: "worker" | "user";
    readonly limit: number | null;
  },
): Promise<Use> {
  const cap = capOf(limit);
  const { store } = engine.parts;
  const used = await countRecords(store, { kind, tenantId, cap });
  return { limit, used, is_exact: used < cap };
}

async function keyUse(
  { engine }: ApiParts,
  { tenantId, nowMs, limit }: {
    readonly tenantId: string;
    readonly nowMs: number;
    readonly limit: number | null;
  },
): Promise<Use> {
  const cap = capOf(limit);
  const { counted } = await surveyKeys(engine.parts, { tenantId, nowMs, cap });
  return { limit, used: counted, is_exact: counted < cap };
}

/** One more than is allowed, so that a full quota is counted to its end. */
function capOf(limit: number | null): number {
  return Math.min(limit ?? COUNT_CAP, COUNT_CAP) + 1;
}
