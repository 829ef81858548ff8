/**
 * Compiles configurations to a snapshot. Combinations of values are checked
 * here, in the same way for files and for discovery messages.
 *
 * @module
 */

import { TextBytes } from "../../../proto/utf8.ts";
import type { Pausing } from "../../shared/slices.ts";
import { ByteMap } from "../bytes/byte_map.ts";
import { algorithmOfWord } from "./algorithm.ts";
import {
  type ConfigFault,
  type ConfigPath,
  type DescriptorConfig,
  type DomainConfig,
  listLimits,
  type RateLimitConfig,
} from "./config.ts";
import {
  type CounterKeyFormat,
  KeyPartWriter,
  RuleKeys,
} from "./counter_key.ts";
import { checkDescriptor } from "./rule_checks.ts";
import {
  type DomainRules,
  formatPath,
  type Limit,
  type Rule,
  type RuleLevel,
  type RuleNode,
  type RuleTable,
  type Snapshot,
} from "./snapshot.ts";
import {
  nearestUnit,
  toWindowSeconds,
  unitOfWord,
  windowName,
} from "./unit.ts";
import { Wildcard, WildcardSet } from "./wildcard.ts";

/** How configurations become a snapshot. */
export interface CompileOptions {
  /**
   * True when several configurations may name one domain.
   *
   * @default false
   */
  readonly mergeDomains?: boolean;
  /**
   * Text before every counter key.
   *
   * @default ""
   */
  readonly keyPrefix?: string;
  /**
   * How counter keys are written.
   *
   * @default "escaped"
   */
  readonly keyFormat?: CounterKeyFormat;
  /**
   * True to refuse other algorithms, as the store can't count exactly by them.
   *
   * @default false
   */
  readonly onlyFixedWindow?: boolean;
}

/** The result of compiling: a snapshot only when there are no faults. */
interface Compiled {
  /** The rules. */
  readonly snapshot: Snapshot | undefined;
  /** All faults that were found. */
  readonly faults: readonly ConfigFault[];
}

/** Checks and compiles all configurations of the service. */
export function compileSnapshot(
  configs: readonly DomainConfig[],
  options: CompileOptions = {},
): Compiled {
  const compiler = new Compiler(options);
  for (const config of configs) for (const _ of compiler.add(config));
  return compiler.finish();
}

/**
 * Checks and compiles all configurations, a few descriptors at a time between
 * other work.
 */
export async function compileInSlices(
  configs: readonly DomainConfig[],
  options: CompileOptions & {
    /** Lets other work run. */
    readonly pausing: Pausing;
  },
): Promise<Compiled> {
  const compiler = new Compiler(options);
  for (const config of configs) {
    for (const _ of compiler.add(config)) {
      const wait = options.pausing.pause();
      if (wait !== undefined) await wait;
    }
  }
  return compiler.finish();
}

// Nearly all descriptors have one limit; one list serves them all.
const NO_RULES: readonly Rule[] = [];

interface Parent {
  readonly config: DomainConfig;
  readonly levels: readonly RuleLevel[];
  /** Path of the descriptors in the configuration. */
  readonly at: ConfigPath;
}

class Compiler {
  readonly #mergeDomains: boolean;
  readonly #keyPrefix: string;
  readonly #keyWriter: KeyPartWriter;
  readonly #onlyFixedWindow: boolean;
  readonly #text = new TextBytes();
  readonly #domains = new Map<
    string,
    { rules: DomainRules; readonly table: TableBuilder }
  >();
  readonly #rules: Rule[] = [];
  readonly #descriptors: Snapshot["descriptors"][number][] = [];
  readonly #faults: ConfigFault[] = [];

  constructor(options: CompileOptions) {
    this.#mergeDomains = options.mergeDomains ?? false;
    this.#keyPrefix = options.keyPrefix ?? "";
    this.#keyWriter = new KeyPartWriter(options.keyFormat ?? "escaped");
    this.#onlyFixedWindow = options.onlyFixedWindow ?? false;
  }

