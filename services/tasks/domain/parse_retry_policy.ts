/**
 * Reading retry policies as clients write them.
 *
 * @module
 */

import { nearest } from "../../shared/did_you_mean.ts";
import { quote } from "../../shared/quote.ts";
import { nominalMs, parseDuration } from "./duration.ts";
import { parseRetryCondition, type RetryCondition } from "./retry_condition.ts";
import type { Backoff, Jitter, RetryPolicy } from "./retry_policy.ts";

/** One thing that is wrong with a policy. */
export interface RetryPolicyProblem {
  /** Where, as a JSON pointer within the policy (RFC 6901); empty for all of it. */
  readonly pointer: string;
  /** What is wrong, as a message for the client. */
  readonly reason: string;
}

/** What reading a policy comes to. */
export type RetryPolicyOutcome =
  | { readonly kind: "ok"; readonly policy: RetryPolicy }
  | {
    readonly kind: "invalid";
    /** All that is wrong, at least one thing. */
    readonly problems: readonly RetryPolicyProblem[];
  };

/** The policy of tasks whose worker has none either. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  limit: 3,
  backoff: { kind: "exponential", intervalMs: 10_000, factor: 2 },
  maxIntervalMs: 3_600_000,
  jitter: "equal",
};

/** The policy of tasks that are tried once. */
export const NO_RETRY_POLICY: RetryPolicy = {
  limit: 0,
  backoff: { kind: "fixed", intervalMs: 0 },
  jitter: "none",
};

const FIELDS = [
  "limit",
  "interval",
  "backoff",
  "factor",
  "max_interval",
  "jitter",
  "for",
  "on",
] as const;

type Field = typeof FIELDS[number];

type Fields = Readonly<Partial<Record<Field, unknown>>>;

const BACKOFFS = ["fixed", "linear", "exponential", "list"] as const;

const JITTERS: readonly Jitter[] = ["none", "equal", "full"];

/** Fields that say how delays grow or spread; without them a delay is as sent. */
const SHAPE_FIELDS: readonly Field[] = [
  "backoff",
  "factor",
  "max_interval",
  "jitter",
];

const DEFAULT_LIMIT = 3;
const DEFAULT_INTERVAL_MS = 10_000;
const DEFAULT_FACTOR = 2;
const DEFAULT_MAX_INTERVAL_MS = 3_600_000;
const MAX_LIMIT = 1_000_000;
const MAX_FACTOR = 100;
const MAX_LIST = 100;

/** A task that is retried for ever must not do it without a pause. */
const MIN_ENDLESS_INTERVAL_MS = 1_000;

/**
 * Reads a retry policy: an object of `limit`, `interval`, `backoff`, `factor`,
 * `max_interval`, `jitter`, `for` and `on`, of which null counts as absent.
 * Nothing at all is {@linkcode DEFAULT_RETRY_POLICY}, null
 * {@linkcode NO_RETRY_POLICY}.
 *
 * - An interval without anything about backoff and jitter means that very delay
 *   each time, or those very delays when it is a list.
 * - An interval without a limit means retries for ever, a list as many as it has
 *   delays. Without both there are three.
 * - Else the defaults are exponential, from ten seconds, by the factor 2, at
 *   most an hour (or the interval, when that is longer), with equal jitter.
 *
 * Months and days in delays have their average length.
 */
export function parseRetryPolicy(input: unknown): RetryPolicyOutcome {
  if (input === undefined) return { kind: "ok", policy: DEFAULT_RETRY_POLICY };
  if (input === null) return { kind: "ok", policy: NO_RETRY_POLICY };
  if (typeof input !== "object" || Array.isArray(input)) {
    const reason = "Cannot read retry policy: it is no object";
    return { kind: "invalid", problems: [{ pointer: "", reason }] };
  }
  const reader = new PolicyReader(input);
  const policy = reader.read();
  return reader.problems.length === 0
    ? { kind: "ok", policy }
    : { kind: "invalid", problems: reader.problems };
}

/** Reads fields one after another and collects what is wrong with them. */
class PolicyReader {
  readonly problems: RetryPolicyProblem[] = [];
  readonly #fields: Fields;

  constructor(input: object) {
    const fields: Partial<Record<Field, unknown>> = {};
    for (const [key, value] of Object.entries(input)) {
      const field = FIELDS.find((name) => name === key);
      if (field === undefined) this.#unknown(key);
      else if (value !== null && value !== undefined) fields[field] = value;
    }
    this.#fields = fields;
  }

  read(): RetryPolicy {
    const isPlain = this.#has("interval") &&
      !SHAPE_FIELDS.some((field) => this.#has(field));
    const backoff = this.#backoff(isPlain);
    const maxIntervalMs = this.#maxIntervalMs(backoff);
    const forMs = this.#durationMs("for");
    const on = this.#conditions();
    const limit = this.#limit(backoff);
    this.#checkPause(backoff, limit);
    return {
      ...limit === undefined ? {} : { limit },
      backoff,
      ...maxIntervalMs === undefined ? {} : { maxIntervalMs },
      jitter: this.#choice("jitter", JITTERS) ?? (isPlain ? "none" : "equal"),
      ...forMs === undefined ? {} : { forMs },
      ...on === undefined ? {} : { on },
    };
  }

  #has(field: Field): boolean {
    return this.#fields[field] !== undefined;
  }

