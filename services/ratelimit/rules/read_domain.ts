/**
 * From the text of a configuration file to plain values: shape, types and
 * words. What the values mean together is checked when they are compiled.
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
import { createLocator } from "./yaml_places.ts";
import {
  readYaml,
  type YamlList,
  type YamlMap,
  type YamlNode,
} from "./yaml_tree.ts";
import {
  allowedWords,
  asBoolean,
  asCount,
  asText,
  metadataOf,
  type Place,
  quotedReason,
  type ScalarOutcome,
  unknownWord,
} from "./yaml_values.ts";

/** A configuration file that has been read but not yet looked at. */
export interface ConfigText {
  /** Name for messages. */
  readonly name: string;
  /** The whole text. */
  readonly text: string;
}

/** What reading a file gave: a domain only where there are no faults. */
export interface ReadDomain {
  /** The domain. */
  readonly domain: DomainConfig | undefined;
  /** All that is wrong. */
  readonly faults: readonly ConfigFault[];
  /** What was taken although it looks like a mistake. */
  readonly warnings: readonly ConfigFault[];
}

/** Words of a descriptor that mean something beside a limit only. */
const LIMIT_WORDS = [
  "shadow_mode",
  "quota_mode",
  "detailed_metric",
  "metadata",
] as const;

/** Reads one file; collects every fault instead of stopping at the first. */
export function readDomain(file: ConfigText): ReadDomain {
  return new DomainReader(file).read();
}

class DomainReader {
  readonly #file: ConfigText;
  readonly #lineOf: (path: ConfigPath) => number | undefined;
  readonly #faults: ConfigFault[] = [];
  readonly #warnings: ConfigFault[] = [];
  #lines: readonly string[] | undefined;

  constructor(file: ConfigText) {
    this.#file = file;
    this.#lineOf = createLocator(file.text);
  }

  read(): ReadDomain {
    const domain = this.#domain();
    return {
      domain: this.#faults.length === 0 ? domain : undefined,
      faults: this.#faults,
      warnings: this.#warnings,
    };
  }

  #domain(): DomainConfig | undefined {
    const file = this.#file.name;
    const yaml = readYaml(this.#file.text);
    if (yaml.kind === "fault") {
      const reason = `error loading config file: ${yaml.fault.reason}`;
      this.#faults.push({ file, line: yaml.fault.line, path: [], reason });
      return undefined;
    }
    for (const { line, reason } of yaml.warnings) {
      this.#warnings.push({ file, line, path: [], reason });
    }
    const { root } = yaml;
    if (root.kind === "scalar" && root.type === "null") {
      this.#fault([], "config file cannot have empty domain");
      return undefined;
    }
    if (root.kind !== "map") {
      this.#wrongType([], "a map with domain and descriptors");
      return undefined;
    }
    this.#checkWords(root, { path: [], place: "top" });
    const domain = this.#text(root, { path: [], word: "domain" });
    if (domain === "" && !this.#hasFaultAt("domain")) {
      this.#fault([], "config file cannot have empty domain");
    }
    return {
      name: file,
      domain,
      descriptors: this.#descriptors(root, []),
      lineOf: this.#lineOf,
    };
  }

