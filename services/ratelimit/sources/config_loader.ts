/**
 * Loads configurations as they arrive: valid rules come into force, anything
 * else is reported and leaves the old rules in use.
 *
 * @module
 */

import { isUtf8 } from "node:buffer";
import type { Logger } from "../../shared/logger.ts";
import { quote } from "../../shared/quote.ts";
import { describeError, settle } from "../../shared/settled.ts";
import { NEVER_PAUSING, type Pausing } from "../../shared/slices.ts";
import { formatConfigFault } from "../rules/config.ts";
import type { ConfigDocument, Loaded } from "../rules/load.ts";
import type { ConfigMessage } from "../rules/read_message.ts";
import { describeRule, formatPath, type Snapshot } from "../rules/snapshot.ts";
import type { Counter, Gauge, Stats } from "../stats/stats.ts";
import { findRuleChanges } from "./rule_changes.ts";
import {
  CONFIG_BOUNDS,
  type RawConfigFile,
  readConfigDirectory,
} from "./config_directory.ts";

/** One configuration file. */
interface ConfigFile {
  /** The file's name within the configuration directory. */
  readonly name: string;
  /** Its whole text. */
  readonly text: string;
}

/** The result of looking for configuration files. */
export type ConfigFilesOutcome =
  | {
    readonly kind: "files";
    /** The files in the byte order of their names; may be none. */
    readonly files: readonly ConfigFile[];
    /** A hash of all names and bytes. */
    readonly fingerprint: string;
  }
  | {
    readonly kind: "unreadable";
    /** Why, naming the file or directory. */
    readonly reason: string;
  };

/** What a discovery server sent. */
interface ConfigResources {
  /** Tells resources from files. */
  readonly kind: "resources";
  /** All resources there are; may be none. */
  readonly resources: readonly ConfigMessage[];
}

/** The outcome of a configuration. */
type ConfigVerdict =
  | { readonly kind: "adopted" }
  | {
    readonly kind: "refused";
    /** Why it was refused: the first faults, and how many more there are. */
    readonly reasons: readonly string[];
  };

/**
 * Decodes files to text, one file at a time between other work. One file that
 * is not UTF-8 makes all unreadable.
 */
export async function decodeFiles(
  files: readonly RawConfigFile[],
  { fingerprint, pausing }: {
    /** A hash of all names and bytes. */
    readonly fingerprint: string;
    /** Lets other work run. */
    readonly pausing: Pausing;
  },
): Promise<ConfigFilesOutcome> {
  // A decoder that is told to throw takes five times as long.
  const decoder = new TextDecoder();
  const decoded: ConfigFile[] = [];
  for (const { name, bytes } of files) {
    await pausing.pause();
    if (!isUtf8(bytes)) {
      const reason = `Cannot read configuration file ${
        quote(name)
      }: it is not valid UTF-8`;
      return { kind: "unreadable", reason };
    }
    decoded.push({ name, text: decoder.decode(bytes) });
  }
  return { kind: "files", files: decoded, fingerprint };
}

/**
 * Reads all `*.yaml` files directly in `directory`; an empty directory is a
 * fault.
 */
export async function readConfigFiles(
  directory: string,
): Promise<ConfigFilesOutcome> {
  const read = await readConfigDirectory(directory, {
    ...CONFIG_BOUNDS,
    ignoreDotFiles: false,
  });
  if (read.kind !== "read") return { kind: "unreadable", reason: read.reason };
  if (read.files.length === 0) {
    return { kind: "unreadable", reason: `no *.yaml file in "${directory}"` };
  }
  const { files, fingerprint } = read;
  return await decodeFiles(files, { fingerprint, pausing: NEVER_PAUSING });
}

/** The parts of a {@linkcode ConfigLoader}. */
interface ConfigLoaderOptions {
  /** Makes rules of documents. */
  readonly load: (
    documents: readonly ConfigDocument[],
  ) => Loaded | Promise<Loaded>;
  /**
   * Puts rules into force at once; the work that it does afterwards is waited
   * for before the next configuration.
   */
  readonly adopt: (snapshot: Snapshot) => void | Promise<void>;
  /** Counts loads. */
  readonly stats: Stats;
  /** Gets log lines about loads. */
  readonly logger: Logger;
  /**
   * True for a candidate: logs and names of statistics tell its loads from
   * those of the rules in force.
   *
   * @default false
   */
  readonly isCandidate?: boolean | undefined;
  /**
   * Lets other work run between the lines about descriptors.
   *
   * @default never
   */
  readonly pausing?: Pausing | undefined;
}

const MAX_FAULTS_TOLD = 20;

/** Loads configurations and puts their rules into force. */
export class ConfigLoader {
  readonly #options: ConfigLoaderOptions;
  readonly #what: string;
  readonly #rules: string;
  readonly #successes: Counter;
  readonly #errors: Counter;
  readonly #files: FileFigures | undefined;
  readonly #first = Promise.withResolvers<void>();
  #following: Promise<void> = Promise.resolve();
  #before: Snapshot | undefined;
  #isLoaded = false;

