/**
 * The fields of plans and prices, as the API shows them and as the plan file
 * has them.
 *
 * @module
 */

import {
  list,
  nullable,
  type Parsed,
  parsed,
} from "../../../shared/schema/composite.ts";
import {
  object,
  type ObjectOf,
  withDefault,
} from "../../../shared/schema/object.ts";
import {
  described,
  type JsonObject,
  named,
  type Schema,
} from "../../../shared/schema/schema.ts";
import {
  choice,
  integer,
  number,
  ONE_LINE,
  text,
} from "../../../shared/schema/values.ts";
import { DAY_MS, formatDuration } from "../../../shared/duration.ts";
import { daysOfMonth } from "../../domain/instant.ts";
import {
  MAX_BATCH_SIZE,
  MIN_HISTORY_PER_TASK,
  type Plan,
  type PlanLimits,
  type Price,
  UNLIMITED_PLAN,
} from "../../domain/records.ts";
import { durationMs } from "../../domain/value_schemas.ts";

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
    payload_bytes: limits.payloadBytes,
    batch_size: limits.batchSize,
    max_delay: limits.maxDelayMs === null ? null : exact(limits.maxDelayMs),
    min_interval: exact(limits.minIntervalMs),
    concurrency: limits.concurrency,
    retention_days: limits.retentionMs === null
      ? null
      : limits.retentionMs / DAY_MS,
    audit_retention_days: limits.auditRetentionMs === null
      ? null
      : limits.auditRetentionMs / DAY_MS,
    history_per_task: limits.historyPerTask,
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

/**
 * Whole days are written as days, since limits are not affected by clock
 * changes.
 */
function exact(ms: number): string {
  return ms > 0 && ms % DAY_MS === 0
    ? formatDuration({ months: 0, days: ms / DAY_MS, ms: 0 })
    : formatDuration({ months: 0, days: 0, ms });
}

const UNLIMITED = viewLimits(UNLIMITED_PLAN.limits);

/** The longest time for which anything is kept, in days: a hundred years. */
const MAX_DAYS = 36_500;

/**
 * The limits of a plan by name. Limits that a file leaves out are those of the
 * unlimited plan.
 */
const LIMIT_FIELDS = {
  requests_per_second: withDefault(
    nullable(number({ minimum: 0.1, maximum: 1_000_000 })),
    null,
    "Requests in a second, on average; ten tasks of a batch or a bulk " +
      "action, or 10 ms of the service's time, count as one",
  ),
  active_tasks: withDefault(count(0), null, "Tasks that are not final"),
  executions_per_month: withDefault(
    count(0),
    null,
    "Attempts in a calendar month of UTC",
  ),
  workers: withDefault(count(0), null, "Workers that there are"),
  users: withDefault(count(0), null, "Users that there are"),
  keys: withDefault(count(1), null, "API keys that there are"),
  payload_bytes: withDefault(
    integer({ minimum: 1_024, maximum: 16_777_216 }),
    UNLIMITED_PLAN.limits.payloadBytes,
    "Bytes of a task's data as JSON text",
  ),
  batch_size: withDefault(
    integer({ minimum: 1, maximum: MAX_BATCH_SIZE }),
    UNLIMITED_PLAN.limits.batchSize,
    "Tasks of one batch",
  ),
  max_delay: withDefault(
    nullable(durationMs({ minimumMs: 1_000 })),
    null,
    "How far ahead a date may lie",
  ),
  min_interval: withDefault(
    durationMs({ minimumMs: 1_000 }),
    UNLIMITED.min_interval ?? null,
    "The shortest spacing of a schedule",
  ),
  concurrency: withDefault(
    count(1),
    null,
    "Tasks of a worker under way at once",
  ),
  retention_days: withDefault(
    nullable(number({ minimum: 0, maximum: MAX_DAYS })),
    (UNLIMITED_PLAN.limits.retentionMs ?? 0) / DAY_MS,
    "Days a task is kept after its end",
  ),
  audit_retention_days: withDefault(
    nullable(number({ minimum: 1, maximum: MAX_DAYS })),
    (UNLIMITED_PLAN.limits.auditRetentionMs ?? 0) / DAY_MS,
    "Days an entry of the audit log is kept",
  ),
  history_per_task: withDefault(
    count(MIN_HISTORY_PER_TASK),
    UNLIMITED_PLAN.limits.historyPerTask,
    "Records of a task's history; the oldest of more are folded into one",
  ),
};