  #descriptors(map: YamlMap, path: ConfigPath): DescriptorConfig[] {
    return this.#maps(map, { path, word: "descriptors" }).map(
      ([item, itemPath]) => this.#descriptor(item, itemPath),
    );
  }

  #descriptor(map: YamlMap, path: ConfigPath): DescriptorConfig {
    this.#checkWords(map, { path, place: "descriptor" });
    const rateLimit = this.#rateLimit(map, [...path, "rate_limit"]);
    if (rateLimit === undefined) {
      for (const word of LIMIT_WORDS) {
        if (!map.entries.has(word)) continue;
        this.#warn([...path, word], `${word} does nothing without rate_limit`);
      }
    }
    const metadata = metadataOf(map.entries.get("metadata"));
    if (metadata.kind === "fault") {
      this.#fault(
        [...path, "metadata"],
        `error parsing metadata: ${metadata.reason}`,
      );
    }
    return {
      key: this.#text(map, { path, word: "key" }),
      value: this.#text(map, { path, word: "value" }),
      rateLimit,
      shadowMode: this.#boolean(map, { path, word: "shadow_mode" }),
      quotaMode: this.#boolean(map, { path, word: "quota_mode" }),
      detailedMetric: this.#boolean(map, { path, word: "detailed_metric" }),
      valueToMetric: this.#boolean(map, { path, word: "value_to_metric" }),
      shareThreshold: this.#boolean(map, { path, word: "share_threshold" }),
      metadata: metadata.kind === "metadata" ? metadata.value : undefined,
      descriptors: this.#descriptors(map, path),
      path,
      line: this.#lineOf(path),
    };
  }

  #rateLimit(map: YamlMap, path: ConfigPath): RateLimitConfig | undefined {
    const node = map.entries.get("rate_limit");
    if (node === undefined || isNull(node)) return undefined;
    if (node.kind !== "map") {
      this.#wrongType(path, "a map with unit and requests_per_unit");
      return undefined;
    }
    this.#checkWords(node, { path, place: "rate_limit" });
    const requestsPerUnit = this.#scalar(node, {
      path,
      word: "requests_per_unit",
      read: asCount,
    });
    const unlimited = this.#boolean(node, { path, word: "unlimited" });
    if (!node.entries.has("requests_per_unit") && !unlimited) {
      this.#warn(path, "requests_per_unit is missing: all is refused");
    }
    return {
      unit: this.#text(node, { path, word: "unit" }),
      requestsPerUnit: requestsPerUnit ?? 0,
      algorithm: this.#text(node, { path, word: "algorithm" }),
      burst: this.#scalar(node, { path, word: "burst", read: asCount }),
      unlimited,
      name: this.#text(node, { path, word: "name" }),
      replaces: this.#maps(node, { path, word: "replaces" }).map(
        ([item, itemPath]) => {
          this.#checkWords(item, { path: itemPath, place: "replaces" });
          return this.#text(item, { path: itemPath, word: "name" });
        },
      ),
    };
  }

  /** The maps of a list; anything else in it is a fault. */
  #maps(
    map: YamlMap,
    at: { readonly path: ConfigPath; readonly word: string },
  ): [YamlMap, ConfigPath][] {
    const path = [...at.path, at.word];
    const node = map.entries.get(at.word);
    if (node === undefined || isNull(node)) return [];
    if (node.kind !== "list") {
      this.#wrongType(path, "a list");
      return [];
    }
    return node.items.flatMap((item, index): [YamlMap, ConfigPath][] => {
      if (item.kind === "map") return [[item, [...path, index]]];
      const shown = item.kind === "list" ? listText(item) : item.written;
      this.#fault(
        [...path, index],
        `config error, yaml file contains list of type other than map: ${shown}`,
      );
      return [];
    });
  }

  #text(
    map: YamlMap,
    at: { readonly path: ConfigPath; readonly word: string },
  ): string {
    return this.#scalar(map, { ...at, read: asText }) ?? "";
  }

  #boolean(
    map: YamlMap,
    at: { readonly path: ConfigPath; readonly word: string },
  ): boolean {
    const { path, word } = at;
    const value = this.#scalar(map, { path, word, read: asBoolean });
    if (value === undefined) return false;
    const node = map.entries.get(word);
    // The parser makes a text of `yes`, quoted or not; the line tells.
    if (node?.kind === "scalar" && node.type === "text") {
      const line = this.#textOfLine(this.#lineOf([...path, word]));
      if (new RegExp(`\\b${word}["']?\\s*:\\s*["']`).test(line)) {
        this.#fault([...path, word], quotedReason(node, "true or false"));
      }
    }
    return value;
  }

  #textOfLine(line: number | undefined): string {
    this.#lines ??= this.#file.text.split(/\r\n|\r|\n/);
    return this.#lines[(line ?? 0) - 1] ?? "";
  }

  #scalar<T>(
    map: YamlMap,
    at: {
      readonly path: ConfigPath;
      readonly word: string;
      readonly read: (node: YamlNode) => ScalarOutcome<T>;
    },
  ): T | undefined {
    const node = map.entries.get(at.word);
    if (node === undefined || isNull(node)) return undefined;
    const outcome = at.read(node);
    if (outcome.kind === "value") return outcome.value;
    this.#fault([...at.path, at.word], outcome.reason);
    return undefined;
  }

  #checkWords(
    map: YamlMap,
    at: { readonly path: ConfigPath; readonly place: Place },
  ): void {
    const allowed = allowedWords(at.place);
    for (const word of map.entries.keys()) {
      if (allowed.includes(word)) continue;
      this.#fault([...at.path, word], unknownWord(word, at.place));
    }
  }

  #hasFaultAt(word: string): boolean {
    return this.#faults.some((fault) => fault.path.at(-1) === word);
  }

  #wrongType(path: ConfigPath, accepted: string): void {
    this.#fault(path, `error loading config file: expected ${accepted}`);
  }

  #warn(path: ConfigPath, reason: string): void {
    const line = this.#lineOf(path);
    this.#warnings.push({ file: this.#file.name, line, path, reason });
  }

  #fault(path: ConfigPath, reason: string): void {
    const line = this.#lineOf(path);
    this.#faults.push({ file: this.#file.name, line, path, reason });
  }
}

function isNull(node: YamlNode): boolean {
  return node.kind === "scalar" && node.type === "null";
}

function listText(list: YamlList): string {
  return `a list of ${list.items.length}`;
}
