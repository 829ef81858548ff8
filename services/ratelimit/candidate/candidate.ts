/**
 * A candidate as a part of the service: its files, its counters and the
 * comparison with the rules in force.
 *
 * @module
 */

import { type Clock, steadyClock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { describeError, settle } from "../../shared/settled.ts";
import { Slices } from "../../shared/slices.ts";
import type { Part } from "../../shared/stopper.ts";
import type { CounterStore } from "../counters/counter_store.ts";
import type { DecisionRules } from "../decision/explain.ts";
import type { CompileOptions } from "../rules/compile.ts";
import { loadBesideDecisions } from "../rules/load_thread.ts";
import { ConfigLoader } from "../sources/config_loader.ts";
import { FileSource } from "../sources/files.ts";
import type { Stats } from "../stats/stats.ts";
import { CandidateComparison } from "./comparison.ts";

/** What a {@linkcode Candidate} is made of. */
interface CandidateOptions {
  /** Holds its files. */
  readonly directory: string;
  /** Whether files whose name begins with a dot are passed over. */
  readonly ignoreDotFiles: boolean;
  /** How the rules in force are compiled. */
  readonly compile: CompileOptions;
  /** Keeps its counters; is started and stopped with it. */
  readonly store: CounterStore;
  /** How decisions are made. */
  readonly rules: DecisionRules;
  /** Share of its counters that are kept, 0 to 1. */
  readonly share: number;
  /** Most requests that wait for their comparison. */
  readonly maxInFlight: number;
  /** Gets `ratelimit.service.candidate.…`. */
  readonly stats: Stats;
  /** Time. */
  readonly clock: Clock;
  /** Hears of its files. */
  readonly logger: Logger;
}

/**
 * Stands at the beginning of a candidate's counters. No counter of the rules in
 * force begins so: after the prefix that both have comes a domain there, whose
 * underscores are escaped.
 */
const KEY_PREFIX = "_candidate_";

/** Rules that are compared with those in force. */
export class Candidate implements Part {
  /** The name of the part in logs. */
  readonly name = "candidate";
  /** Sees the decisions. */
  readonly comparison: CandidateComparison;
  /** Keeps its counters. */
  readonly store: CounterStore;
  readonly #source: FileSource;
  readonly #stopping = new AbortController();

  /** Idle until it is started. */
  constructor(options: CandidateOptions) {
    const { store, stats, clock, logger } = options;
    const pausing = new Slices().open();
    this.store = store;
    this.comparison = new CandidateComparison({
      store,
      rules: options.rules,
      share: options.share,
      maxInFlight: options.maxInFlight,
      stats,
      onError: (error) =>
        logger.error("Cannot compare a decision with the candidate's", {
          error: describeError(error),
        }),
    });
    const compile = {
      ...options.compile,
      keyPrefix: (options.compile.keyPrefix ?? "") + KEY_PREFIX,
    };
    const loader = new ConfigLoader({
      load: (documents) =>
        loadBesideDecisions(documents, {
          compile,
          pausing,
          clock: steadyClock(clock),
          signal: this.#stopping.signal,
        }),
      adopt: (snapshot) =>
        this.comparison.adopt(snapshot, Math.floor(clock.nowMs() / 1000)),
      stats,
      logger,
      pausing,
      isCandidate: true,
    });
    this.#source = new FileSource({
      root: options.directory,
      subdirectory: "",
      appDirectory: "",
      ignoreDotFiles: options.ignoreDotFiles,
      watchRoot: false,
      onFiles: async (outcome) =>
        (await loader.take(outcome)).kind === "adopted",
      pausing,
      clock,
      logger,
    });
  }

  /** Begins to read the files; the service's start does not wait for them. */
  async start(): Promise<void> {
    await this.store.start();
    void settle(() => this.#source.start());
  }

  /** Reads the files again. */
  async reload(): Promise<void> {
    await this.#source.reload();
  }

  /** Compares no more and lets go of its store. */
  async stop(): Promise<void> {
    this.comparison.stop();
    this.#stopping.abort();
    await this.#source.stop();
    await this.store.stop();
  }
}