  #backoff(isPlain: boolean): Backoff {
    const isList = Array.isArray(this.#fields.interval);
    const implied = isList ? "list" : isPlain ? "fixed" : "exponential";
    const kind = this.#choice("backoff", BACKOFFS) ?? implied;
    if (kind !== "exponential" && this.#has("factor")) {
      this.#add("/factor", `the factor is for exponential backoff alone`);
    }
    if (isList !== (kind === "list")) {
      this.#add(
        "/interval",
        isList
          ? `a list of intervals is for the backoff "list" alone`
          : `the backoff "list" takes a list of intervals`,
      );
    }
    if (kind === "list") return { kind, intervalsMs: this.#intervalsMs() };
    const intervalMs = (isList ? undefined : this.#durationMs("interval")) ??
      DEFAULT_INTERVAL_MS;
    return kind === "exponential"
      ? { kind, intervalMs, factor: this.#factor() }
      : { kind, intervalMs };
  }

  #intervalsMs(): readonly number[] {
    const list = this.#fields.interval;
    if (!Array.isArray(list)) return [];
    if (list.length === 0 || list.length > MAX_LIST) {
      this.#add("/interval", `the list takes 1 to ${MAX_LIST} intervals`);
      return [];
    }
    return list.map((item: unknown, index) =>
      this.#toMs(item, `/interval/${index}`) ?? 0
    );
  }

  #factor(): number {
    const factor = this.#fields.factor ?? DEFAULT_FACTOR;
    if (typeof factor === "number" && factor >= 1 && factor <= MAX_FACTOR) {
      return factor;
    }
    this.#add("/factor", `the factor is no number from 1 to ${MAX_FACTOR}`);
    return DEFAULT_FACTOR;
  }

  #maxIntervalMs(backoff: Backoff): number | undefined {
    const givenMs = this.#durationMs("max_interval");
    if (backoff.kind === "list") return givenMs;
    if (givenMs !== undefined && givenMs < backoff.intervalMs) {
      this.#add("/max_interval", "it is shorter than the interval");
    }
    if (givenMs !== undefined || backoff.kind === "fixed") return givenMs;
    return Math.max(DEFAULT_MAX_INTERVAL_MS, backoff.intervalMs);
  }

  #limit(backoff: Backoff): number | undefined {
    const { limit } = this.#fields;
    if (limit === undefined) {
      if (!this.#has("interval")) return DEFAULT_LIMIT;
      return backoff.kind === "list" ? backoff.intervalsMs.length : undefined;
    }
    if (
      typeof limit === "number" && Number.isInteger(limit) && limit >= 0 &&
      limit <= MAX_LIMIT
    ) {
      return limit;
    }
    this.#add("/limit", `the limit is no whole number from 0 to ${MAX_LIMIT}`);
    return DEFAULT_LIMIT;
  }

  #checkPause(backoff: Backoff, limit: number | undefined): void {
    if (limit !== undefined || backoff.kind === "list") return;
    if (backoff.intervalMs >= MIN_ENDLESS_INTERVAL_MS) return;
    this.#add(
      "/interval",
      "retries without a limit need an interval of at least a second",
    );
  }

  #conditions(): readonly RetryCondition[] | undefined {
    const { on } = this.#fields;
    if (on === undefined) return undefined;
    if (!Array.isArray(on) || on.length === 0 || on.length > MAX_LIST) {
      this.#add("/on", `it is no list of 1 to ${MAX_LIST} conditions`);
      return undefined;
    }
    return on.flatMap((item: unknown, index) => {
      const condition = parseRetryCondition(item);
      if (condition !== undefined) return [condition];
      this.#add(
        `/on/${index}`,
        `it is neither a status such as 429, nor a class of them such as ` +
          `"5xx", nor an error code such as "timed_out"`,
      );
      return [];
    });
  }

  #choice<Choice extends string>(
    field: Field,
    choices: readonly Choice[],
  ): Choice | undefined {
    const value = this.#fields[field];
    if (value === undefined) return undefined;
    const choice = choices.find((name) => name === value);
    if (choice === undefined) {
      this.#add(`/${field}`, `it is none of ${choices.join(", ")}`);
    }
    return choice;
  }

  #durationMs(field: Field): number | undefined {
    const value = this.#fields[field];
    return value === undefined ? undefined : this.#toMs(value, `/${field}`);
  }

  #toMs(value: unknown, pointer: string): number | undefined {
    const outcome = parseDuration(value);
    if (outcome.kind === "ok") return nominalMs(outcome.duration);
    this.problems.push({ pointer, reason: outcome.reason });
    return undefined;
  }

  #unknown(key: string): void {
    const meant = nearest(key, FIELDS);
    const hint = meant === undefined
      ? `the fields are ${FIELDS.join(", ")}`
      : `did you mean "${meant}"?`;
    const escaped = key.replaceAll("~", "~0").replaceAll("/", "~1");
    this.#add(`/${escaped}`, `${quote(key)} is no field of it; ${hint}`);
  }

  #add(pointer: string, state: string): void {
    const reason = `Cannot read retry policy: ${state}`;
    this.problems.push({ pointer, reason });
  }
}