/** The limits of a plan. */
export const LIMITS: Schema<ObjectOf<typeof LIMIT_FIELDS>> = named(
  "PlanLimits",
  object(LIMIT_FIELDS),
  {
    description: "The limits of a plan; null is no limit",
  },
);

/** What limits bound, in words, by name; without those whose name says it. */
export function limitMeanings(): Readonly<Record<string, string>> {
  const { properties = {} } = LIMITS.definitions().get("PlanLimits") ?? {};
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, { description }]) =>
      description === undefined ? [] : [[name, description]]
    ),
  );
}

/** The id of a plan. */
export const PLAN_ID: Schema<string> = text({
  minLength: 1,
  maxLength: 63,
  pattern: /^[a-z0-9][a-z0-9_\-]*$/,
  mustBe: "of small letters, digits, hyphens and underscores",
});

/** One line of text for people. */
function line(maxLength: number): Schema<string> {
  return text({
    minLength: 1,
    maxLength,
    pattern: ONE_LINE,
    mustBe: "one line of text",
  });
}

/** The members of a plan. */
const PLAN_FIELDS = {
  id: described(PLAN_ID, "What tenants and prices name it by"),
  name: described(line(200), "What people call it"),
  limits: withDefault(LIMITS, {}),
  features: withDefault(
    list(line(200), { maxItems: 100 }),
    [],
    "What it offers, for people; the service does not act by it",
  ),
};

/** A plan. */
export const PLAN: Schema<ObjectOf<typeof PLAN_FIELDS>> = named(
  "Plan",
  object(PLAN_FIELDS),
  {
    description: "What a tenant may use",
    examples: [{
      id: "free",
      name: "Free",
      limits: { ...UNLIMITED, active_tasks: 1_000, min_interval: "PT1M" },
      features: ["Push and pull workers"],
    }],
  },
);

/** A day of the Gregorian calendar, such as 2030-01-31. */
function day(): Schema<string> {
  const written = text({
    pattern: /^\d{4}-\d{2}-\d{2}$/,
    mustBe: "a day such as 2030-01-31",
    format: "date",
  });
  return parsed(written, (value): Parsed<string> => {
    const [year = 0, month = 0, date = 0] = value.split("-").map(Number);
    const isDay = date >= 1 && date <= daysOfMonth(year, month);
    return isDay ? { kind: "ok", value } : {
      kind: "invalid",
      code: "bad_time",
      reason: `Cannot read day "${value}": the calendar has no such day`,
    };
  });
}

const AMOUNT = described(
  integer({ minimum: 0 }),
  "In the currency's minor unit",
);

/** The members of a price. */
const PRICE_FIELDS = {
  plan: described(PLAN_ID, "The id of what it is for"),
  currency: described(
    text({
      pattern: /^[A-Z]{3}$/,
      mustBe: "a code of ISO 4217 in capitals",
    }),
    "The code of ISO 4217",
  ),
  interval: described(
    choice(["month", "year"]),
    "How long `unit_amount` pays for",
  ),
  unit_amount: AMOUNT,
  metered: withDefault(
    list(
      object({
        unit: described(line(63), "What is counted"),
        per: described(
          integer({ minimum: 1 }),
          "How many of it cost the amount",
        ),
        unit_amount: AMOUNT,
      }),
      { maxItems: 20 },
    ),
    [],
    "What costs more the more of it is used",
  ),
  effective_from: described(day(), "The first day it holds"),
};

/** A price. */
export const PRICE: Schema<ObjectOf<typeof PRICE_FIELDS>> = named(
  "Price",
  object(PRICE_FIELDS),
  {
    description: "What a plan costs",
    examples: [{
      plan: "team",
      currency: "EUR",
      interval: "month",
      unit_amount: 4_900,
      metered: [{ unit: "executions", per: 100_000, unit_amount: 500 }],
      effective_from: "2027-01-01",
    }],
  },
);

/** A whole number, or null for no limit. */
function count(minimum: number): Schema<number | null> {
  return nullable(integer({ minimum }));
}
