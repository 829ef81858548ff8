/**
 * What becomes of tasks and of their attempts, counted from the changes that
 * were committed.
 *
 * @module
 */

import type {
  Counter,
  CounterFamily,
  Histogram,
  MetricRegistry,
} from "../../shared/metrics/registry.ts";
import { type FinalStatus, isFinal, type Task } from "../domain/task.ts";
import type { TenantLabels } from "./tenant_labels.ts";

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
