/**
 * Reads and checks retry policies as clients write them in JSON.
 *
 * @module
 */

import {
  asGiven,
  list,
  nullable,
  oneOf,
  type Parsed,
  parsed,
} from "../../shared/schema/composite.ts";
import { type Fault, pointerTo, report } from "../../shared/schema/fault.ts";
import { object, type ObjectOf, settable } from "../../shared/schema/object.ts";
import {
  described,
  isJsonObject,
  type JsonValue,
  named,
  type ReadOutcome,
  type Schema,
} from "../../shared/schema/schema.ts";
import { choice, integer, number } from "../../shared/schema/values.ts";
import { nominalMs } from "../../shared/duration.ts";
import {
  type Backoff,
  parseRetryCondition,
  type RetryPolicy,
} from "./retry_policy.ts";
import { BACKOFF_WORDS, guided, RETRY_WORDS } from "./other_words.ts";
import { duration } from "./value_schemas.ts";

const DEFAULT_LIMIT = 3;
const DEFAULT_INTERVAL_MS = 10_000;
const DEFAULT_FACTOR = 2;
const DEFAULT_MAX_INTERVAL_MS = 3_600_000;

/**
 * The policy that applies when neither the task, its job nor its worker has
 * one.
 */
export const DEFAULT_RETRY_POLICY: RetryPolicy = filled({});

/** The policy of tasks that are tried once. */
export const NO_RETRY_POLICY: RetryPolicy = {
  limit: 0,
  backoff: { kind: "fixed", intervalMs: 0 },
  jitter: "none",
};

/**
 * The shortest interval of a policy without a limit, so that a task is not
 * retried forever without a pause.
 */
const MIN_ENDLESS_INTERVAL_MS = 1_000;

/**
 * Delays in milliseconds, in which months and days have their average length.
 */
const DELAY_MS = parsed(
  duration(),
  (value) => ({ kind: "ok", value: nominalMs(value) }),
);

const CONDITION = parsed(
  asGiven({ type: ["string", "integer"] }),
  (value): Parsed<string> => {
    const condition = parseRetryCondition(value);
    return condition !== undefined ? { kind: "ok", value: condition } : {
      kind: "invalid",
      reason: "Cannot accept condition: it is neither a status such as 429, " +
        'nor a class of them such as "5xx", nor an error code such as ' +
        '"timed_out"',
    };
  },
);

const FIELDS = {
  limit: settable(
    integer({ minimum: 0, maximum: 1_000_000 }),
    "Retries after the first attempt. When absent 3, or the number of delays " +
      "in a list, or no limit with a single interval",
  ),
  interval: settable(
    oneOf([
      {
        when: Array.isArray,
        schema: list(DELAY_MS, { minItems: 1, maxItems: 100 }),
      },
      { when: () => true, schema: DELAY_MS },
    ], { mustBe: "a delay nor a list of them" }),
    "The delay, the first delay, or all delays in a list; ten seconds when " +
      "absent",
  ),
  backoff: settable(
    guided(choice(["fixed", "linear", "exponential", "list"]), BACKOFF_WORDS),
    "The growth of the delay. When absent `list` for a list, `fixed` for an " +
      "interval without `factor`, `max_interval` and `jitter`, and otherwise " +
      "`exponential`",
  ),
  factor: settable(
    number({ minimum: 1, maximum: 100 }),
    "The factor by which each delay grows, only for `exponential`; 2 when " +
      "absent",
  ),
  max_interval: settable(
    DELAY_MS,
    "The longest delay of a growing backoff; when absent an hour, or the " +
      "interval if that is longer",
  ),
  jitter: settable(
    choice(["none", "equal", "full"]),
    "The random shortening of a delay: none, up to half, or up to all of it. " +
      "When absent `equal`, and `none` for an interval without other fields",
  ),
  for: settable(
    DELAY_MS,
    "How long after the first attempt of a run a retry may begin; no limit " +
      "when absent",
  ),
  on: settable(
    list(CONDITION, { minItems: 1, maxItems: 100 }),
    'Failures to retry: statuses (429), classes ("5xx"), error codes ' +
      '("timed_out"); when absent all retryable ones',
  ),
};

const WRITTEN = described(guided(object(FIELDS), RETRY_WORDS), {
  description: "When a failed attempt is tried again",
  examples: [{ limit: 3, interval: "PT10S" }],
});

type Written = ObjectOf<typeof FIELDS>;

/**
 * The schema of a retry policy, or null for no retries. The policy is checked
 * and stored as the client wrote it.
 */
export const RETRY_POLICY: Schema<JsonValue> = named("RetryPolicy", {
  ...nullable(WRITTEN),
  read: (value, at, faults) =>
    // The value was parsed from JSON and has been checked, so it is a JSON
    // value.
    readPolicy(value, at, faults) && value as JsonValue,
});

