/**
 * Two counter stores as one: one for limits per second beside one for all
 * others, or one that decides while the other fails.
 *
 * @module
 */

import {
  canStop,
  type CounterAnswer,
  type CounterBatch,
  type CounterOperation,
  type CounterResult,
  type CounterStore,
  type CounterVerdict,
  countSeen,
  getCapacity,
  hitsWhenStopping,
  stoppableOperations,
} from "./counter_store.ts";
import { secondsUntilReset } from "./fixed_window.ts";

/** How a {@linkcode SplitStore} is made. */
interface SplitStoreOptions {
  /** Keeps counters whose window is one second. */
  readonly perSecond: CounterStore;
  /** Keeps all other counters. */
  readonly other: CounterStore;
}

/**
 * Operations of a batch by store, and the order in which their results belong.
 */
interface Division {
  readonly perSecond: CounterOperation[];
  readonly other: CounterOperation[];
  /** For each operation of the batch, whether it is a per-second one. */
  readonly isPerSecond: readonly boolean[];
}

/**
 * Gives each operation to one of two stores, which work at the same time;
 * answers without a promise when both do. When either store is unavailable the
 * batch is, with that store's reason; what the other one counted stays counted.
 *
 * `stopWhenOver` across both stores is a look and then a write, between which
 * other calls may count.
 */
export class SplitStore implements CounterStore {
  readonly #perSecond: CounterStore;
  readonly #other: CounterStore;

  /** Makes a store of two stores, which are started and stopped with it. */
  constructor(options: SplitStoreOptions) {
    this.#perSecond = options.perSecond;
    this.#other = options.other;
  }

  /** Applies a batch; see {@linkcode CounterStore.apply}. */
  apply(batch: CounterBatch): CounterAnswer | Promise<CounterAnswer> {
    const division = divide(batch.operations);
    if (division.perSecond.length === 0) return this.#other.apply(batch);
    if (division.other.length === 0) return this.#perSecond.apply(batch);
    return batch.stopWhenOver && canStop(batch.operations)
      ? this.#applyStopping(batch)
      : this.#applyBoth(batch, division);
  }

  /** True while both stores can be expected to answer. */
  isHealthy(): boolean {
    return this.#perSecond.isHealthy() && this.#other.isHealthy();
  }

  /** Starts both stores. */
  async start(): Promise<void> {
    await Promise.all([this.#perSecond.start(), this.#other.start()]);
  }

  /** Stops both stores, each of them even if the other one fails to. */
  async stop(): Promise<void> {
    const outcomes = await Promise.allSettled([
      this.#perSecond.stop(),
      this.#other.stop(),
    ]);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") throw outcome.reason;
    }
  }

  #applyBoth(
    batch: CounterBatch,
    division: Division,
  ): CounterAnswer | Promise<CounterAnswer> {
    // The operations that are only read were chosen across both stores before
    // this call.
    const common = { ...batch, stopWhenOver: false };
    const perSecond = this.#perSecond.apply({
      ...common,
      operations: division.perSecond,
    });
    const other = this.#other.apply({ ...common, operations: division.other });
    return isPending(perSecond) || isPending(other)
      ? Promise.all([perSecond, other]).then(([first, second]) =>
        merge(division, first, second)
      )
      : merge(division, perSecond, other);
  }

  #applyStopping(batch: CounterBatch): CounterAnswer | Promise<CounterAnswer> {
    // The caller may reuse the batch once this returns.
    const own: CounterBatch = {
      ...batch,
      keys: batch.keys.slice(),
      operations: batch.operations.map((operation) => ({ ...operation })),
    };
    const looks = this.#applyWithHits(own, own.operations.map(() => 0));
    return isPending(looks)
      ? looks.then((answer) => this.#applyAfterLooks(own, answer))
      : this.#applyAfterLooks(own, looks);
  }

  #applyAfterLooks(
    batch: CounterBatch,
    looks: CounterAnswer,
  ): CounterAnswer | Promise<CounterAnswer> {
    if (looks.kind !== "counted") return looks;
    const { operations } = batch;
    const counts = looks.results.map((result, i) =>
      countSeen(result, operations[i]!)
    );
    return this.#applyWithHits(
      batch,
      hitsWhenStopping(stoppableOperations(batch), counts),
    );
  }

  #applyWithHits(
    batch: CounterBatch,
    hits: readonly number[],
  ): CounterAnswer | Promise<CounterAnswer> {
    const operations = batch.operations.map((operation, i) => ({
      ...operation,
      hits: hits[i]!,
    }));
    return this.#applyBoth({ ...batch, operations }, divide(operations));
  }
}

