/**
 * Reads the parts of a rule file from a tree of YAML into plain values, and
 * checks shape, types and words. Combinations of values are checked when they
 * are compiled.
 *
 * @module
 */

import type {
  ConfigFault,
  ConfigPath,
  DescriptorConfig,
  DomainConfig,
  RateLimitConfig,
} from "./config.ts";
import { idleWords } from "./rule_checks.ts";
import type { YamlList, YamlMap, YamlNode } from "./yaml_tree.ts";
import {
  allowedWords,
  asBoolean,
  asCount,
  asText,
  type Place,
  quotedReason,
  readMetadata,
  type ScalarOutcome,
  unknownWord,
} from "./yaml_values.ts";

/** The file that the parts are of. */
interface RuleFile {
  /** Its name, for messages. */
  readonly name: string;
  /** Its whole text. */
  readonly text: string;
  /** Returns the line of a place, counted from 1; undefined when unknown. */
  readonly findLine: (path: ConfigPath) => number | undefined;
}

/** A map, and its place in the file. */
export interface MapPlace {
  /** The map. */
  readonly map: YamlMap;
  /** Its place. */
  readonly path: ConfigPath;
}

// Most rules have no names; one list serves all.
const NO_NAMES: readonly string[] = [];

/** Reads parts; collects every fault instead of stopping at the first. */
export class RuleReader {
  /** All faults so far. */
  readonly faults: ConfigFault[] = [];
  /** Warnings about what was accepted although it looks like a mistake. */
  readonly warnings: ConfigFault[] = [];
  readonly #file: RuleFile;
  #lines: readonly string[] | undefined;

  /** A reader without faults. */
  constructor(file: RuleFile) {
    this.#file = file;
  }

  /** Reads what the top level says beside its descriptors. */
  domain(top: MapPlace): Pick<DomainConfig, "domain" | "countWhenLimited"> {
    this.#checkWords(top, "top");
    const domain = this.#text(top, "domain");
    if (domain === "" && !this.#hasFaultAt("domain")) {
      this.fault([], "config file cannot have empty domain");
    }
    const countWhenLimited = this.#boolean(top, "count_when_limited", true);
    return { domain, countWhenLimited };
  }

  /** Reads what a descriptor says beside the descriptors below it. */
  descriptor(at: MapPlace): Omit<DescriptorConfig, "descriptors" | "line"> {
    const { map, path } = at;
    this.#checkWords(at, "descriptor");
    const rateLimit = this.#rateLimit(at);
    const metadata = readMetadata(map.entries.get("metadata"));
    if (metadata.kind === "fault") {
      this.fault(
        [...path, "metadata"],
        `error parsing metadata: ${metadata.reason}`,
      );
    }
    const read = {
      key: this.#text(at, "key"),
      value: this.#text(at, "value"),
      rateLimit,
      rateLimits: this.#rateLimits(at),
      shadowMode: this.#boolean(at, "shadow_mode"),
      quotaMode: this.#boolean(at, "quota_mode"),
      detailedMetric: this.#boolean(at, "detailed_metric"),
      valueToMetric: this.#boolean(at, "value_to_metric"),
      shareThreshold: this.#boolean(at, "share_threshold"),
      metadata: metadata.kind === "metadata" ? metadata.value : undefined,
    };
    for (const word of idleWords(read)) {
      this.#warn([...path, word], `${word} does nothing without rate_limit`);
    }
    return read;
  }

