/**
 * Candidate rules as a part of the service: their files, their counters and the
 * comparison with the rules in force.
 *
 * @module
 */

import { type Clock, steadyClock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { describeError, settle } from "../../shared/settled.ts";
import { Slices } from "../../shared/slices.ts";
import type { Part } from "../../shared/stopper.ts";
import type { ChangeReports } from "../../shared/watch/change_reports.ts";
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
  /** Directory of the candidate's rule files. */
  readonly directory: string;
  /** True to skip files whose name begins with a dot. */
  readonly ignoreDotFiles: boolean;
  /** How the rules in force are compiled. */
  readonly compile: CompileOptions;
  /** Keeps the candidate's counters; started and stopped with the candidate. */
  readonly store: CounterStore;
  /** How decisions are made. */
  readonly rules: DecisionRules;
  /** Share of the candidate's counters that are kept, from 0 to 1. */
  readonly share: number;
  /** Most requests that wait for their comparison; further ones are dropped. */
  readonly maxInFlight: number;
  /** Gets the statistics `ratelimit.service.candidate.…`. */
  readonly stats: Stats;
  /** Reports changes of the files. */
  readonly reports: ChangeReports;
  /** Gives the time. */
  readonly clock: Clock;
  /** Gets log lines about the candidate's files and failed comparisons. */
  readonly logger: Logger;
}

/**
 * Prefix of the keys of a candidate's counters. No counter of the rules in
 * force begins so: after the prefix that both have, its key goes on with a
 * domain, whose underscores are escaped.
 */
const KEY_PREFIX = "_candidate_";

/**
 * Candidate rules, whose decisions are compared with those of the rules in
 * force.
 */
export class Candidate implements Part {
  /** The name of the part in logs. */
  readonly name = "candidate";
  /** Watches the decisions and compares them. */
  readonly comparison: CandidateComparison;
  /** Keeps the candidate's counters. */
  readonly store: CounterStore;
  readonly #source: FileSource;
  readonly #stopping = new AbortController();

  /** Makes a candidate that is idle until it is started. */
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
      reports: options.reports,
      clock,
      logger,
    });
  }

  /**
   * Starts the store and begins to read the files; the start of the service
   * does not wait for the files.
   */
  async start(): Promise<void> {
    await this.store.start();
    void settle(() => this.#source.start());
  }

  /** Reads the candidate's files again. */
  async reload(): Promise<void> {
    await this.#source.reload();
  }

  /** Ends the comparison and stops the store. */
  async stop(): Promise<void> {
    this.comparison.stop();
    this.#stopping.abort();
    await this.#source.stop();
    await this.store.stop();
  }
}
