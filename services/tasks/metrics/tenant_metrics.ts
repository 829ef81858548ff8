/**
 * Metrics by tenant: the outcomes of tasks and attempts, counted from committed
 * changes, and how long requests waited inside the service. Also decides which
 * tenants have a label of their own, and which share one.
 *
 * @module
 */

import { type Clock, steadyClock } from "../../shared/clock.ts";
import type { FairKey } from "../../shared/fair_queue.ts";
import type {
  Counter,
  CounterFamily,
  Histogram,
  HistogramFamily,
  MetricRegistry,
} from "../../shared/metrics/registry.ts";
import { type CommittedChange, countChange } from "../domain/counted_change.ts";

/**
 * The label that tenants without one of their own share; no tenant has this id.
 */
export const OTHER_TENANTS = "others";

/** Most tenants with a label of their own. */
const MAX_TENANTS = 100;
/**
 * How long a tenant must be idle before another may have its label, in
 * milliseconds.
 */
const IDLE_MS = 3_600_000;
/**
 * The least time between two searches for labels that are idle, in
 * milliseconds.
 */
const LOOK_EVERY_MS = 60_000;

/** Options of {@linkcode TenantLabels}. */
interface TenantLabelsOptions {
  /** The time. */
  readonly clock: Clock;
  /** Removes the metrics of a label that was taken from its tenant. */
  readonly onFreed: (label: string) => void;
}

interface Place {
  lastUsedMs: number;
}

/**
 * Gives a hundred tenants labels of their own, first come, first served; the
 * others share one label. A tenant keeps its label while it is active: what was
 * counted under it never moves to the shared label, so sums of rates over all
 * labels stay correct.
 */
export class TenantLabels {
  readonly #options: TenantLabelsOptions;
  readonly #steady: Clock;
  readonly #places = new Map<string, Place>();
  #lookedAtMs = -Infinity;

  /** No tenant has a label yet. */
  constructor(options: TenantLabelsOptions) {
    this.#options = options;
    this.#steady = steadyClock(options.clock);
  }

