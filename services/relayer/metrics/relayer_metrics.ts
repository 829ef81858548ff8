/**
 * The metrics of the relayer.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { AgentMetrics } from "../../shared/mcp/agent_metrics.ts";
import { DatabaseMetrics } from "../../shared/metrics/database_metrics.ts";
import { HttpMetrics } from "../../shared/metrics/http_metrics.ts";
import {
  addInstances,
  type KnownInstances,
} from "../../shared/metrics/instance_metrics.ts";
import { addProcessMetrics } from "../../shared/metrics/process_metrics.ts";
import { MetricRegistry } from "../../shared/metrics/registry.ts";
import { settle } from "../../shared/settled.ts";
import type { Part } from "../../shared/stopper.ts";
import type { QuestionCounts } from "../embed/question_vectors.ts";
import type { RenewalProgress } from "../recall/renewal_report.ts";
import type {
  DatabaseListeners,
  RelayerDatabaseHealth,
} from "../store/postgres/postgres_store.ts";
import type { RelayerStore } from "../store/store.ts";
import { JobMetrics, PartnerMetrics } from "./metered_parts.ts";

/** The size of the index. */
interface IndexGauges {
  /** The number of memories in the index. */
  readonly size: number;
  /** About how many bytes the index takes in memory. */
  readonly bytes: number;
  /** How often an owner's memories were evicted for those of others. */
  readonly evictions: number;
}

/** Values that are read with each scrape. */
interface RelayerGauges {
  /** The size of the index; undefined before it is open. */
  readonly index: () => IndexGauges | undefined;
  /**
   * How far the renewal of outdated index entries is; undefined where it is
   * off.
   */
  readonly renewal: () => RenewalProgress | undefined;
  /**
   * How many question vectors came from the cache; undefined where there is no
   * cache.
   */
  readonly questions: () => QuestionCounts | undefined;
  /** Whether writes are expected to reach the disk now. */
  readonly isWriteReady: () => boolean;
  /** How many sessions agents have open; undefined before the first one. */
  readonly agentSessions: () => number | undefined;
  /** Knows the relayers that share the store; undefined before it is open. */
  readonly instances: () => KnownInstances | undefined;
}

/** All metric families of the relayer. */
export class RelayerMetrics {
  /** HTTP responses of the public port. */
  readonly http: HttpMetrics;
  /** Calls of agents. */
  readonly agents: AgentMetrics;
  /** Jobs and commits. */
  readonly jobs: JobMetrics;
  /** Calls of models and of the blob store. */
  readonly partners: PartnerMetrics;
  /** The database of the store, where it has a server. */
  readonly database: DatabaseMetrics<RelayerDatabaseHealth>;
  /** Measures the lag of the event loop while the service runs. */
  readonly watch: Part;
  /** The registry of the families. */
  readonly registry: MetricRegistry = new MetricRegistry();
  #memories = 0;

  /** Registers the families, all at zero. */
  constructor(clock: Clock, gauges: RelayerGauges) {
    const { registry } = this;
    registry.read({
      kind: "gauge",
      name: "relayer_memories",
      help: "Memories of all owners, without those that were superseded.",
      labels: [],
      read: () => [{ labels: {}, value: this.#memories }],
    });
    const readIndex = (name: keyof IndexGauges) => () => {
      const index = gauges.index();
      return index === undefined ? [] : [{ labels: {}, value: index[name] }];
    };
    registry.read({
      kind: "gauge",
      name: "relayer_index_memories",
      help: "Memories that are in memory; the others are read when their " +
        "owner recalls.",
      labels: [],
      read: readIndex("size"),
    });
    registry.read({
      kind: "gauge",
      name: "relayer_index_bytes",
      help: "About how many bytes they take; INDEX_BYTES is the bound.",
      labels: [],
      read: readIndex("bytes"),
    });
    registry.read({
      kind: "counter",
      name: "relayer_index_evictions_total",
      help: "How often an owner's memories left memory for those of others.",
      labels: [],
      read: readIndex("evictions"),
    });
    registry.read({
      kind: "gauge",
      name: "relayer_index_renewal_memories",
      help: "Memories by what became of their entries in the index since the " +
        "start: checked or not, made again for the embedder and program there " +
        "are now, failed for good, or waiting for a key, a blob or the model.",
      labels: ["state"],
      read: () =>
        Object.entries(gauges.renewal() ?? {})
          .map(([state, value]) => ({ labels: { state }, value })),
    });
    registry.read({
      kind: "counter",
      name: "relayer_question_vectors_total",
      help: "Vectors of questions, by where they came from: kept in memory, " +
        "shared with an equal question under way, or asked of the model.",
      labels: ["source"],
      read: () =>
        Object.entries(gauges.questions() ?? {})
          .map(([source, value]) => ({ labels: { source }, value })),
    });
    registry.read({
      kind: "gauge",
      name: "relayer_write_ready",
      help: "Whether what is written now would be kept.",
      labels: [],
      read: () => [{ labels: {}, value: gauges.isWriteReady() ? 1 : 0 }],
    });
    this.database = new DatabaseMetrics(registry, "relayer");
    this.database.gauges({
      name: "leased_jobs",
      help: "Jobs under way, of the 10,000 that are due first, by who does " +
        "them: this instance or others.",
      labels: ["holder"],
    }, ({ leasedJobs }) => {
      const { id } = gauges.instances() ?? {};
      const counts = { own: 0, others: 0 };
      for (const [holder, jobs] of leasedJobs) {
        counts[holder === id ? "own" : "others"] += jobs;
      }
      return Object.entries(counts)
        .map(([holder, value]) => ({ labels: { holder }, value }));
    });
    addInstances(registry, {
      service: "relayer",
      instances: gauges.instances,
    });
    this.agents = new AgentMetrics(registry, {
      service: "relayer",
      path: "/api/mcp",
      sessions: gauges.agentSessions,
    });
    this.http = new HttpMetrics(registry, "relayer");
    this.jobs = new JobMetrics(registry, clock);
    this.partners = new PartnerMetrics(registry, clock);
    this.watch = addProcessMetrics(registry, clock);
  }

  /** What a store on PostgreSQL tells of its database. */
  readonly ofDatabase: DatabaseListeners = {
    onHealth: (health) => this.database.note(health),
    onCall: (call) => this.database.noteCall(call),
  };

  /**
   * Reads the number of memories; the last value stays when the store fails.
   */
  async readMemories(store: Pick<RelayerStore, "memoryCount">): Promise<void> {
    const read = await settle(() => store.memoryCount());
    if (read.kind === "ok") this.#memories = read.value;
  }
}
