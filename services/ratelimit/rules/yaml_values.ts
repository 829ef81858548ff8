/**
 * Values of a configuration file: scalars under the rules of YAML 1.1, which
 * is what existing files are written in (`yes` is true, `010` is eight,
 * `1_000` is a thousand), the words a file may use, and the `metadata` of a
 * rule.
 *
 * @module
 */

import {
  type JsonObject,
  type JsonValue,
  MAX_STRUCT_DEPTH,
} from "../../../proto/struct.ts";
import { nearest } from "../../shared/did_you_mean.ts";
import type { YamlNode, YamlScalar } from "./yaml_tree.ts";

/** A value, or why it can't be read. */
export type ScalarOutcome<T> =
  | { readonly kind: "value"; readonly value: T }
  | { readonly kind: "fault"; readonly reason: string };

const TRUE_WORDS = /^(?:y|Y|yes|Yes|YES|on|On|ON|true|True|TRUE)$/;
const FALSE_WORDS = /^(?:n|N|no|No|NO|off|Off|OFF|false|False|FALSE)$/;
/** Words that the parser reads as booleans, unless they are in quotes. */
const PARSED_WORDS = /^(?:true|false)$/i;
const MAX_UINT32 = 0xffff_ffff;

/**
 * Reads a text as it was written; whole numbers, booleans and dates count as
 * text.
 */
export function asText(node: YamlNode): ScalarOutcome<string> {
  if (node.kind !== "scalar") {
    return mistyped(node, "a text");
  }
  switch (node.type) {
    case "decimal":
    case "other":
      return {
        kind: "fault",
        reason: `error checking config: ${node.written} is a decimal number ` +
          "or of a type that is not taken; put it in quotes",
      };
    default:
      return { kind: "value", value: node.written };
  }
}

/** Reads true or false in the words of YAML 1.1, without quotes. */
export function asBoolean(node: YamlNode): ScalarOutcome<boolean> {
  if (node.kind === "scalar") {
    if (node.type === "text" && PARSED_WORDS.test(node.written)) {
      return { kind: "fault", reason: quotedReason(node, "true or false") };
    }
    if (TRUE_WORDS.test(node.written)) return { kind: "value", value: true };
    if (FALSE_WORDS.test(node.written)) return { kind: "value", value: false };
    if (node.type === "decimal") return asDecimalFault(node.written);
  }
  return mistyped(node, "true or false");
}

/** Reads a whole number of 32 bits, without a sign and without quotes. */
export function asCount(node: YamlNode): ScalarOutcome<number> {
  if (node.kind === "scalar") {
    if (node.type === "text" && /^[+\d][\d_]*$/.test(node.written)) {
      return { kind: "fault", reason: quotedReason(node, "a whole number") };
    }
    if (node.type === "decimal") return asDecimalFault(node.written);
    if (node.type === "integer") {
      const value = parseInteger(node.written) ?? node.value;
      if (typeof value === "number" && value >= 0 && value <= MAX_UINT32) {
        return { kind: "value", value };
      }
    }
  }
  return mistyped(node, `a whole number from 0 to ${MAX_UINT32}`);
}

/** True when a map key without quotes would not be text: `0.25`, `yes`, `~`. */
function isNotText(key: string): boolean {
  return /^[-+]?\.?\d/.test(key) || key === "null" || key === "~" ||
    TRUE_WORDS.test(key) || FALSE_WORDS.test(key);
}

function parseInteger(written: string): number | undefined {
  const digits = written.replaceAll("_", "");
  if (/^\+?0[0-7]+$/.test(digits)) return Number.parseInt(digits, 8);
  if (/^\+?(?:0|[1-9]\d*)$/.test(digits)) return Number(digits);
  return undefined;
}

function asDecimalFault(written: string): ScalarOutcome<never> {
  return {
    kind: "fault",
    reason: `error checking config: ${written} is not a whole number`,
  };
}

/** Returns why a scalar in quotes is refused. */
export function quotedReason(node: YamlScalar, accepted: string): string {
  return `error loading config file: "${node.written}" in quotes is a text, ` +
    `expected ${accepted}; take the quotes off`;
}

function mistyped(node: YamlNode, accepted: string): ScalarOutcome<never> {
  const got = node.kind === "scalar" ? `"${node.written}"` : `a ${node.kind}`;
  return {
    kind: "fault",
    reason: `error loading config file: got ${got}, expected ${accepted}`,
  };
}

