/**
 * All metrics of the service. Those that belong to no tenant are counted here:
 * commits of the store and calls of push workers.
 *
 * @module
 */

import { type Clock, steadyClock } from "../../shared/clock.ts";
import type { FairKey } from "../../shared/fair_queue.ts";
import {
  type CountedAnswer,
  HttpMetrics,
} from "../../shared/metrics/http_metrics.ts";
import { AgentMetrics } from "../../shared/mcp/agent_metrics.ts";
import { addProcessMetrics } from "../../shared/metrics/process_metrics.ts";
import {
  type Counter,
  type CounterFamily,
  type Histogram,
  MetricRegistry,
} from "../../shared/metrics/registry.ts";
import type { Part } from "../../shared/stopper.ts";
import type { Logger } from "../../shared/logger.ts";
import type { PushOutcome } from "../delivery/push_answer.ts";
import type { PushCaller } from "../delivery/push_call.ts";
import type { EventCounts } from "../engine/events/event_feeds.ts";
import type { Store } from "../store/store.ts";
import type { TasksDatabaseHealth } from "../store/postgres/database_health.ts";
import type { DatabaseCall } from "../../shared/postgres/pool.ts";
import { TasksDatabaseMetrics } from "./database_metrics.ts";
import { QueueMetrics } from "./queue_metrics.ts";
import { TaskMetrics, TenantLabels, WaitMetrics } from "./tenant_metrics.ts";

/** Options of {@linkcode TasksMetrics}. */
interface TasksMetricsOptions {
  /** The store whose queues are counted when metrics are scraped. */
  readonly store: Pick<Store, "tenantQueues">;
  /** The time. */
  readonly clock: Clock;
  /** Logs failures of the store. */
  readonly logger: Logger;
  /**
   * How many sessions agents have open; undefined before the first one.
   *
   * @default there are none
   */
  readonly agentSessions?: () => number | undefined;
}

/** All metric families of the service. */
export class TasksMetrics {
  /** The registry of the families. */
  readonly registry: MetricRegistry = new MetricRegistry();
  /** Answers of the public port. */
  readonly http: HttpMetrics;
  /** Waits inside the service. */
  readonly waits: WaitMetrics;
  /** Tasks and their attempts. */
  readonly tasks: TaskMetrics;
  /** Lengths of the queues. */
  readonly queues: QueueMetrics;
  /** Commits of the store. */
  readonly store: StoreMetrics;
  /** The database of the store, where it has a server. */
  readonly database: TasksDatabaseMetrics;
  /** Calls of agents. */
  readonly agents: AgentMetrics;
  /** Measures the lag of the event loop while the service runs. */
  readonly watch: Part;

  /** Registers the families; nothing is counted yet. */
  constructor(options: TasksMetricsOptions) {
    const { store, clock, logger, agentSessions = () => 0 } = options;
    const { registry } = this;
    const tenants = new TenantLabels({
      clock,
      onFreed: (label) => registry.forget("tenant", label),
    });
    this.queues = new QueueMetrics(registry, {
      ...{ store, tenants, clock, logger },
    });
    this.tasks = new TaskMetrics(registry, tenants);
    this.waits = new WaitMetrics(registry, tenants);
    this.store = new StoreMetrics(registry);
    this.database = new TasksDatabaseMetrics(registry);
    this.http = new HttpMetrics(registry, "tasks");
    this.agents = new AgentMetrics(registry, {
      ...{ service: "tasks", path: "/mcp", sessions: agentSessions },
    });
    this.watch = addProcessMetrics(registry, clock);
  }

  /** What the store tells of its commits and of its database. */
  readonly ofStore = {
    onWritten: (tenantId: string, waitedMs: number): void =>
      this.waits.noteCommit(tenantId, waitedMs),
    onGroup: (group: CommittedGroup): void => this.store.noteGroup(group),
    onRefused: (): void => this.store.noteBusy(),
    onHealth: (health: TasksDatabaseHealth | undefined): void =>
      this.database.note(health),
    onCall: (call: DatabaseCall): void => this.database.noteCall(call),
  };

  /** What the public port tells of its requests. */
  readonly ofRequests = {
    onWaited: (key: FairKey, waitedMs: number): void =>
      this.waits.noteTurn(key, waitedMs),
    onAnswered: (answer: CountedAnswer): void => this.http.count(answer),
  };

  /** The text of all metrics, with the queues as they are now. */
  async text(): Promise<string> {
    await this.queues.refresh();
    return this.registry.text();
  }
}

/** A group of writes that the store committed, or failed to commit. */
interface CommittedGroup {
  /** How many rows it had. */
  readonly rows: number;
  /** Milliseconds from sending the group to the end of its commit. */
  readonly tookMs: number;
  /** Rows that still waited to be written when the commit ended. */
  readonly queuedRows: number;
  /** Whether it is on disk. */
  readonly isWritten: boolean;
}

/** Histogram bounds of commits, in seconds. */
const COMMIT_BOUNDS = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
];
/** Histogram bounds of the rows of a group. */
const ROW_BOUNDS = [1, 2, 5, 10, 25, 50, 100, 250, 1_000, 5_000];

/** Counts commits. */
class StoreMetrics {
  readonly #commits: CounterFamily<"outcome">;
  readonly #times: Histogram;
  readonly #rows: Histogram;
  readonly #busy: Counter;
  #queuedRows = 0;