  /** Makes a loader that has loaded nothing. */
  constructor(options: ConfigLoaderOptions) {
    this.#options = options;
    const { stats, isCandidate = false } = options;
    const stat = isCandidate
      ? "ratelimit.service.candidate.config_load"
      : "ratelimit.service.config_load";
    this.#what = isCandidate ? "candidate configuration" : "configuration";
    this.#rules = isCandidate ? "candidate rules" : "rules";
    this.#successes = stats.counter(`${stat}_success`);
    this.#errors = stats.counter(`${stat}_error`);
    // These statistics are about the files of the rules in force only.
    this.#files = isCandidate ? undefined : new FileFigures(stats);
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
   * Takes one configuration, after all the work that followed the one before.
   * Calls must not overlap.
   *
   * @returns Whether its rules have come into force.
   */
  async take(
    config: ConfigFilesOutcome | ConfigResources,
  ): Promise<ConfigVerdict> {
    await this.#following;
    this.#files?.note(config);
    if (config.kind === "unreadable") return this.refuse([config.reason]);
    const { logger, load, adopt } = this.#options;
    const documents = config.kind === "files" ? config.files : config.resources;
    const loaded = await settle(() => load(documents));
    if (loaded.kind === "failed") {
      return this.refuse([describeError(loaded.error)]);
    }
    const { snapshot, faults, warnings } = loaded.value;
    for (const warning of warnings.slice(0, MAX_FAULTS_TOLD)) {
      const text = `${this.#what}: ${formatConfigFault(warning)}`;
      logger.warn(text[0]!.toUpperCase() + text.slice(1));
    }
    if (snapshot === undefined) {
      const told = faults.slice(0, MAX_FAULTS_TOLD).map(formatConfigFault);
      const more = faults.length - told.length;
      return this.refuse(more > 0 ? [...told, `${more} more faults`] : told);
    }
    const adopted = adopt(snapshot);
    this.#successes.add();
    this.#isLoaded = true;
    logger.info(`Loaded ${this.#what}`, {
      [config.kind]: documents.length,
      domains: snapshot.domainNames.length,
      rules: snapshot.rules.length,
    });
    if (snapshot.domainNames.length === 0) {
      logger.warn(`The ${this.#what} holds no domain: nothing is limited`);
    }
    this.#first.resolve();
    this.#following = this.#follow(adopted, snapshot);
    return { kind: "adopted" };
  }

  async #follow(
    adopted: void | Promise<void>,
    snapshot: Snapshot,
  ): Promise<void> {
    const outcome = await settle(async () => {
      await adopted;
      await this.#list(snapshot);
      await this.#compare(snapshot);
    });
    if (outcome.kind === "failed") {
      const error = describeError(outcome.error);
      this.#options.logger.error(`Cannot show all ${this.#rules}`, { error });
    }
  }

  /** Logs how the rules differ from those before. */
  async #compare(after: Snapshot): Promise<void> {
    const before = this.#before;
    this.#before = after;
    if (before === undefined) return;
    const { logger, pausing = NEVER_PAUSING } = this.#options;
    const { lines, ...counts } = await findRuleChanges(
      { before, after },
      pausing,
    );
    const text = `${this.#rules[0]!.toUpperCase()}${this.#rules.slice(1)}`;
    if (lines.length === 0) logger.info(`${text} are as before`);
    else {logger.info(`${text} have changed`, {
        ...counts,
        first: lines.join("; "),
      });}
  }

  /** Logs one line for each domain and descriptor, at debug. */
  async #list(snapshot: Snapshot): Promise<void> {
    const { logger, pausing = NEVER_PAUSING } = this.#options;
    for (const domain of snapshot.domainNames) {
      logger.debug("Loaded domain", { domain });
    }
    for (const descriptor of snapshot.descriptors) {
      logger.debug("Loaded descriptor", {
        descriptor: formatPath(descriptor),
        limit: descriptor.id === undefined
          ? undefined
          : describeRule(descriptor),
      });
      const wait = pausing.pause();
      if (wait !== undefined) await wait;
    }
  }

  /** Counts and logs a configuration that can't be loaded. */
  refuse(reasons: readonly string[]): ConfigVerdict {
    const { logger } = this.#options;
    this.#errors.add();
    const consequence = this.#isLoaded
      ? `the ${this.#rules} loaded before stay in force`
      : `there are no ${this.#rules} until it is mended`;
    for (const reason of reasons) {
      logger.error(`Cannot load ${this.#what}: ${reason}; ${consequence}`);
    }
    return { kind: "refused", reasons };
  }
}

/** Statistics of the directory of configuration files: `runtime.…`. */
class FileFigures {
  readonly #attempts: Counter;
  readonly #failures: Counter;
  readonly #values: Gauge;

  constructor(stats: Stats) {
    this.#attempts = stats.counter("runtime.load_attempts");
    this.#failures = stats.counter("runtime.load_failures");
    this.#values = stats.gauge("runtime.num_values");
  }

  /**
   * Counts a configuration; one of a discovery server is left out, as it is no
   * file.
   */
  note(config: ConfigFilesOutcome | ConfigResources): void {
    if (config.kind === "resources") return;
    this.#attempts.add();
    if (config.kind === "unreadable") this.#failures.add();
    else this.#values.set(config.files.length);
  }
}