  /** Adds a configuration; yields after each of its descriptors. */
  *add(config: DomainConfig): Generator<void> {
    const { domain } = config;
    if (domain === "") {
      this.#fault(config, [], "config file cannot have empty domain");
      return;
    }
    let entry = this.#domains.get(domain);
    if (entry !== undefined && !this.#mergeDomains) {
      const reason = `duplicate domain '${domain}' in config file; ` +
        "MERGE_DOMAIN_CONFIG=true allows several files for one domain";
      this.#fault(config, ["domain"], reason);
      return;
    }
    if (entry === undefined) {
      const table = new TableBuilder(this.#text);
      const keyPrefix = this.#keyWriter.domainPrefix(domain, this.#keyPrefix);
      entry = {
        rules: {
          domain,
          table: table.table,
          keyPrefix,
          countWhenLimited: true,
        },
        table,
      };
      this.#domains.set(domain, entry);
    }
    // Of several files for one domain, a single one may say so.
    if (config.countWhenLimited === false) {
      entry.rules = { ...entry.rules, countWhenLimited: false };
    }
    yield* this.#fill(entry.table, {
      descriptors: config.descriptors,
      parent: {
        config,
        levels: [],
        at: ["descriptors"],
      },
    });
  }

  finish(): Compiled {
    if (this.#faults.length > 0) {
      return { snapshot: undefined, faults: this.#faults };
    }
    const domains = new ByteMap<DomainRules>();
    for (const [name, { rules }] of this.#domains) {
      const length = this.#text.write(name);
      domains.set(this.#text.bytes, 0, length, rules);
    }
    return {
      snapshot: {
        domains,
        rules: this.#rules,
        descriptors: this.#descriptors,
        domainNames: [...this.#domains.keys()],
        ruleKeys: new RuleKeys(this.#keyWriter, this.#rules.length),
      },
      faults: [],
    };
  }

  *#fill(
    table: TableBuilder,
    from: {
      readonly descriptors: readonly DescriptorConfig[];
      readonly parent: Parent;
    },
  ): Generator<void> {
    const { descriptors, parent } = from;
    const { config, at } = parent;
    let index = 0;
    const fault = (below: ConfigPath, reason: string) =>
      this.#fault(config, [...at, index, ...below], reason);
    for (; index < descriptors.length; index++) {
      const descriptor = descriptors[index]!;
      const levels = [...parent.levels, descriptor];
      const { domain } = config;
      const rule = this.#rule(descriptor, { config, levels });
      this.#descriptors.push(rule ?? { id: undefined, domain, levels });
      const { descriptors: below } = descriptor;
      const children = below.length === 0
        ? undefined
        : new TableBuilder(this.#text);
      const isNew = table.add(descriptor, { rule, children: children?.table });
      checkDescriptor(descriptor, {
        duplicatePath: isNew || descriptor.key === ""
          ? undefined
          : formatPath({ domain, levels }),
        onlyFixedWindow: this.#onlyFixedWindow,
        fault,
      });
      yield;
      if (children !== undefined) {
        const own = { config, levels, at: [...at, index, "descriptors"] };
        yield* this.#fill(children, { descriptors: below, parent: own });
      }
    }
  }

  /**
   * Adds the rules of a descriptor and returns the first, which has the others;
   * undefined when it sets no limit.
   */
  #rule(
    descriptor: DescriptorConfig,
    place: Omit<Parent, "at">,
  ): Rule | undefined {
    const { rateLimit, rateLimits } = descriptor;
    if (rateLimits === undefined) {
      return rateLimit && this.#limitRule(rateLimit, { descriptor, ...place });
    }
    const others: Rule[] = [];
    const [first, ...rest] = listLimits(descriptor);
    const rule = this.#limitRule(first!.limit, {
      descriptor,
      ...place,
      label: rateLimit === undefined ? formatLabel(first!.limit) : "",
      others,
    });
    for (const { limit } of rest) {
      const label = formatLabel(limit);
      others.push(this.#limitRule(limit, { descriptor, ...place, label }));
    }
    return rule;
  }

  #limitRule(
    config: RateLimitConfig,
    { descriptor, config: { domain, name: file }, levels, ...own }:
      & Omit<Parent, "at">
      & {
        readonly descriptor: DescriptorConfig;
        readonly label?: string;
        readonly others?: readonly Rule[];
      },
  ): Rule {
    const { detailedMetric } = descriptor;
    const rule: Rule = {
      id: this.#rules.length,
      domain,
      limit: config.unlimited ? undefined : toLimit(config),
      name: config.name,
      replaces: config.replaces,
      shadowMode: descriptor.shadowMode || config.shadowMode === true,
      quotaMode: descriptor.quotaMode,
      detailedMetric,
      metadata: descriptor.metadata,
      levels,
      file,
      line: descriptor.line,
      hasDynamicPath: detailedMetric ||
        levels.some((level) => level.valueToMetric && !level.shareThreshold),
      label: own.label ?? "",
      others: own.others ?? NO_RULES,
    };
    this.#rules.push(rule);
    return rule;
  }

  #fault(
    config: DomainConfig,
    path: ConfigPath,
    reason: string,
  ): void {
    const line = config.findLine(path);
    this.#faults.push({ file: config.name, line, path, reason });
  }
}