function divide(operations: readonly CounterOperation[]): Division {
  const perSecond: CounterOperation[] = [];
  const other: CounterOperation[] = [];
  const isPerSecond = operations.map((operation) => {
    const isShort = operation.windowSeconds === 1;
    (isShort ? perSecond : other).push(operation);
    return isShort;
  });
  return { perSecond, other, isPerSecond };
}

function merge(
  division: Division,
  perSecond: CounterAnswer,
  other: CounterAnswer,
): CounterAnswer {
  if (perSecond.kind !== "counted") {
    return failed(perSecond, { answer: other, operations: division.other });
  }
  if (other.kind !== "counted") {
    return failed(other, {
      answer: perSecond,
      operations: division.perSecond,
    });
  }
  let first = 0;
  let second = 0;
  const results: CounterResult[] = division.isPerSecond.map((isPerSecond) =>
    isPerSecond ? perSecond.results[first++]! : other.results[second++]!
  );
  return { kind: "counted", results };
}

/** Adds to the failure of one store that the other one may have counted. */
function failed(
  failure: Extract<CounterAnswer, { readonly kind: "unavailable" }>,
  { answer, operations }: {
    readonly answer: CounterAnswer;
    readonly operations: readonly CounterOperation[];
  },
): CounterAnswer {
  const mayHaveCounted = answer.kind === "counted"
    ? operations.some(({ hits }) => hits !== 0)
    : answer.mayHaveCounted;
  return mayHaveCounted ? { ...failure, mayHaveCounted } : failure;
}

function isPending(
  answer: CounterAnswer | Promise<CounterAnswer>,
): answer is Promise<CounterAnswer> {
  return answer instanceof Promise;
}

/**
 * What to answer when the store fails: `error` tells the caller, `allow` lets
 * everything pass, `deny` refuses what has a limit, `local` counts in this
 * process until the store is back.
 */
export type StoreFailureMode = "error" | "allow" | "deny" | "local";

/** How failures of a store are met. */
interface FailurePolicyOptions {
  /** The store that may fail. */
  readonly store: CounterStore;
  /** Counts in the mode `local`. */
  readonly local: CounterStore;
  /** Mode of domains that have no mode of their own. */
  readonly mode: StoreFailureMode;
  /** Modes of single domains. */
  readonly byDomain: ReadonlyMap<string, StoreFailureMode>;
  /**
   * Called for every batch that the store did not answer, with the mode that
   * was applied, and whether hits may be on the store's counters all the same.
   */
  readonly onFailure: (
    mode: StoreFailureMode,
    told: { readonly mayHaveCounted: boolean },
  ) => void;
}

/**
 * A store in front of another store, in whose place it answers when that store
 * fails.
 */
export class FailurePolicyStore implements CounterStore {
  readonly #options: FailurePolicyOptions;

  /** Makes a policy over a store that is not started yet. */
  constructor(options: FailurePolicyOptions) {
    this.#options = options;
  }

  /** Asks the store; when it fails, answers by the mode of the domain. */
  apply(batch: CounterBatch): CounterAnswer | Promise<CounterAnswer> {
    const answer = this.#options.store.apply(batch);
    if (!(answer instanceof Promise)) return this.#settle(answer, batch);
    if (this.#findMode(batch.domain) !== "local") {
      return answer.then((settled) => this.#settle(settled, batch));
    }
    // The caller may write over the keys while the store works.
    const kept = { ...batch, keys: batch.keys.slice() };
    return answer.then((settled) => this.#settle(settled, kept));
  }

  /** Returns the health of the store. */
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

  #findMode(domain = ""): StoreFailureMode {
    return this.#options.byDomain.get(domain) ?? this.#options.mode;
  }

  #settle(
    answer: CounterAnswer,
    batch: CounterBatch,
  ): CounterAnswer | Promise<CounterAnswer> {
    if (answer.kind === "counted") return answer;
    const mode = this.#findMode(batch.domain);
    const { mayHaveCounted = false } = answer;
    this.#options.onFailure(mode, { mayHaveCounted });
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
    remaining: isOver ? 0 : getCapacity(operation),
    resetSeconds: secondsUntilReset(nowSeconds, operation.windowSeconds),
  };
}
