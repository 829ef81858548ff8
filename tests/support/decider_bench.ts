/**
 * A test bench for `Decider`: rules in YAML, and a counter store whose keys can
 * be read.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import type { RateLimitResponse } from "../../proto/rate_limit_response.ts";
import type {
  CounterAnswer,
  CounterBatch,
  CounterStore,
} from "../../services/ratelimit/counters/counter_store.ts";
import {
  Decider,
  type Decision,
} from "../../services/ratelimit/decision/decide.ts";
import { StatsRecorder } from "../../services/ratelimit/decision/stats_recorder.ts";
import { loadRules } from "../../services/ratelimit/rules/load.ts";
import { StatsRegistry } from "../../services/ratelimit/stats/registry.ts";
import { createRuleStatsCache } from "../../services/ratelimit/stats/stats.ts";
import { createView, type RequestOfTest } from "./create_view.ts";

/** The default time of requests, in whole Unix seconds. */
export const NOW = 1_000_000_007;

/**
 * A counter store in a map by key text, so that a test can read the parts of a
 * key.
 */
export class TextStore implements CounterStore {
  /** The count of each key; windows are ignored. */
  readonly counts = new Map<string, number>();
  /** Number of batches that were applied. */
  calls = 0;
  /** While true, every batch is answered with "unavailable". */
  down = false;

  /** Counts the operations of a batch. */
  apply(batch: CounterBatch): CounterAnswer {
    this.calls++;
    if (this.down) return { kind: "unavailable", reason: "store is down" };
    const results = batch.operations.map((operation) => {
      const bytes = batch.keys.subarray(operation.keyStart, operation.keyEnd);
      const key = new TextDecoder().decode(bytes);
      const after = Math.max(0, (this.counts.get(key) ?? 0) + operation.hits);
      this.counts.set(key, after);
      return after;
    });
    return { kind: "counted", results };
  }

  /** Returns false while the store is down. */
  isHealthy(): boolean {
    return !this.down;
  }

  /** Does nothing, as there is nothing to start. */
  start(): Promise<void> {
    return Promise.resolve();
  }

  /** Does nothing, as there is nothing to stop. */
  stop(): Promise<void> {
    return Promise.resolve();
  }
}

/** Options of {@linkcode DeciderBench}. */
export interface DeciderBenchOptions
  extends Partial<ConstructorParameters<typeof Decider>[0]> {
  /**
   * The prefix of every counter key.
   *
   * @default ""
   */
  readonly prefix?: string;
  /**
   * Whether several rules files may belong to the same domain.
   *
   * @default false
   */
  readonly mergeDomains?: boolean;
  /**
   * The most names that statistics may have.
   *
   * @default 100_000
   */
  readonly maxStatNames?: number;
  /**
   * The most rule paths that get statistics of their own.
   *
   * @default 10_000
   */
  readonly maxStatPaths?: number;
  /**
   * Keeps the statistics.
   *
   * @default one of its own
   */
  readonly registry?: StatsRegistry;
}

/** A decider with rules in YAML, which decides one request after the other. */
export class DeciderBench {
  /** The counter store, unless the options name another. */
  readonly store = new TextStore();
  /** The decider under test. */
  readonly decider: Decider;
  /** The time of requests, in whole Unix seconds. */
  nowSeconds: number = NOW;
  readonly #options: DeciderBenchOptions;
  readonly #registry: StatsRegistry;

  /**
   * Creates a decider with the rules of `yaml`, which has one text for each
   * file.
   */
  constructor(
    yaml: string | readonly string[],
    options: DeciderBenchOptions = {},
  ) {
    const { maxStatNames = 100_000, maxStatPaths = 10_000 } = options;
    this.#options = options;
    this.#registry = options.registry ??
      new StatsRegistry({ maxNames: maxStatNames });
    const caches = {
      configured: createRuleStatsCache(this.#registry),
      requested: createRuleStatsCache(this.#registry, {
        maxPaths: maxStatPaths,
      }),
    };
    this.decider = new Decider({
      store: this.store,
      recorder: new StatsRecorder(this.#registry, caches),
      ...options,
    });
    this.reload(yaml);
  }

  /** Number of statistics, including those that are 0. */
  get statCount(): number {
    return this.#registry.size;
  }

  /** Replaces the rules; counters and statistics stay. */
  reload(yaml: string | readonly string[]): void {
    const { prefix, mergeDomains, keyFormat } = this.#options;
    const files = [yaml].flat().map((text, index) => ({
      name: `${index}.yaml`,
      text,
    }));
    const { snapshot, faults } = loadRules(files, {
      keyPrefix: prefix ?? "",
      keyFormat: keyFormat ?? "escaped",
      mergeDomains: mergeDomains ?? false,
    });
    assertEquals(faults, []);
    this.decider.adopt(snapshot!);
  }

  /** Decides one request. */
  decide(request: RequestOfTest, nowSeconds = this.nowSeconds): Decision {
    const decision = this.decider.decide(createView(request), nowSeconds);
    if (decision instanceof Promise) throw new Error("Cannot be: a promise");
    return decision;
  }

  /** Returns the response to a request in the domain "d". */
  ask(...descriptors: RequestOfTest["descriptors"]): RateLimitResponse {
    return this.answer({ domain: "d", descriptors });
  }

  /** Returns the response to a request. */
  answer(request: RequestOfTest): RateLimitResponse {
    const decision = this.decide(request);
    if (decision.kind !== "decided") throw new Error(decision.reason);
    return decision.response;
  }

  /**
   * Returns the statistics of rules that are not 0, without their common
   * prefix.
   */
  stats(): Record<string, number> {
    const stats: Record<string, number> = {};
    for (const reading of this.#registry.snapshot()) {
      if (reading.kind === "timer" || reading.value === 0) continue;
      stats[reading.name.replace("ratelimit.service.", "")] = reading.value;
    }
    return stats;
  }
}
