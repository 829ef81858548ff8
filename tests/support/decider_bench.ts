/**
 * A decider over rules in YAML and a store that can be read, for tests.
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
import { type RequestOfTest, viewOf } from "./view_of.ts";

/** The time of calls unless told otherwise, whole Unix seconds. */
export const NOW = 1_000_000_007;

/** Counts in a map by key text; what the key is made of can be read from it. */
export class TextStore implements CounterStore {
  /** Counts by key; windows are not looked at. */
  readonly counts = new Map<string, number>();
  /** Number of batches. */
  calls = 0;
  /** While true nothing is answered. */
  down = false;

  /** Counts a batch. */
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

  /** Not while it is down. */
  isHealthy(): boolean {
    return !this.down;
  }

  /** Does nothing. */
  start(): Promise<void> {
    return Promise.resolve();
  }

  /** Does nothing. */
  stop(): Promise<void> {
    return Promise.resolve();
  }
}

/** How a {@linkcode DeciderBench} is made; what is left out has its default. */
export interface DeciderBenchOptions
  extends Partial<ConstructorParameters<typeof Decider>[0]> {
  /**
   * Text before every counter key.
   *
   * @default ""
   */
  readonly prefix?: string;
  /**
   * Several texts may hold rules of one domain.
   *
   * @default false
   */
  readonly mergeDomains?: boolean;
  /**
   * Most names of statistics.
   *
   * @default 100_000
   */
  readonly maxStatNames?: number;
  /**
   * Most rule paths with statistics of their own.
   *
   * @default 10_000
   */
  readonly maxStatPaths?: number;
}

/** A decider over rules in YAML, asked one request after the other. */
export class DeciderBench {
  /** The counters, unless the options name another store. */
  readonly store = new TextStore();
  /** What is tested. */
  readonly decider: Decider;
  /** The time of calls in whole Unix seconds. */
  nowSeconds: number = NOW;
  readonly #options: DeciderBenchOptions;
  readonly #registry: StatsRegistry;

  /** A decider with the rules of `yaml` in force, one text for each file. */
  constructor(
    yaml: string | readonly string[],
    options: DeciderBenchOptions = {},
  ) {
    const { maxStatNames = 100_000, maxStatPaths = 10_000 } = options;
    this.#options = options;
    this.#registry = new StatsRegistry({ maxNames: maxStatNames });
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

  /** How many statistics there are, those that are 0 too. */
  get statCount(): number {
    return this.#registry.size;
  }

  /** Puts other rules into force; counters and statistics stay. */
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
    const decision = this.decider.decide(viewOf(request), nowSeconds);
    if (decision instanceof Promise) throw new Error("Cannot be: a promise");
    return decision;
  }

  /** The answer to a request in the domain "d". */
  ask(...descriptors: RequestOfTest["descriptors"]): RateLimitResponse {
    return this.answer({ domain: "d", descriptors });
  }

  /** The answer to a request. */
  answer(request: RequestOfTest): RateLimitResponse {
    const decision = this.decide(request);
    if (decision.kind !== "decided") throw new Error(decision.reason);
    return decision.response;
  }

  /** Statistics of rules that are not 0, without their common beginning. */
  stats(): Record<string, number> {
    const stats: Record<string, number> = {};
    for (const reading of this.#registry.snapshot()) {
      if (reading.kind === "timer" || reading.value === 0) continue;
      stats[reading.name.replace("ratelimit.service.", "")] = reading.value;
    }
    return stats;
  }
}
