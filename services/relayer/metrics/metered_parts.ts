/**
 * Wraps parts of the relayer so that their calls are counted and timed: the
 * store, which sees jobs from acceptance to end, the models and the blob store.
 * Built-in parts are counted in the same way as remote ones.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import { type Clock, steadyClock } from "../../shared/clock.ts";
import type {
  Counter,
  CounterFamily,
  Histogram,
  HistogramFamily,
  MetricRegistry,
} from "../../shared/metrics/registry.ts";
import { settle } from "../../shared/settled.ts";
import type { BlobStore } from "../blobs/blob_store.ts";
import type { Embedder } from "../embed/embedder.ts";
import type { Answerer, Extractor } from "../extract/extractor.ts";
import type { Change } from "../store/changes.ts";
import type { RelayerStore } from "../store/store.ts";

/**
 * Most jobs whose time of acceptance is remembered; beyond it the oldest are
 * not timed.
 */
const MAX_TIMED = 50_000;

/** Bounds of job durations in seconds; jobs may be retried for minutes. */
const JOB_BOUNDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];
/** Bounds of commit durations in seconds. */
const COMMIT_BOUNDS = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
];

/** Counts jobs and commits. */
export class JobMetrics {
  readonly #accepted: Counter;
  readonly #ended: CounterFamily<"outcome">;
  readonly #durations: Histogram;
  readonly #commits: CounterFamily<"outcome">;
  readonly #commitTimes: Histogram;
  readonly #checks: Counter;
  readonly #followed: Counter;
  readonly #steady: Clock;
  readonly #acceptedAtMs = new BoundedMap<string, number>({
    maxEntries: MAX_TIMED,
  });
  #lagSeconds = 0;

  /** Registers the families. */
  constructor(registry: MetricRegistry, clock: Clock) {
    this.#steady = steadyClock(clock);
    this.#accepted = registry.counter({
      name: "relayer_jobs_accepted_total",
      help: "Jobs that were accepted.",
      labels: [],
    }).of({});
    this.#ended = registry.counter({
      name: "relayer_jobs_ended_total",
      help: "Jobs that came to their end, by outcome.",
      labels: ["outcome"],
    });
    this.#durations = registry.histogram({
      name: "relayer_job_duration_seconds",
      help:
        "Time from the acceptance of a job until recall found its memory, " +
        "of jobs that were accepted since the start.",
      labels: [],
      bounds: JOB_BOUNDS,
    }).of({});
    registry.read({
      kind: "gauge",
      name: "relayer_job_lag_seconds",
      help: "For how long the job that is due for the longest has been due.",
      labels: [],
      read: () => [{ labels: {}, value: this.#lagSeconds }],
    });
    this.#commits = registry.counter({
      name: "relayer_store_commits_total",
      help: "Commits of the store, by outcome.",
      labels: ["outcome"],
    });
    this.#commitTimes = registry.histogram({
      name: "relayer_store_commit_duration_seconds",
      help: "Time from asking for a commit until it is on disk.",
      labels: [],
      bounds: COMMIT_BOUNDS,
    }).of({});
    this.#checks = registry.counter({
      name: "relayer_index_checks_total",
      help: "Looks whether another relayer has changed an owner's memories.",
      labels: [],
    }).of({});
    this.#followed = registry.counter({
      name: "relayer_index_followed_changes_total",
      help: "Changes that the index took over from the store, of all relayers.",
      labels: [],
    }).of({});
  }

  /** Returns the same store with its commits and looks for changes counted. */
  metered(store: RelayerStore): RelayerStore {
    const commit: RelayerStore["commit"] = async (changes, options) => {
      const askedAtMs = this.#steady.nowMs();
      try {
        const outcome = await store.commit(changes, options);
        this.#commits.of({ outcome: outcome.kind }).add();
        if (outcome.kind === "ok") this.#note(changes);
        return outcome;
      } catch (error) {
        this.#commits.of({ outcome: "failed" }).add();
        throw error;
      } finally {
        this.#commitTimes.note((this.#steady.nowMs() - askedAtMs) / 1_000);
      }
    };
    const indexFeed: RelayerStore["indexFeed"] = async (...of) => {
      const page = await store.indexFeed(...of);
      this.#followed.add(page.memories.length + page.deleted.length);
      return page;
    };
    return {
      ...store,
      start: () => store.start(),
      stop: () => store.stop(),
      commit,
      indexFeed,
      head: (owner) => {
        this.#checks.add();
        return store.head(owner);
      },
    };
  }

  /**
   * Reads how long the most overdue job has been due; the last value stays when
   * the store fails.
   */
  async readLag(
    store: Pick<RelayerStore, "nextJobMs">,
    nowMs: number,
  ): Promise<void> {
    const read = await settle(() => store.nextJobMs());
    if (read.kind === "failed") return;
    const nextMs = read.value;
    this.#lagSeconds = nextMs === undefined
      ? 0
      : Math.max(0, nowMs - nextMs) / 1_000;
  }

  #note(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.kind === "new_job") {
        this.#accepted.add();
        this.#acceptedAtMs.set(change.job.id, this.#steady.nowMs());
      } else if (change.kind === "job") this.#noteStatus(change);
    }
  }

  #noteStatus(
    { id, patch: { status } }: Extract<Change, { kind: "job" }>,
  ): void {
    const isOver = status === "uploaded" || status === "done" ||
      status === "failed";
    if (!isOver) return;
    if (status !== "uploaded") this.#ended.of({ outcome: status }).add();
    const acceptedAtMs = this.#acceptedAtMs.peek(id);
    if (acceptedAtMs === undefined) return;
    this.#acceptedAtMs.delete(id);
    if (status === "failed") return;
    this.#durations.note((this.#steady.nowMs() - acceptedAtMs) / 1_000);
  }
}

