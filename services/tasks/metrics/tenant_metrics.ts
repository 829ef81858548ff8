/**
 * What is counted by tenant: what becomes of tasks and of their attempts, as the
 * changes tell that were committed, and how long requests waited inside the
 * service. Which tenants are told by themselves, and which together.
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
import { type FinalStatus, isFinal, type Task } from "../domain/task.ts";

/** What the tenants without a place are told under; no tenant has this id. */
export const OTHER_TENANTS = "others";

/** Tenants that are told by themselves. */
const MAX_TENANTS = 100;
/** After how long without use a tenant's place may be another's. */
const IDLE_MS = 3_600_000;
/** How often it is looked for such places at most. */
const LOOK_EVERY_MS = 60_000;

/** Options of {@linkcode TenantLabels}. */
interface TenantLabelsOptions {
  /** The time. */
  readonly clock: Clock;
  /** Drops what was counted under a label whose place is free again. */
  readonly onFreed: (label: string) => void;
}

interface Place {
  lastUsedMs: number;
}

/**
 * Gives a hundred tenants labels of their own, first come, first served; the
 * others share one. A tenant keeps its label while it is active: what it counted
 * is never moved to the others', so sums of rates over all labels stay true.
 */
export class TenantLabels {
  readonly #options: TenantLabelsOptions;
  readonly #steady: Clock;
  readonly #places = new Map<string, Place>();
  #lookedAtMs = -Infinity;

  /** Labels that no tenant has yet. */
  constructor(options: TenantLabelsOptions) {
    this.#options = options;
    this.#steady = steadyClock(options.clock);
  }

  /** The label of a tenant that does something. */
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
   * Which of some tenants, the most important first, are told by themselves where
   * they are only looked at: those that have a label, and the first of the others
   * while there is room.
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

/** A change of a task that was committed. */
interface CommittedChange {
  /** The task before it; absent when it is new. */
  readonly previous: Task | undefined;
  /** The task after it; absent when it was removed. */
  readonly next: Task | undefined;
}

/** Bounds in seconds: of attempts, which may take a day. */
const ATTEMPT_BOUNDS = [
  ...[0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600],
];
/** Bounds in seconds: of how late attempts start. */
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
        "Push calls of an earlier start of the server that were given back.",
      labels: [],
    }).of({});
  }

  /** Counts a change. */
  note({ previous, next }: CommittedChange): void {
    if (next === undefined) return;
    if (previous === undefined) {
      this.#created.of({ tenant: this.#tenants.of(next.tenantId) }).add();
    }
    const before = previous?.attempt?.id;
    const after = next.attempt?.id;
    if (before !== after) this.#noteAttempt(previous, next);
    const wasFinal = previous !== undefined && isFinal(previous.status);
    if (!wasFinal && isFinal(next.status)) {
      this.#noteEnd(next.tenantId, next.status);
    }
  }

  /** Counts attempts that an earlier start of the server had left. */
  noteRecovered(attempts: number): void {
    this.#recovered.add(attempts);
  }

  #noteAttempt(previous: Task | undefined, next: Task): void {
    const tenant = this.#tenants.of(next.tenantId);
    if (previous?.attempt !== undefined) {
      const { settled } = next;
      const isKnown = settled?.id === previous.attempt.id;
      const outcome = isKnown ? settled.outcome : "lost";
      this.#ended.of({ tenant, outcome }).add();
      const tookMs = next.updatedAtMs - previous.attempt.startedAtMs;
      this.#durations.note(Math.max(0, tookMs) / 1_000);
    }
    if (next.attempt !== undefined) {
      this.#started.of({ tenant }).add();
      this.#lateness.note(Math.max(0, next.lagMs ?? 0) / 1_000);
    }
  }

  #noteEnd(tenantId: string, outcome: FinalStatus): void {
    this.#finished.of({ tenant: this.#tenants.of(tenantId), outcome }).add();
  }
}

/** Bounds in seconds: of waits. */
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

  /** Counts that a request of a tenant waited for its turns. */
  noteTurn(key: FairKey, waitedMs: number): void {
    const tenant = typeof key === "string" ? this.#tenants.of(key) : key.group;
    this.#waits.of({ tenant, for: "turn" }).note(waitedMs / 1_000);
  }

  /** Counts that something of a tenant, or of none, waited until it was on disk. */
  noteCommit(tenantId: string, waitedMs: number): void {
    const tenant = tenantId === "" ? "service" : this.#tenants.of(tenantId);
    this.#waits.of({ tenant, for: "commit" }).note(waitedMs / 1_000);
  }
}
