/**
 * The routes by which a tenant reads its audit log and its usage of the plan.
 *
 * @module
 */

import { MAX_DOMAIN_CHARS } from "../accounts/tenant_fields.ts";
import { nullable } from "../../../shared/schema/composite.ts";
import { anyJson } from "../../../shared/schema/json_value.ts";
import { object } from "../../../shared/schema/object.ts";
import { querySchema } from "../../../shared/schema/query.ts";
import {
  described,
  isJsonObject,
  named,
  type ValueOf,
} from "../../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  integer,
  text,
} from "../../../shared/schema/values.ts";
import type { PlanLimits } from "../../domain/records.ts";
import { liveCount } from "../../domain/task.ts";
import type { Engine } from "../../engine/engine.ts";
import { utcTime } from "../../domain/instant.ts";
import { countRecords } from "../../engine/record_writes.ts";
import { usagePeriod } from "../../engine/plan_usage.ts";
import { json } from "../../http/answer.ts";
import { getTenant } from "../../http/call.ts";
import { answerPage, PAGE_FIELDS, pageShape } from "../../http/page.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import type { AuditEntry } from "../../store/store.ts";
import type { ApiParts } from "../api_parts.ts";
import { surveyKeys } from "../keys/key_rules.ts";
import { LIMITS, viewLimits } from "../service/plan_fields.ts";
import { shownTime } from "../record_table.ts";

/** Returns an entry of the audit log as the API shows it. */
function viewAudit(
  entry: AuditEntry,
): Readonly<Record<string, unknown>> {
  const fact: unknown = JSON.parse(entry.text);
  const { actor, target, detail } = isJsonObject(fact) ? fact : {};
  return {
    number: entry.number,
    at: utcTime(entry.atMs),
    action: entry.action,
    actor: actor ?? null,
    target: target ?? null,
    detail: detail ?? {},
  };
}

/** Most bytes of the detail of an entry. */
const MAX_DETAIL_BYTES = 65_536;

