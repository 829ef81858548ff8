/**
 * Plans and prices as the API shows them, which is how the plan file writes
 * them too.
 *
 * @module
 */

import { DAY_MS, formatDuration } from "../../domain/duration.ts";
import type { Plan, PlanLimits, Price } from "../../domain/records.ts";
import type { JsonObject } from "../../../shared/schema/schema.ts";

/** Returns a plan as the API shows it. */
export function viewPlan(plan: Plan): JsonObject {
  return {
    id: plan.id,
    name: plan.name,
    limits: viewLimits(plan.limits),
    features: plan.features,
  };
}

/** Returns the limits of a plan as the API shows them; null is no limit. */
export function viewLimits(limits: PlanLimits): JsonObject {
  return {
    requests_per_second: limits.requestsPerSecond,
    active_tasks: limits.activeTasks,
    executions_per_month: limits.executionsPerMonth,
    workers: limits.workers,
    users: limits.users,
    keys: limits.keys,
    webhooks: limits.webhooks,
    payload_bytes: limits.payloadBytes,
    batch_size: limits.batchSize,
    max_delay: limits.maxDelayMs === null ? null : exact(limits.maxDelayMs),
    min_interval: exact(limits.minIntervalMs),
    concurrency: limits.concurrency,
    retention_days: limits.retentionMs === null
      ? null
      : limits.retentionMs / DAY_MS,
    history_per_task: limits.historyPerTask,
    sse_connections: limits.sseConnections,
  };
}

/** Returns a price as the API shows it. */
export function viewPrice(price: Price): JsonObject {
  return {
    plan: price.plan,
    currency: price.currency,
    interval: price.interval,
    unit_amount: price.unitAmount,
    metered: price.metered.map(({ unit, per, unitAmount }) => ({
      unit,
      per,
      unit_amount: unitAmount,
    })),
    effective_from: price.effectiveFrom,
  };
}

/** Whole days are written as such, since limits have no clock changes. */
function exact(ms: number): string {
  return ms > 0 && ms % DAY_MS === 0
    ? formatDuration({ months: 0, days: ms / DAY_MS, ms: 0 })
    : formatDuration({ months: 0, days: 0, ms });
}