  #rateLimit(descriptor: MapPlace): RateLimitConfig | undefined {
    const map = descriptor.map.entries.get("rate_limit");
    if (map === undefined || isNull(map)) return undefined;
    const path = [...descriptor.path, "rate_limit"];
    if (map.kind !== "map") {
      this.wrongType(path, "a map with unit and requests_per_unit");
      return undefined;
    }
    return this.#limit({ map, path }, "rate_limit");
  }

  #rateLimits(descriptor: MapPlace): readonly RateLimitConfig[] | undefined {
    const items = this.items(descriptor, "rate_limits");
    return items.length === 0
      ? undefined
      : items.map((item) => this.#limit(item, "rate_limits"));
  }

  #limit(at: MapPlace, place: "rate_limit" | "rate_limits"): RateLimitConfig {
    const { map, path } = at;
    this.#checkWords(at, place);
    const requestsPerUnit = this.#count(at, "requests_per_unit");
    const unlimited = this.#boolean(at, "unlimited");
    if (!map.entries.has("requests_per_unit") && !unlimited) {
      this.#warn(path, "requests_per_unit is missing: all is refused");
    }
    const replaces = this.items(at, "replaces");
    return {
      unit: this.#text(at, "unit"),
      window: this.#text(at, "window") || undefined,
      requestsPerUnit: requestsPerUnit ?? 0,
      algorithm: this.#text(at, "algorithm"),
      burst: this.#count(at, "burst"),
      unlimited,
      name: this.#text(at, "name"),
      replaces: replaces.length === 0 ? NO_NAMES : replaces.map((item) => {
        this.#checkWords(item, "replaces");
        return this.#text(item, "name");
      }),
      shadowMode: this.#boolean(at, "shadow_mode"),
    };
  }

  /** Returns the maps of a list; anything else in it is a fault. */
  items(at: MapPlace, word: string): readonly MapPlace[] {
    const node = at.map.entries.get(word);
    if (node === undefined || isNull(node)) return [];
    const path = [...at.path, word];
    if (node.kind !== "list") {
      this.wrongType(path, "a list");
      return [];
    }
    const places: MapPlace[] = [];
    for (const [index, item] of node.items.entries()) {
      const itemPath = [...path, index];
      if (item.kind === "map") places.push({ map: item, path: itemPath });
      else {
        const shown = item.kind === "list" ? listText(item) : item.written;
        const reason =
          `config error, yaml file contains list of type other than map: ${shown}`;
        this.fault(itemPath, reason);
      }
    }
    return places;
  }

  #text(at: MapPlace, word: string): string {
    const node = at.map.entries.get(word);
    return node === undefined
      ? ""
      : this.#unwrapScalar(at, { word, node, outcome: asText(node) }) ?? "";
  }

  #count(at: MapPlace, word: string): number | undefined {
    const node = at.map.entries.get(word);
    return node === undefined
      ? undefined
      : this.#unwrapScalar(at, { word, node, outcome: asCount(node) });
  }

  #boolean(at: MapPlace, word: string, missing = false): boolean {
    const node = at.map.entries.get(word);
    if (node === undefined) return missing;
    const value = this.#unwrapScalar(at, {
      word,
      node,
      outcome: asBoolean(node),
    });
    if (value === undefined) return missing;
    // The parser reads `yes` as text, quoted or not; only the line tells which.
    if (node.kind === "scalar" && node.type === "text") {
      const path = [...at.path, word];
      if (node.isQuoted ?? this.#isQuoted(path, word)) {
        this.fault(path, quotedReason(node, "true or false"));
      }
    }
    return value;
  }

  #isQuoted(path: ConfigPath, word: string): boolean {
    const line = this.#textOfLine(this.#file.findLine(path));
    return new RegExp(`\\b${word}["']?\\s*:\\s*["']`).test(line);
  }

  #textOfLine(line: number | undefined): string {
    this.#lines ??= this.#file.text.split(/\r\n|\r|\n/);
    return this.#lines[(line ?? 0) - 1] ?? "";
  }

  #unwrapScalar<T>(
    at: MapPlace,
    { word, node, outcome }: {
      readonly word: string;
      readonly node: YamlNode;
      readonly outcome: ScalarOutcome<T>;
    },
  ): T | undefined {
    if (isNull(node)) return undefined;
    if (outcome.kind === "value") return outcome.value;
    this.fault([...at.path, word], outcome.reason);
    return undefined;
  }

  #checkWords({ map, path }: MapPlace, place: Place): void {
    const allowed = allowedWords(place);
    for (const word of map.entries.keys()) {
      if (allowed.includes(word)) continue;
      this.fault([...path, word], unknownWord(word, place));
    }
  }

  #hasFaultAt(word: string): boolean {
    return this.faults.some((fault) => fault.path.at(-1) === word);
  }

  /** Notes that a part is not of the type that it should be. */
  wrongType(path: ConfigPath, accepted: string): void {
    this.fault(path, `error loading config file: expected ${accepted}`);
  }

  #warn(path: ConfigPath, reason: string): void {
    const line = this.#file.findLine(path);
    this.warnings.push({ file: this.#file.name, line, path, reason });
  }

  /** Notes a fault at a place. */
  fault(path: ConfigPath, reason: string): void {
    const line = this.#file.findLine(path);
    this.faults.push({ file: this.#file.name, line, path, reason });
  }
}

function isNull(node: YamlNode): boolean {
  return node.kind === "scalar" && node.type === "null";
}

function listText(list: YamlList): string {
  return `a list of ${list.items.length}`;
}