const ENTRY = named(
  "AuditEntry",
  object({
    number: described(integer({ minimum: 1 }), "Rises with time"),
    at: shownTime("When it was done"),
    action: described(text({ maxLength: 100 }), "What was done"),
    actor: described(
      nullable(object({
        type: described(
          choice(["user", "key", "worker", "system"]),
          "A person, a program with a key, a worker, or the service itself",
        ),
        id: described(
          text({ maxLength: 64 }),
          "The id of the user, the key or the worker",
        ),
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
    query: querySchema(PAGE_FIELDS),
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
        tenantId: getTenant(call).id,
        filter: "audit",
        query: call.query,
        url: `${call.baseUrl}/v1/audit`,
        read: async (position) => {
          const { limit } = call.query;
          const entries = await engine.parts.store.audit({
            tenantId: getTenant(call).id,
            limit: limit + 1,
            before: typeof position === "number" ? position : undefined,
          });
          const shown = entries.slice(0, limit);
          const last = shown.at(-1);
          return {
            data: shown.map(viewAudit),
            next: entries.length > limit ? last?.number : undefined,
          };
        },
      }),
  });
}

/** Counting stops here, also where the plan allows more or has no limit. */
const COUNT_CAP = 100_000;

const USE_EXAMPLE = { limit: 1_000, used: 42, is_exact: true } as const;

const USE = named(
  "Use",
  object({
    limit: described(
      nullable(integer({ minimum: 0 })),
      "What the plan allows; null for no limit",
    ),
    used: described(integer({ minimum: 0 }), "How many there are"),
    is_exact: described(
      boolean(),
      "Whether `used` is all of it; counting stops somewhere beyond the " +
        "limit",
    ),
  }),
  {
    description: "The used part of the plan",
    examples: [USE_EXAMPLE],
  },
);

const USAGE = named(
  "Usage",
  object({
    plan: described(
      text({ maxLength: MAX_DOMAIN_CHARS }),
      "The id of the plan whose limits hold",
    ),
    period: described(
      text({ pattern: /^\d{4}-\d{2}$/, mustBe: "a month" }),
      "The month of UTC that executions are counted in",
    ),
    use: described(
      object({
        active_tasks: described(USE, "Tasks that are not final"),
        executions_per_month: described(USE, "Attempts in the `period`"),
        workers: described(USE, "Workers that there are"),
        users: described(USE, "Users that there are"),
        keys: described(USE, "API keys that there are"),
      }),
      "Each limit that bounds a number of things, and that number",
    ),
    limits: described(LIMITS, "All limits of the plan"),
  }),
  {
    description: "A tenant's usage of its plan",
    examples: [{
      plan: "free",
      period: "2027-01",
      use: {
        active_tasks: USE_EXAMPLE,
        executions_per_month: USE_EXAMPLE,
        workers: USE_EXAMPLE,
        users: USE_EXAMPLE,
        keys: USE_EXAMPLE,
      },
      limits: {},
    }],
  },
);

type Use = ValueOf<typeof USE>;

/** The limits that bound a number of things. */
export const LIMIT_NAMES = [
  "active_tasks",
  "executions_per_month",
  "workers",
  "users",
  "keys",
] as const;

type LimitName = typeof LIMIT_NAMES[number];

/** The route that tells how much of its plan a tenant uses. */
export function usageRoute({ engine, plans }: ApiParts): AnyRoute {
  return defineRoute({
    method: "GET",
    path: "/v1/usage",
    hosts: "tenant",
    operationId: "getUsage",
    summary: "Read the usage of the plan",
    tags: ["account"],
    access: { kind: "member", role: "viewer", scope: "account:read" },
    answers: { 200: { description: "The use", shape: USAGE } },
    problems: [],
    handle: async (call) => {
      const { nowMs } = call;
      const { id: tenantId, plan: planId } = getTenant(call);
      const plan = plans.plan(planId);
      const { limits } = plan;
      return json({
        plan: plan.id,
        period: usagePeriod(nowMs),
        use: await readUse(engine, { tenantId, limits, nowMs }),
        limits: viewLimits(limits),
      });
    },
  });
}

/**
 * How much of each limit a tenant uses.
 *
 * @throws {Error} when the store fails
 */
export async function readUse(
  { parts, usage }: Pick<Engine, "parts" | "usage">,
  { tenantId, limits, nowMs, isUnlimitedCounted = true }: {
    readonly tenantId: string;
    readonly limits: PlanLimits;
    readonly nowMs: number;
    /**
     * Whether workers, users and keys are counted that no limit bounds.
     *
     * @default {true}
     */
    readonly isUnlimitedCounted?: boolean;
  },
): Promise<Readonly<Record<LimitName, Use>>> {
  const { store } = parts;
  const countUse: typeof countedUse = async (limit, count) =>
    limit === null && !isUnlimitedCounted
      ? { limit, used: 0, is_exact: false }
      : await countedUse(limit, count);
  const [counts, executions, workers, users, keys] = await Promise.all([
    store.counts({ tenantId }),
    usage.executions(tenantId),
    countUse(
      limits.workers,
      (cap) => countRecords(store, { kind: "worker", tenantId, cap }),
    ),
    countUse(
      limits.users,
      (cap) => countRecords(store, { kind: "user", tenantId, cap }),
    ),
    countUse(
      limits.keys,
      async (cap) =>
        (await surveyKeys(parts, { tenantId, nowMs, cap })).counted,
    ),
  ]);
  return {
    active_tasks: {
      limit: limits.activeTasks,
      used: liveCount(counts),
      is_exact: true,
    },
    executions_per_month: {
      limit: limits.executionsPerMonth,
      used: executions,
      is_exact: true,
    },
    workers,
    users,
    keys,
  };
}

/** The usage of things that are counted one by one. */
async function countedUse(
  limit: number | null,
  count: (cap: number) => Promise<number>,
): Promise<Use> {
  // One more than is allowed, so that a full quota is counted to its end.
  const cap = Math.min(limit ?? COUNT_CAP, COUNT_CAP) + 1;
  const used = await count(cap);
  return { limit, used, is_exact: used < cap };
}