/** Bounds of call durations in seconds. */
const CALL_BOUNDS = [
  ...[0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
];

/** The models, by task. */
interface Models {
  /** Makes vectors. */
  readonly embedder: Embedder;
  /** Finds facts. */
  readonly extractor: Extractor;
  /** Answers questions. */
  readonly answerer: Answerer;
}

/** Counts calls of models and of the blob store. */
export class PartnerMetrics {
  readonly #models: CallMetrics;
  readonly #blobs: CallMetrics;

  /** Registers the families. */
  constructor(registry: MetricRegistry, clock: Clock) {
    this.#models = new CallMetrics(registry, {
      prefix: "relayer_model",
      called: "models",
      clock,
    });
    this.#blobs = new CallMetrics(registry, {
      prefix: "relayer_blob",
      called: "the store of blobs",
      clock,
    });
  }

  /** Returns the same models with their calls counted. */
  meteredModels({ embedder, extractor, answerer }: Models): Models {
    const calls = this.#models;
    return {
      embedder: {
        width: embedder.width,
        model: embedder.model,
        embed: (texts, options) =>
          calls.counted("embed", () => embedder.embed(texts, options)),
      },
      extractor: {
        name: extractor.name,
        extract: (text, options) =>
          calls.counted("extract", () => extractor.extract(text, options)),
      },
      answerer: {
        name: answerer.name,
        answer: (question, options) =>
          calls.counted("answer", () => answerer.answer(question, options)),
      },
    };
  }

  /** Returns the same blob store with its calls counted. */
  meteredBlobs(blobs: BlobStore): BlobStore {
    const calls = this.#blobs;
    return {
      hasHashIds: blobs.hasHashIds,
      start: () => blobs.start(),
      stop: () => blobs.stop(),
      put: (bytes, options) =>
        calls.counted("put", () => blobs.put(bytes, options)),
      get: (blobId, options) =>
        calls.counted("get", () => blobs.get(blobId, options)),
      isGone: (blobId) => calls.counted("is_gone", () => blobs.isGone(blobId)),
      remove: (blobId) => calls.counted("remove", () => blobs.remove(blobId)),
    };
  }
}

interface CallMetricsOptions {
  /** The prefix of the families' names. */
  readonly prefix: string;
  /** The name of the called parts in help texts. */
  readonly called: string;
  /** Measures durations. */
  readonly clock: Clock;
}

/** Counts and times the calls of one kind of part. */
class CallMetrics {
  readonly #calls: CounterFamily<"operation" | "outcome">;
  readonly #times: HistogramFamily<"operation">;
  readonly #steady: Clock;

  constructor(
    registry: MetricRegistry,
    { prefix, called, clock }: CallMetricsOptions,
  ) {
    this.#steady = steadyClock(clock);
    this.#calls = registry.counter({
      name: `${prefix}_calls_total`,
      help: `Calls of ${called}, by operation and outcome.`,
      labels: ["operation", "outcome"],
    });
    this.#times = registry.histogram({
      name: `${prefix}_call_duration_seconds`,
      help: `How long calls of ${called} took, by operation.`,
      labels: ["operation"],
      bounds: CALL_BOUNDS,
    });
  }

  async counted<Outcome>(
    operation: string,
    call: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const askedAtMs = this.#steady.nowMs();
    let outcome = "failed";
    try {
      const answer = await call();
      outcome = toOutcomeLabel(answer);
      return answer;
    } finally {
      this.#calls.of({ operation, outcome }).add();
      this.#times.of({ operation })
        .note((this.#steady.nowMs() - askedAtMs) / 1_000);
    }
  }
}

/** Returns the `kind` of an outcome; any other answer counts as `ok`. */
function toOutcomeLabel(answer: unknown): string {
  return typeof answer === "object" && answer !== null && "kind" in answer
    ? String(answer.kind)
    : "ok";
}
