/**
 * What becomes of a call while the counter store doesn't answer.
 *
 * @module
 */

import type {
  CounterAnswer,
  CounterBatch,
  CounterOperation,
  CounterStore,
  CounterVerdict,
} from "./counter_store.ts";
import { secondsUntilReset } from "./fixed_window.ts";

/**
 * `error` tells the caller, `allow` lets everything pass, `deny` refuses what
 * has a limit, `local` counts in this process until the store is back.
 */
export type StoreFailureMode = "error" | "allow" | "deny" | "local";

/** How failures are met. */
interface FailurePolicyOptions {
  /** The store that may fail. */
  readonly store: CounterStore;
  /** Counts for the mode `local`. */
  readonly local: CounterStore;
  /** For domains that have no mode of their own. */
  readonly mode: StoreFailureMode;
  /** For some domains. */
  readonly byDomain: ReadonlyMap<string, StoreFailureMode>;
  /** Told of every call that the store did not answer. */
  readonly onFailure: (mode: StoreFailureMode) => void;
}

/** A store in front of a store: answers in its place when it can't. */
export class FailurePolicyStore implements CounterStore {
  readonly #options: FailurePolicyOptions;

  /** A policy over a store that is not started yet. */
  constructor(options: FailurePolicyOptions) {
    this.#options = options;
  }

  /** Asks the store, and decides where there is no answer. */
  apply(batch: CounterBatch): CounterAnswer | Promise<CounterAnswer> {
    const answer = this.#options.store.apply(batch);
    if (!(answer instanceof Promise)) return this.#settle(answer, batch);
    if (this.#modeOf(batch.domain) !== "local") {
      return answer.then((settled) => this.#settle(settled, batch));
    }
    // The caller may write over the keys while the store works.
    const kept = { ...batch, keys: batch.keys.slice() };
    return answer.then((settled) => this.#settle(settled, kept));
  }

  /** As the store says. */
  isHealthy(): boolean {
    return this.#options.store.isHealthy();
  }

  /** Starts both stores. */
  async start(): Promise<void> {
    await this.#options.local.start();
    await this.#options.store.start();
  }

  /** Stops both stores. */
  async stop(): Promise<void> {
    await this.#options.store.stop();
    await this.#options.local.stop();
  }

  #modeOf(domain = ""): StoreFailureMode {
    return this.#options.byDomain.get(domain) ?? this.#options.mode;
  }

  #settle(
    answer: CounterAnswer,
    batch: CounterBatch,
  ): CounterAnswer | Promise<CounterAnswer> {
    if (answer.kind === "counted") return answer;
    const mode = this.#modeOf(batch.domain);
    this.#options.onFailure(mode);
    switch (mode) {
      case "error":
        return answer;
      case "local":
        return this.#options.local.apply(batch);
      case "allow":
      case "deny":
        return {
          kind: "counted",
          results: batch.operations.map((operation) =>
            verdict(operation, {
              isOver: mode === "deny",
              nowSeconds: batch.nowSeconds,
            })
          ),
        };
    }
  }
}

function verdict(
  operation: CounterOperation,
  options: { readonly isOver: boolean; readonly nowSeconds: number },
): CounterVerdict {
  const { isOver, nowSeconds } = options;
  return {
    isOver,
    hitsOver: isOver ? Math.max(0, operation.hits) : 0,
    remaining: isOver ? 0 : operation.limit,
    resetSeconds: secondsUntilReset(nowSeconds, operation.windowSeconds),
  };
}
