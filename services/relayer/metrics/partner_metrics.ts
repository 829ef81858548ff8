/**
 * Calls of what the relayer works with: models and the store of blobs, by
 * operation and outcome. What stands in for them where none is configured is
 * counted in the same way.
 *
 * @module
 */

import { type Clock, steadyClock } from "../../shared/clock.ts";
import type {
  CounterFamily,
  HistogramFamily,
  MetricRegistry,
} from "../../shared/metrics/registry.ts";
import type { BlobStore } from "../blobs/blob_store.ts";
import type { Embedder } from "../embed/embedder.ts";
import type { Answerer, Extractor } from "../extract/extractor.ts";

/** Bounds of the histograms in seconds. */
const BOUNDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Models by what they do. */
interface Models {
  /** Makes vectors. */
  readonly embedder: Embedder;
  /** Finds facts. */
  readonly extractor: Extractor;
  /** Answers questions. */
  readonly answerer: Answerer;
}

/** Counts calls. */
export class PartnerMetrics {
  readonly #models: CallMetrics;
  readonly #blobs: CallMetrics;

  /** Adds the families. */
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

  /** The same models, with their calls counted. */
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

  /** The same store, with its calls counted. */
  meteredBlobs(blobs: BlobStore): BlobStore {
    const calls = this.#blobs;
    return {
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
  /** What the families' names begin with. */
  readonly prefix: string;
  /** Who is called, as the help says it. */
  readonly called: string;
  /** Measures. */
  readonly clock: Clock;
}

/** Calls of one partner. */
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
      bounds: BOUNDS,
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
      outcome = outcomeOf(answer);
      return answer;
    } finally {
      this.#calls.of({ operation, outcome }).add();
      this.#times.of({ operation })
        .note((this.#steady.nowMs() - askedAtMs) / 1_000);
    }
  }
}

/** The kind of an outcome that has one; all other answers are good ones. */
function outcomeOf(answer: unknown): string {
  return typeof answer === "object" && answer !== null && "kind" in answer
    ? String(answer.kind)
    : "ok";
}
