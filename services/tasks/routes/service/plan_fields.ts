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
import { object, withDefault } from "../../../shared/schema/object.ts";
import {
  described,
  type JsonValue,
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
import {
  createViewer,
  type RecordField,
  type RecordTable,
  type RecordView,
  toStoredSchema,
} from "../record_table.ts";

/**
 * Whole days are written as days, since limits are not affected by clock
 * changes.
 */
function exact(ms: number | null): string | null {
  if (ms === null) return null;
  return ms > 0 && ms % DAY_MS === 0
    ? formatDuration({ months: 0, days: ms / DAY_MS, ms: 0 })
    : formatDuration({ months: 0, days: 0, ms });
}

/** The longest time for which anything is kept, in days: a hundred years. */
const MAX_DAYS = 36_500;

/** A limit; a file that leaves it out means that of the unlimited plan. */
function limit<Key extends keyof PlanLimits>(
  key: Key,
  schema: Schema<PlanLimits[Key]>,
  about: string,
  show: (value: PlanLimits[Key]) => JsonValue = (value) => value,
): RecordField<PlanLimits, void> {
  const standard = show(UNLIMITED_PLAN.limits[key]);
  return {
    field: withDefault(schema, standard, about),
    key,
    show: (limits) => show(limits[key]),
  };
}

/** The limits of a plan by name. */
const LIMIT_TABLE = {
  requests_per_second: limit(
    "requestsPerSecond",
    nullable(number({ minimum: 0.1, maximum: 1_000_000 })),
    "Requests in a second, on average; ten tasks of a batch or a bulk " +
      "action, or 10 ms of the service's time, count as one",
  ),
  active_tasks: limit("activeTasks", count(0), "Tasks that are not final"),
  executions_per_month: limit(
    "executionsPerMonth",
    count(0),
    "Attempts in a calendar month of UTC",
  ),
  workers: limit("workers", count(0), "Workers that there are"),
  users: limit("users", count(0), "Users that there are"),
  keys: limit("keys", count(1), "API keys that there are"),
  payload_bytes: limit(
    "payloadBytes",
    integer({ minimum: 1_024, maximum: 16_777_216 }),
    "Bytes of a task's data as JSON text",
  ),
  batch_size: limit(
    "batchSize",
    integer({ minimum: 1, maximum: MAX_BATCH_SIZE }),
    "Tasks of one batch",
  ),
  max_delay: limit(
    "maxDelayMs",
    nullable(durationMs({ minimumMs: 1_000 })),
    "How far ahead a date may lie",
    exact,
  ),
  min_interval: limit(
    "minIntervalMs",
    durationMs({ minimumMs: 1_000 }),
    "The shortest spacing of a schedule",
    exact,
  ),
  concurrency: limit(
    "concurrency",
    count(1),
    "Tasks of a worker under way at once",
  ),
  retention_days: limit(
    "retentionMs",
    days(0),
    "Days a task is kept after its end",
    inDays,
  ),
  audit_retention_days: limit(
    "auditRetentionMs",
    days(1),
    "Days an entry of the audit log is kept",
    inDays,
  ),
  session: limit(
    "sessionMs",
    durationMs({ minimumMs: 60_000 }),
    "How long people use the console before they sign in again",
    exact,
  ),
  history_per_task: limit(
    "historyPerTask",
    count(MIN_HISTORY_PER_TASK),
    "Records of a task's history; the oldest of more are folded into one",
  ),
} as const;

/** Returns the limits of a plan as the API shows them; null is no limit. */
export const viewLimits: (limits: PlanLimits) => RecordView = createViewer(
  LIMIT_TABLE,
);

/** The limits of a plan. */
export const LIMITS: Schema<PlanLimits> = named(
  "PlanLimits",
  toStoredSchema<PlanLimits>(LIMIT_TABLE),
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

/** A time in days, or null for no limit. */
function days(minimum: number): Schema<number | null> {
  return parsed(nullable(number({ minimum, maximum: MAX_DAYS })), (value) => ({
    kind: "ok",
    value: value && value * DAY_MS,
  }));
}

function inDays(ms: number | null): number | null {
  return ms && ms / DAY_MS;
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
export const PLAN: Schema<Plan> = named(
  "Plan",
  object(PLAN_FIELDS),
  {
    description: "The limits of a tenant",
    examples: [{
      id: "free",
      name: "Free",
      limits: {
        ...viewLimits(UNLIMITED_PLAN.limits),
        active_tasks: 1_000,
        min_interval: "PT1M",
      },
      features: ["Push and pull workers"],
    }],
  },
);

/** Returns a plan as the API shows it. */
export function viewPlan(plan: Plan): RecordView {
  return { ...plan, limits: viewLimits(plan.limits) };
}

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

/** What costs more the more of it is used. */
const METERED_TABLE = {
  unit: { field: described(line(63), "What is counted"), key: "unit" },
  per: {
    field: described(
      integer({ minimum: 1 }),
      "How many of it cost the amount",
    ),
    key: "per",
  },
  unit_amount: { field: AMOUNT, key: "unitAmount" },
} as const satisfies RecordTable<Price["metered"][number]>;

const viewMetered = createViewer<Price["metered"][number]>(METERED_TABLE);

/** The members of a price. */
const PRICE_TABLE = {
  plan: {
    field: described(PLAN_ID, "The id of what it is for"),
    key: "plan",
  },
  currency: {
    field: described(
      text({
        pattern: /^[A-Z]{3}$/,
        mustBe: "a code of ISO 4217 in capitals",
      }),
      "The code of ISO 4217",
    ),
    key: "currency",
  },
  interval: {
    field: described(
      choice(["month", "year"]),
      "How long `unit_amount` pays for",
    ),
    key: "interval",
  },
  unit_amount: { field: AMOUNT, key: "unitAmount" },
  metered: {
    field: withDefault(
      list(toStoredSchema<Price["metered"][number]>(METERED_TABLE), {
        maxItems: 20,
      }),
      [],
      "What costs more the more of it is used",
    ),
    key: "metered",
    show: ({ metered }: Price) => metered.map((one) => viewMetered(one)),
  },
  effective_from: {
    field: described(day(), "The first day it holds"),
    key: "effectiveFrom",
  },
} as const satisfies RecordTable<Price>;

/** Returns a price as the API shows it. */
export const viewPrice: (price: Price) => RecordView = createViewer(
  PRICE_TABLE,
);

/** A price. */
export const PRICE: Schema<Price> = named(
  "Price",
  toStoredSchema(PRICE_TABLE),
  {
    description: "The price of a plan",
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