/** A place in a file that has words of its own. */
export type Place =
  | "top"
  | "descriptor"
  | "rate_limit"
  | "rate_limits"
  | "replaces";

const LIMIT_WORDS: readonly string[] = [
  "unit",
  "window",
  "requests_per_unit",
  "algorithm",
  "burst",
  "name",
  "replaces",
];

const WORDS: Readonly<Record<Place, readonly string[]>> = {
  top: ["domain", "descriptors", "count_when_limited"],
  descriptor: [
    "key",
    "value",
    "rate_limit",
    "rate_limits",
    "descriptors",
    "shadow_mode",
    "quota_mode",
    "detailed_metric",
    "value_to_metric",
    "share_threshold",
    "metadata",
  ],
  rate_limit: [...LIMIT_WORDS, "unlimited"],
  rate_limits: [...LIMIT_WORDS, "shadow_mode"],
  replaces: ["name"],
};

const PLACES: readonly Place[] = [
  "top",
  "descriptor",
  "rate_limit",
  "rate_limits",
  "replaces",
];
const PLACE_NAMES: Readonly<Record<Place, string>> = {
  top: "the top level",
  descriptor: "an item of descriptors",
  rate_limit: "rate_limit",
  rate_limits: "an item of rate_limits",
  replaces: "an item of replaces",
};

/** Returns the words that may stand at a place. */
export function allowedWords(place: Place): readonly string[] {
  return WORDS[place];
}

/** Returns what is wrong with a word at a place, and what to write instead. */
export function unknownWord(word: string, place: Place): string {
  if (isNotText(word)) {
    return `config error, key is not of type string: ${word}`;
  }
  const home = PLACES.find((other) => WORDS[other].includes(word));
  if (home !== undefined) {
    return `config error, "${word}" does not belong into ${
      PLACE_NAMES[place]
    }; write it into ${PLACE_NAMES[home]}`;
  }
  const near = nearest(word, WORDS[place]);
  return `config error, unknown key '${word}'` +
    (near === undefined ? "" : `, did you mean '${near}'`);
}

/**
 * Levels that metadata may have: the answer that carries it adds one around it.
 */
const MAX_DEPTH = MAX_STRUCT_DEPTH - 1;

/**
 * The metadata of a node, that the node has no metadata, or why it can't be
 * used.
 */
type MetadataOutcome =
  | { readonly kind: "metadata"; readonly value: JsonObject }
  | { readonly kind: "none" }
  | { readonly kind: "fault"; readonly reason: string };

/** Reads a `metadata` node. */
export function readMetadata(node: YamlNode | undefined): MetadataOutcome {
  if (
    node === undefined || (node.kind === "scalar" && node.type === "null")
  ) return { kind: "none" };
  if (node.kind !== "map") {
    return { kind: "fault", reason: "expected a map" };
  }
  const faults: string[] = [];
  const value = toObject(node.entries, { faults, depth: 1 });
  return faults[0] === undefined
    ? { kind: "metadata", value }
    : { kind: "fault", reason: faults[0] };
}

interface StructPlace {
  readonly faults: string[];
  readonly depth: number;
}

function toObject(
  entries: ReadonlyMap<string, YamlNode>,
  place: StructPlace,
): JsonObject {
  return Object.fromEntries(
    Array.from(entries, ([key, node]) => [key, toValue(node, place)]),
  );
}

function toValue(node: YamlNode, place: StructPlace): JsonValue {
  const { faults } = place;
  const depth = place.depth + 1;
  if (node.kind !== "scalar" && depth > MAX_DEPTH) {
    faults.push(`it nests deeper than ${MAX_DEPTH} levels`);
    return null;
  }
  switch (node.kind) {
    case "map":
      return toObject(node.entries, { faults, depth });
    case "list":
      return node.items.map((item) => toValue(item, { faults, depth }));
    case "scalar": {
      const { value } = node;
      if (value === null || value === undefined) return null;
      if (typeof value === "string" || typeof value === "boolean") return value;
      if (typeof value === "number" && Number.isFinite(value)) return value;
      if (node.type === "text") return node.written;
      faults.push(`"${node.written}" is not a value of a Struct`);
      return null;
    }
  }
}
