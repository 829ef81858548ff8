/**
 * Reads the text of a configuration file into plain values, and checks shape,
 * types and words. Combinations of values are checked when they
 * are compiled.
 *
 * @module
 */

import type { ConfigFault, DescriptorConfig, DomainConfig } from "./config.ts";
import { readPlainDomain } from "./read_plain.ts";
import { type MapPlace, RuleReader } from "./rule_reader.ts";
import { createLocator } from "./yaml_places.ts";
import { readYaml } from "./yaml_tree.ts";

/** The text of a configuration file, not yet parsed. */
export interface ConfigText {
  /** Name of the file, for messages. */
  readonly name: string;
  /** The whole text. */
  readonly text: string;
}

/** The result of reading a file: a domain only when there are no faults. */
export interface ReadDomain {
  /** The domain. */
  readonly domain: DomainConfig | undefined;
  /** All faults. */
  readonly faults: readonly ConfigFault[];
  /** Warnings about what was accepted although it looks like a mistake. */
  readonly warnings: readonly ConfigFault[];
}

// Most rules have no nested descriptors; one list serves all.
const NO_DESCRIPTORS: readonly DescriptorConfig[] = [];

/** Reads one file; collects every fault instead of stopping at the first. */
export function readDomain(file: ConfigText): ReadDomain {
  const domain = readPlainDomain(file);
  return domain === undefined
    ? readAnyDomain(file)
    : { domain, faults: [], warnings: [] };
}

/**
 * Reads a file of any kind, which takes several times as long as for a plain
 * file.
 */
export function readAnyDomain(file: ConfigText): ReadDomain {
  const { name, text } = file;
  const findLine = createLocator(text);
  const reader = new RuleReader({ name, text, findLine });
  const domain = buildDomain(file, { reader, findLine });
  const { faults, warnings } = reader;
  return { domain: faults.length === 0 ? domain : undefined, faults, warnings };
}

/** What a file is read with. */
interface Tools {
  readonly reader: RuleReader;
  readonly findLine: DomainConfig["findLine"];
}

function buildDomain(
  { name, text }: ConfigText,
  { reader, findLine }: Tools,
): DomainConfig | undefined {
  const yaml = readYaml(text);
  if (yaml.kind === "fault") {
    const reason = `error loading config file: ${yaml.fault.reason}`;
    reader.faults.push({ file: name, line: yaml.fault.line, path: [], reason });
    return undefined;
  }
  for (const { line, reason } of yaml.warnings) {
    reader.warnings.push({ file: name, line, path: [], reason });
  }
  const { root } = yaml;
  if (root.kind === "scalar" && root.type === "null") {
    reader.fault([], "config file cannot have empty domain");
    return undefined;
  }
  if (root.kind !== "map") {
    reader.wrongType([], "a map with domain and descriptors");
    return undefined;
  }
  const top: MapPlace = { map: root, path: [] };
  const descriptors = (at: MapPlace): readonly DescriptorConfig[] => {
    const items = reader.items(at, "descriptors");
    if (items.length === 0) return NO_DESCRIPTORS;
    return items.map((item) => ({
      ...reader.descriptor(item),
      descriptors: descriptors(item),
      line: findLine(item.path),
    }));
  };
  const read = reader.domain(top);
  return { name, ...read, descriptors: descriptors(top), findLine };
}