  /**
   * The label of a tenant that is active now; the tenant gets one of its own
   * while there is room.
   */
  of(tenantId: string): string {
    const nowMs = this.#steady.nowMs();
    const place = this.#places.get(tenantId);
    if (place !== undefined) {
      place.lastUsedMs = nowMs;
      return tenantId;
    }
    if (this.#places.size >= MAX_TENANTS) this.#free(nowMs);
    if (this.#places.size >= MAX_TENANTS) return OTHER_TENANTS;
    this.#places.set(tenantId, { lastUsedMs: nowMs });
    return tenantId;
  }

  /**
   * Chooses which of some tenants, the most important first, are shown under
   * labels of their own in a mere reading: those that have a label, and the
   * first of the others while there is room. Tenants get no label by this.
   */
  chosen(tenantIds: readonly string[]): ReadonlySet<string> {
    const chosen = new Set(tenantIds.filter((id) => this.#places.has(id)));
    for (const tenantId of tenantIds) {
      if (chosen.size >= MAX_TENANTS) break;
      chosen.add(tenantId);
    }
    return chosen;
  }

  #free(nowMs: number): void {
    if (nowMs - this.#lookedAtMs < LOOK_EVERY_MS) return;
    this.#lookedAtMs = nowMs;
    for (const [tenantId, { lastUsedMs }] of this.#places) {
      if (nowMs - lastUsedMs < IDLE_MS) continue;
      this.#places.delete(tenantId);
      this.#options.onFreed(tenantId);
    }
  }
}

/** Histogram bounds of attempts, in seconds; an attempt may take a day. */
const ATTEMPT_BOUNDS = [
  ...[0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600],
];
/** Histogram bounds of how late attempts start, in seconds. */
const LATE_BOUNDS = [
  ...[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 10, 30, 60, 300, 3_600],
];

/** Counts tasks by tenant. */
export class TaskMetrics {
  readonly #tenants: TenantLabels;
  readonly #created: CounterFamily<"tenant">;
  readonly #started: CounterFamily<"tenant">;
  readonly #ended: CounterFamily<"tenant" | "outcome">;
  readonly #finished: CounterFamily<"tenant" | "outcome">;
  readonly #durations: Histogram;
  readonly #lateness: Histogram;
  readonly #recovered: Counter;

  /** Adds the families. */
  constructor(registry: MetricRegistry, tenants: TenantLabels) {
    this.#tenants = tenants;
    this.#created = registry.counter({
      name: "tasks_created_total",
      help: "Tasks that were made, by tenant.",
      labels: ["tenant"],
    });
    this.#finished = registry.counter({
      name: "tasks_finished_total",
      help: "Tasks that reached a final status, by tenant and status.",
      labels: ["tenant", "outcome"],
    });
    this.#started = registry.counter({
      name: "tasks_attempts_started_total",
      help: "Attempts that were handed out or begun, by tenant.",
      labels: ["tenant"],
    });
    this.#ended = registry.counter({
      name: "tasks_attempts_ended_total",
      help:
        "Attempts that ended, by tenant and outcome; lost are those whose " +
        "lease ran out.",
      labels: ["tenant", "outcome"],
    });
    this.#durations = registry.histogram({
      name: "tasks_attempt_duration_seconds",
      help: "How long attempts took.",
      labels: [],
      bounds: ATTEMPT_BOUNDS,
    }).of({});
    this.#lateness = registry.histogram({
      name: "tasks_attempt_lateness_seconds",
      help: "How long after their date attempts started.",
      labels: [],
      bounds: LATE_BOUNDS,
    }).of({});
    this.#recovered = registry.counter({
      name: "tasks_attempts_recovered_total",
      help:
        "Push calls of an earlier start, or of an instance that is gone, that were given back.",
      labels: [],
    }).of({});
  }

  /** Counts a change; may be passed on as a function. */
  readonly note = (change: CommittedChange): void => {
    const counted = countChange(change);
    if (counted === undefined || change.next === undefined) return;
    const tenant = this.#tenants.of(change.next.tenantId);
    const { ended, startedLateMs, finished } = counted;
    if (counted.isNew) this.#created.of({ tenant }).add();
    if (ended !== undefined) {
      this.#ended.of({ tenant, outcome: ended.outcome }).add();
      this.#durations.note(ended.tookMs / 1_000);
    }
    if (startedLateMs !== undefined) {
      this.#started.of({ tenant }).add();
      this.#lateness.note(startedLateMs / 1_000);
    }
    if (finished !== undefined) {
      this.#finished.of({ tenant, outcome: finished }).add();
    }
  };

  /**
   * Counts attempts that were under way at an instance that is gone, and were
   * recovered by this one.
   */
  noteRecovered(attempts: number): void {
    this.#recovered.add(attempts);
  }
}

/** Histogram bounds of waits, in seconds. */
const WAIT_BOUNDS = [
  ...[0.0001, 0.00025, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.0075],
  ...[0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5],
  ...[10, 30],
];

/** Counts waits by tenant. */
export class WaitMetrics {
  readonly #waits: HistogramFamily<"tenant" | "for">;
  readonly #tenants: TenantLabels;

  /** Adds the family. */
  constructor(registry: MetricRegistry, tenants: TenantLabels) {
    this.#tenants = tenants;
    this.#waits = registry.histogram({
      name: "tasks_wait_seconds",
      help:
        "How long requests waited for their turns, and commits until they " +
        "were on disk, by tenant.",
      labels: ["tenant", "for"],
      bounds: WAIT_BOUNDS,
    });
  }

  /** Counts how long a request waited for its turns. */
  noteTurn(key: FairKey, waitedMs: number): void {
    const tenant = typeof key === "string" ? this.#tenants.of(key) : key.group;
    this.#waits.of({ tenant, for: "turn" }).note(waitedMs / 1_000);
  }

  /**
   * Counts how long a write waited until it was on disk. An empty id stands for
   * the service itself.
   */
  noteCommit(tenantId: string, waitedMs: number): void {
    const tenant = tenantId === "" ? "service" : this.#tenants.of(tenantId);
    this.#waits.of({ tenant, for: "commit" }).note(waitedMs / 1_000);
  }
}