  /** Adds the families. */
  constructor(registry: MetricRegistry) {
    this.#commits = registry.counter({
      name: "tasks_store_commits_total",
      help: "Groups of writes that the store was given, by outcome.",
      labels: ["outcome"],
    });
    this.#times = registry.histogram({
      name: "tasks_store_commit_duration_seconds",
      help: "Time from sending a group of writes until it was on disk.",
      labels: [],
      bounds: COMMIT_BOUNDS,
    }).of({});
    this.#rows = registry.histogram({
      name: "tasks_store_commit_rows",
      help: "How many rows were written together.",
      labels: [],
      bounds: ROW_BOUNDS,
    }).of({});
    this.#busy = registry.counter({
      name: "tasks_store_refusals_total",
      help: "Commits that were refused, as too much waited to be written.",
      labels: [],
    }).of({});
    registry.read({
      kind: "gauge",
      name: "tasks_store_queued_rows",
      help: "Rows that waited to be written when the last group was.",
      labels: [],
      read: () => [{ labels: {}, value: this.#queuedRows }],
    });
  }

  /** Counts a group. */
  noteGroup({ rows, tookMs, queuedRows, isWritten }: CommittedGroup): void {
    this.#commits.of({ outcome: isWritten ? "ok" : "failed" }).add();
    this.#times.note(tookMs / 1_000);
    this.#rows.note(rows);
    this.#queuedRows = queuedRows;
  }

  /** Counts a commit that was refused because the queue was full. */
  noteBusy(): void {
    this.#busy.add();
  }
}

/** Histogram bounds of calls of push workers, in seconds. */
const CALL_BOUNDS = [
  0.005,
  0.01,
  0.05,
  0.1,
  0.25,
  0.5,
  1,
  2.5,
  5,
  10,
  30,
  120,
  900,
];

/** Makes the calls of push workers. */
type Caller = Pick<PushCaller, "call">;

/**
 * Wraps a caller so that its calls are counted, in families that are added to
 * the registry.
 */
export function meteredCaller(
  caller: Caller,
  { registry, clock }: {
    readonly registry: MetricRegistry;
    readonly clock: Clock;
  },
): Caller {
  const steady = steadyClock(clock);
  const calls = registry.counter({
    name: "tasks_push_calls_total",
    help: "Calls of push workers and callbacks, by outcome: the class of the " +
      "status, or why there was no answer.",
    labels: ["outcome"],
  });
  const durations = registry.histogram({
    name: "tasks_push_call_duration_seconds",
    help: "How long calls of push workers and callbacks took.",
    labels: [],
    bounds: CALL_BOUNDS,
  }).of({});
  return {
    async call(request) {
      const begunAtMs = steady.nowMs();
      const outcome = await caller.call(request);
      durations.note((steady.nowMs() - begunAtMs) / 1_000);
      calls.of({ outcome: toLabel(outcome) }).add();
      return outcome;
    },
  };
}

/** Adds the gauge of calls under way. */
export function addCallsInFlight(
  registry: MetricRegistry,
  inFlight: () => number,
): void {
  registry.read({
    kind: "gauge",
    name: "tasks_push_calls_in_flight",
    help: "Calls of push workers and callbacks that are under way.",
    labels: [],
    read: () => [{ labels: {}, value: inFlight() }],
  });
}

/** Adds who reads events, and how many were read for them. */
export function addEvents(
  registry: MetricRegistry,
  counts: () => Readonly<EventCounts>,
): void {
  registry.read({
    kind: "gauge",
    name: "tasks_event_readers",
    help: "Clients that read events at this instance.",
    labels: [],
    read: () => [{ labels: {}, value: counts().readers }],
  });
  registry.read({
    kind: "counter",
    name: "tasks_events_read_total",
    help: "Events that were read for clients, each once for all of a tenant.",
    labels: [],
    read: () => [{ labels: {}, value: counts().told }],
  });
  registry.read({
    kind: "counter",
    name: "tasks_event_readers_cut_total",
    help: "Clients that were cut off as they read events too slowly.",
    labels: [],
    read: () => [{ labels: {}, value: counts().cut }],
  });
}

/**
 * Adds the requests of the inbox: the outcomes of those that were taken over, how
 * long others wait, and how many are set aside.
 *
 * @returns the counter of outcomes
 */
export function addInbox(
  registry: MetricRegistry,
  inbox: () =>
    | { readonly aside: number; readonly waitedMs: number }
    | undefined,
): CounterFamily<"outcome"> {
  registry.read({
    kind: "gauge",
    name: "tasks_inbox_set_aside",
    help: "Requests of the inbox that this instance cannot take over for now.",
    labels: [],
    read: () => [{ labels: {}, value: inbox()?.aside ?? 0 }],
  });
  registry.read({
    kind: "gauge",
    name: "tasks_inbox_wait_seconds",
    help: "For how long the oldest request of the inbox may have been waiting.",
    labels: [],
    read: () => [{ labels: {}, value: (inbox()?.waitedMs ?? 0) / 1_000 }],
  });
  return registry.counter({
    name: "tasks_inbox_requests_total",
    help:
      "Requests taken over from the inbox, by outcome: a task was created, " +
      "was found by its key, or the request was refused.",
    labels: ["outcome"],
  });
}

function toLabel(outcome: PushOutcome): string {
  return outcome.kind === "answered"
    ? `${Math.floor(outcome.status / 100)}xx`
    : outcome.code;
}
