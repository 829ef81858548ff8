/**
 * What the relayer counts for its operator.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { HttpMetrics } from "../../shared/metrics/http_metrics.ts";
import { addProcessMetrics } from "../../shared/metrics/process_metrics.ts";
import { MetricRegistry } from "../../shared/metrics/registry.ts";
import { settle } from "../../shared/settled.ts";
import type { Part } from "../../shared/stopper.ts";
import type { QuestionCounts } from "../embed/question_vectors.ts";
import type { RenewalProgress } from "../recall/entry_renewal.ts";
import type { RelayerStore } from "../store/store.ts";
import { JobMetrics, PartnerMetrics } from "./metered_parts.ts";

/** How large the index is. */
interface IndexGauges {
  /** Memories. */
  readonly size: number;
  /** About how many bytes they take. */
  readonly bytes: number;
  /** How often an owner's memories went for those of others. */
  readonly evictions: number;
}

/** Values that are read with each scrape. */
interface RelayerGauges {
  /** What is in the memory of the process; undefined before it is open. */
  readonly index: () => IndexGauges | undefined;
  /** How far entries of the index are made again; undefined where they are not. */
  readonly renewal: () => RenewalProgress | undefined;
  /** Where vectors of questions came from; undefined where none is asked for. */
  readonly questions: () => QuestionCounts | undefined;
  /** Whether what is written now would be kept. */
  readonly isWriteReady: () => boolean;
}

/** All families of the relayer. */
export class RelayerMetrics {
  /** Answers of the public port. */
  readonly http: HttpMetrics;
  /** Jobs and commits. */
  readonly jobs: JobMetrics;
  /** Calls of models and of the blob store. */
  readonly partners: PartnerMetrics;
  /** Measures the lag of the event loop while the service runs. */
  readonly watch: Part;
  /** The families. */
  readonly registry: MetricRegistry = new MetricRegistry();
  #memories = 0;

  /** Families that have counted nothing. */
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
    this.http = new HttpMetrics(registry, "relayer");
    this.jobs = new JobMetrics(registry, clock);
    this.partners = new PartnerMetrics(registry, clock);
    this.watch = addProcessMetrics(registry, clock);
  }

  /** Counts the memories; what was counted before stays when the store fails. */
  async readMemories(store: Pick<RelayerStore, "memoryCount">): Promise<void> {
    const read = await settle(() => store.memoryCount());
    if (read.kind === "ok") this.#memories = read.value;
  }
}
