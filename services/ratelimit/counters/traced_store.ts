/**
 * Spans of a counter store's batches.
 *
 * @module
 */

import { markFailed, type Tracing } from "../../shared/telemetry/tracing.ts";
import type {
  CounterAnswer,
  CounterBatch,
  CounterStore,
} from "./counter_store.ts";

/** What a {@linkcode TracedStore} is made of. */
interface TracedStoreOptions {
  /** Keeps the counters. */
  readonly store: CounterStore;
  /** Makes the spans. */
  readonly tracing: Tracing;
  /** Name of the spans. */
  readonly spanName: string;
  /** The kind of server, as `db.system.name` has it. */
  readonly system: string;
}

/**
 * Makes a span of each batch of a call whose own span is recorded; its keys
 * and its address are left out.
 */
export class TracedStore implements CounterStore {
  readonly #options: TracedStoreOptions;

  /** A store of another one, which is started and stopped with it. */
  constructor(options: TracedStoreOptions) {
    this.#options = options;
  }

  /** Applies a batch; see {@linkcode CounterStore.apply}. */
  apply(batch: CounterBatch): CounterAnswer | Promise<CounterAnswer> {
    const { store, tracing, spanName, system } = this.#options;
    if (tracing.current()?.isRecording() !== true) return store.apply(batch);
    const span = tracing.begin(spanName, {
      role: "client",
      attributes: {
        "db.system.name": system,
        "db.operation.batch.size": batch.operations.length,
      },
    });
    const end = (answer: CounterAnswer): CounterAnswer => {
      if (answer.kind === "unavailable") markFailed(span, answer.reason);
      span.end();
      return answer;
    };
    const answer = store.apply(batch);
    return answer instanceof Promise ? answer.then(end) : end(answer);
  }

  /** As of the store. */
  isHealthy(): boolean {
    return this.#options.store.isHealthy();
  }

  /** Starts the store. */
  start(): Promise<void> {
    return this.#options.store.start();
  }

  /** Stops the store. */
  stop(): Promise<void> {
    return this.#options.store.stop();
  }
}
