/**
 * Scalars of a configuration file under the rules of YAML 1.1, which is what
 * existing files are written in: `yes` is true, `010` is eight, `1_000` is a
 * thousand.
 *
 * @module
 */

import type { YamlNode, YamlScalar } from "./yaml_tree.ts";

/** A value, or why there is none. */
export type ScalarOutcome<T> =
  | { readonly kind: "value"; readonly value: T }
  | { readonly kind: "fault"; readonly reason: string };

const TRUE_WORDS = /^(?:y|Y|yes|Yes|YES|on|On|ON|true|True|TRUE)$/;
const FALSE_WORDS = /^(?:n|N|no|No|NO|off|Off|OFF|false|False|FALSE)$/;
/** What the parser makes booleans of, unless it stands in quotes. */
const PARSED_WORDS = /^(?:true|false)$/i;
const MAX_UINT32 = 0xffff_ffff;

/** Text as it was written; whole numbers, booleans and dates count as text. */
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

/** True or false in the words of YAML 1.1, without quotes. */
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

/** A whole number of 32 bits without a sign and without quotes. */
export function asCount(node: YamlNode): ScalarOutcome<number> {
  if (node.kind === "scalar") {
    if (node.type === "text" && /^[+\d][\d_]*$/.test(node.written)) {
      return { kind: "fault", reason: quotedReason(node, "a whole number") };
    }
    if (node.type === "decimal") return asDecimalFault(node.written);
    if (node.type === "integer") {
      const value = integerOf(node.written) ?? node.value;
      if (typeof value === "number" && value >= 0 && value <= MAX_UINT32) {
        return { kind: "value", value };
      }
    }
  }
  return mistyped(node, `a whole number from 0 to ${MAX_UINT32}`);
}

/** True when a map key, unquoted, would not be text: `0.25`, `yes`, `~`. */
export function isNotText(key: string): boolean {
  return /^[-+]?\.?\d/.test(key) || key === "null" || key === "~" ||
    TRUE_WORDS.test(key) || FALSE_WORDS.test(key);
}

function integerOf(written: string): number | undefined {
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

/** Why a scalar in quotes is not taken. */
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