/** One level while it is being built. */
class TableBuilder {
  readonly table: RuleTable = { keys: new ByteMap() };
  readonly #keys = new Map<string, {
    readonly exact: ByteMap<RuleNode>;
    readonly wildcards: WildcardSet<RuleNode>;
    readonly patterns: Set<string>;
    any: RuleNode | undefined;
  }>();
  readonly #text: TextBytes;

  constructor(text: TextBytes) {
    this.#text = text;
  }

  /** Adds a descriptor; false when its key and value were added before. */
  add({ key, value }: DescriptorConfig, node: RuleNode): boolean {
    let rules = this.#keys.get(key);
    if (rules === undefined) {
      rules = {
        exact: new ByteMap(),
        wildcards: new WildcardSet(),
        patterns: new Set(),
        any: undefined,
      };
      this.#keys.set(key, rules);
      const length = this.#text.write(key);
      this.table.keys.set(this.#text.bytes, 0, length, rules);
    }
    if (value === "") {
      const isNew = rules.any === undefined;
      rules.any = node;
      return isNew;
    }
    if (value.includes("*")) {
      if (rules.patterns.has(value)) return false;
      rules.patterns.add(value);
      rules.wildcards.add(new Wildcard(value), node);
      return true;
    }
    const { exact } = rules;
    const { size } = exact;
    const length = this.#text.write(value);
    exact.set(this.#text.bytes, 0, length, node);
    return exact.size > size;
  }
}

/** Returns what tells a limit from the others of its descriptor. */
function formatLabel(config: RateLimitConfig): string {
  if (config.name !== "") return config.name;
  const { window = "", algorithm = "fixed_window" } = toLimit(config) ?? {};
  return algorithm === "fixed_window" ? window : `${window}_${algorithm}`;
}

function toLimit(config: RateLimitConfig): Limit | undefined {
  const { requestsPerUnit, burst } = config;
  const windowSeconds = toWindowSeconds(config);
  const algorithm = algorithmOfWord(config.algorithm);
  if (windowSeconds === undefined || algorithm === undefined) return undefined;
  return {
    requestsPerUnit,
    unit: unitOfWord(config.unit) ?? nearestUnit(windowSeconds),
    windowSeconds,
    window: windowName(windowSeconds),
    algorithm,
    burst: algorithm === "token_bucket" ? burst ?? requestsPerUnit : undefined,
  };
}
