/**
 * What a tenant may use, and what that costs.
 *
 * @module
 */

/** A plan. */
export interface Plan {
  /** Its id, such as `free`. */
  readonly id: string;
  /** Its name for people. */
  readonly name: string;
  /** Its limits. */
  readonly limits: PlanLimits;
  /** What it has beside that, as words. */
  readonly features: readonly string[];
}

/** The limits of a plan; null where there is none. */
export interface PlanLimits {
  /**
   * Requests in a second, on average. Ten tasks of a batch or a bulk action, or
   * 10 ms of the service's time, count as one.
   */
  readonly requestsPerSecond: number | null;
  /** Tasks that are not final. */
  readonly activeTasks: number | null;
  /** Attempts that are started in a calendar month of UTC. */
  readonly executionsPerMonth: number | null;
  /** Workers. */
  readonly workers: number | null;
  /** Users. */
  readonly users: number | null;
  /** API keys. */
  readonly keys: number | null;
  /** Webhooks. */
  readonly webhooks: number | null;
  /** Bytes of a task's data as JSON text. */
  readonly payloadBytes: number;
  /** Tasks of one batch. */
  readonly batchSize: number;
  /** How far ahead a date may lie, in milliseconds. */
  readonly maxDelayMs: number | null;
  /** The shortest spacing of a schedule, in milliseconds. */
  readonly minIntervalMs: number;
  /** Tasks of a worker under way at once. */
  readonly concurrency: number | null;
  /** How long a task is kept after its end, in milliseconds. */
  readonly retentionMs: number | null;
  /**
   * Records of a task's history, at least {@linkcode MIN_HISTORY_PER_TASK}; the
   * oldest of more are folded away.
   */
  readonly historyPerTask: number | null;
  /** Event streams at once. */
  readonly sseConnections: number | null;
}

/** What a plan costs. */
export interface Price {
  /** The plan's id. */
  readonly plan: string;
  /** ISO 4217, in capitals. */
  readonly currency: string;
  /** What it is paid for. */
  readonly interval: "month" | "year";
  /** In the currency's minor unit, whole. */
  readonly unitAmount: number;
  /** What is paid by use. */
  readonly metered: readonly {
    /** What is counted. */
    readonly unit: string;
    /** How many of it cost the amount. */
    readonly per: number;
    /** In the currency's minor unit, whole. */
    readonly unitAmount: number;
  }[];
  /** The first day it holds, as `YYYY-MM-DD`. */
  readonly effectiveFrom: string;
}

/** The smallest bound on a task's history, which most tasks never reach. */
export const MIN_HISTORY_PER_TASK = 10;

const DAY_MS = 86_400_000;

/** The plan of installations that set no plans: bounded by sense alone. */
export const UNLIMITED_PLAN: Plan = {
  id: "unlimited",
  name: "Unlimited",
  limits: {
    requestsPerSecond: null,
    activeTasks: null,
    executionsPerMonth: null,
    workers: null,
    users: null,
    keys: null,
    webhooks: null,
    payloadBytes: 1_048_576,
    batchSize: 1_000,
    maxDelayMs: null,
    minIntervalMs: 1_000,
    concurrency: null,
    retentionMs: 30 * DAY_MS,
    historyPerTask: 10_000,
    sseConnections: null,
  },
  features: [],
};
