/**
 * Takes what a source read: rules that are right come into force, anything
 * else is reported and leaves the old ones in use.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import { describeError, settle } from "../../shared/settled.ts";
import { formatConfigFault } from "../rules/config.ts";
import type { Loaded } from "../rules/load.ts";
import type { ConfigText } from "../rules/read_domain.ts";
import type { Snapshot } from "../rules/snapshot.ts";
import type { Counter, Stats } from "../stats/stats.ts";
import type { ConfigFilesOutcome } from "./config_files.ts";

/** The parts of a {@linkcode ConfigLoader}. */
interface ConfigLoaderOptions {
  /** Makes rules of files. */
  readonly load: (files: readonly ConfigText[]) => Loaded | Promise<Loaded>;
  /** Puts rules into force, at once; what follows is waited for. */
  readonly adopt: (snapshot: Snapshot) => void | Promise<void>;
  /** Counts loads. */
  readonly stats: Stats;
  /** Hears of loads. */
  readonly logger: Logger;
}

const MAX_FAULTS_LOGGED = 20;

/** Turns readings into rules. */
export class ConfigLoader {
  readonly #options: ConfigLoaderOptions;
  readonly #successes: Counter;
  readonly #errors: Counter;
  readonly #first = Promise.withResolvers<void>();
  #isLoaded = false;

  /** A loader that has loaded nothing. */
  constructor(options: ConfigLoaderOptions) {
    this.#options = options;
    const { stats } = options;
    this.#successes = stats.counter("ratelimit.service.config_load_success");
    this.#errors = stats.counter("ratelimit.service.config_load_error");
  }

  /** True when rules have come into force. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Settles with the first rules that come into force. */
  get firstLoad(): Promise<void> {
    return this.#first.promise;
  }

  /**
   * Takes one reading. Calls must not overlap.
   *
   * @returns Whether its rules have come into force.
   */
  async take(outcome: ConfigFilesOutcome): Promise<boolean> {
    if (outcome.kind === "unreadable") {
      return this.#refuse([outcome.reason]);
    }
    const { logger, load, adopt } = this.#options;
    const loaded = await settle(() => load(outcome.files));
    if (loaded.kind === "failed") {
      return this.#refuse([describeError(loaded.error)]);
    }
    const { snapshot, faults, warnings } = loaded.value;
    for (const warning of warnings.slice(0, MAX_FAULTS_LOGGED)) {
      logger.warn(`Configuration: ${formatConfigFault(warning)}`);
    }
    if (snapshot === undefined) {
      return this.#refuse(faults.map(formatConfigFault));
    }
    const adopted = adopt(snapshot);
    this.#successes.add();
    this.#isLoaded = true;
    logger.info("Loaded configuration", {
      files: outcome.files.length,
      domains: snapshot.domainNames.length,
      rules: snapshot.rules.length,
    });
    if (snapshot.domainNames.length === 0) {
      logger.warn("The configuration holds no domain: nothing is limited");
    }
    for (const rule of snapshot.rules) {
      logger.debug("Loaded rule", { rule: rule.path });
    }
    this.#first.resolve();
    await adopted;
    return true;
  }

  #refuse(reasons: readonly string[]): false {
    const { logger } = this.#options;
    this.#errors.add();
    const consequence = this.#isLoaded
      ? "the rules loaded before stay in force"
      : "there are no rules until it is mended";
    for (const reason of reasons.slice(0, MAX_FAULTS_LOGGED)) {
      logger.error(`Cannot load configuration: ${reason}; ${consequence}`);
    }
    if (reasons.length > MAX_FAULTS_LOGGED) {
      const more = reasons.length - MAX_FAULTS_LOGGED;
      logger.error(`Cannot load configuration: ${more} more faults`);
    }
    return false;
  }
}