/**
 * Reads a retry policy: an object of `limit`, `interval`, `backoff`, `factor`,
 * `max_interval`, `jitter`, `for` and `on`, of which null counts as absent. An
 * absent policy means {@linkcode DEFAULT_RETRY_POLICY}, null means
 * {@linkcode NO_RETRY_POLICY}.
 *
 * - An interval without any other setting of backoff and jitter means exactly
 *   that delay each time, or exactly those delays when it is a list.
 * - An interval without a limit means retries forever; a list means as many
 *   retries as it has delays. Without both there are three retries.
 * - Otherwise the backoff is exponential, from ten seconds, by the factor 2, at
 *   most an hour (or the interval, when that is longer), with equal jitter.
 */
export function parseRetryPolicy(input: unknown): ReadOutcome<RetryPolicy> {
  if (input === undefined) return { kind: "ok", value: DEFAULT_RETRY_POLICY };
  const faults: Fault[] = [];
  const policy = readPolicy(input, "", faults);
  return policy === undefined
    ? { kind: "invalid", faults }
    : { kind: "ok", value: policy };
}

/** The members of a policy that are durations. */
const DURATIONS: readonly string[] = ["interval", "max_interval", "for"];

/**
 * A stored policy as it would be written today: in a policy of an earlier
 * version, a number as a duration means seconds.
 */
export function policyWithUnits(stored: unknown): unknown {
  if (!isJsonObject(stored)) return stored;
  return Object.fromEntries(
    Object.entries(stored).map(([name, value]) => [
      name,
      DURATIONS.includes(name) ? withUnits(value) : value,
    ]),
  );
}

function withUnits(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withUnits);
  return typeof value === "number" ? { seconds: value } : value;
}

function readPolicy(
  value: unknown,
  at: string,
  faults: Fault[],
): RetryPolicy | undefined {
  if (value === null) return NO_RETRY_POLICY;
  const own: Fault[] = [];
  const written = WRITTEN.read(value, at, own);
  const policy = written && filled(written);
  if (policy !== undefined) check(written ?? {}, { policy, at, faults: own });
  for (const fault of own) report(faults, { ...fault, code: "bad_retry" });
  return own.length === 0 ? policy : undefined;
}

/** The policy with its defaults. */
function filled(written: Written): RetryPolicy {
  const { interval, factor, jitter } = written;
  const maxIntervalMs = written.max_interval ?? undefined;
  const isList = typeof interval === "object" && interval !== null;
  const isGiven = typeof interval === "number" || isList;
  // Without settings of backoff and jitter, delays are exactly as written.
  const isPlain = isGiven && (written.backoff ?? factor ?? jitter ??
        maxIntervalMs) === undefined;
  const kind = written.backoff ??
    (isList ? "list" : isPlain ? "fixed" : "exponential");
  const first = isList ? undefined : interval;
  const backoff = createBackoff(kind, {
    intervalMs: first ?? DEFAULT_INTERVAL_MS,
    intervalsMs: isList ? interval : [],
    factor: factor ?? DEFAULT_FACTOR,
  });
  return {
    limit: written.limit ??
      (isList ? interval.length : isGiven ? undefined : DEFAULT_LIMIT),
    backoff,
    maxIntervalMs: maxIntervalMs ??
      (backoff.kind === "linear" || backoff.kind === "exponential"
        ? Math.max(DEFAULT_MAX_INTERVAL_MS, backoff.intervalMs)
        : undefined),
    jitter: jitter ?? (isPlain ? "none" : "equal"),
    forMs: written.for ?? undefined,
    on: written.on ?? undefined,
  };
}

function createBackoff(
  kind: Backoff["kind"],
  { intervalMs, intervalsMs, factor }: {
    readonly intervalMs: number;
    readonly intervalsMs: readonly number[];
    readonly factor: number;
  },
): Backoff {
  switch (kind) {
    case "list":
      return { kind, intervalsMs };
    case "exponential":
      return { kind, intervalMs, factor };
    default:
      return { kind, intervalMs };
  }
}

/** Reports settings that contradict each other. */
function check(
  { interval, factor, max_interval: maxIntervalMs }: Written,
  { policy, at, faults }: {
    readonly policy: RetryPolicy;
    readonly at: string;
    readonly faults: Fault[];
  },
): void {
  const { backoff, limit } = policy;
  const add = (field: keyof Written, state: string): void => {
    const detail = `Cannot read retry policy: ${state}`;
    faults.push({ pointer: pointerTo(at, field), code: "", detail });
  };
  const isList = typeof interval === "object" && interval !== null;
  if (backoff.kind !== "exponential" && typeof factor === "number") {
    add("factor", "the factor is for exponential backoff alone");
  }
  if (isList && backoff.kind !== "list") {
    add("interval", 'a list of intervals is for the backoff "list" alone');
  } else if (!isList && backoff.kind === "list") {
    add("interval", 'the backoff "list" takes a list of intervals');
  }
  if (backoff.kind === "list") return;
  const { intervalMs } = backoff;
  if (typeof maxIntervalMs === "number" && maxIntervalMs < intervalMs) {
    add("max_interval", "it is shorter than the interval");
  }
  if (limit === undefined && intervalMs < MIN_ENDLESS_INTERVAL_MS) {
    add(
      "interval",
      "retries without a limit need an interval of at least a second",
    );
  }
}
