/**
 * Writes a descriptor's limits as the YAML that a rule file has, and finds a
 * descriptor's own text in such a file.
 *
 * @module
 */

import type { Limit, Rule, RuleLevel } from "./snapshot.ts";
import { UNIT_WORDS } from "./unit.ts";

/** Texts that YAML reads as text without quotes, whatever version it has. */
const PLAIN = /^[A-Za-z_/][\w/.*-]*$/;
const WORDS = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

/**
 * Returns a rule file with one descriptor, which has all limits of `rules`.
 *
 * @param rules The rules of one descriptor, in the order of the file.
 */
export function ruleYaml(rules: readonly Rule[]): string {
  const [first] = rules;
  if (first === undefined) throw new TypeError("Cannot write YAML: no rule");
  const lines = [`domain: ${scalar(first.domain)}`, "descriptors:"];
  for (const [depth, level] of first.levels.entries()) {
    const indent = "  ".repeat(2 * depth + 1);
    const isLast = depth === first.levels.length - 1;
    const [head = "", ...rest] = [
      ...levelLines(level),
      ...(isLast ? ruleLines(rules) : ["descriptors:"]),
    ];
    lines.push(
      `${indent}- ${head}`,
      ...rest.map((line) => `${indent}  ${line}`),
    );
  }
  return lines.map((line) => `${line}\n`).join("");
}

function levelLines(level: RuleLevel): readonly string[] {
  return [
    `key: ${scalar(level.key)}`,
    ...(level.value === "" ? [] : [`value: ${scalar(level.value)}`]),
    ...(level.valueToMetric ? ["value_to_metric: true"] : []),
    ...(level.shareThreshold ? ["share_threshold: true"] : []),
  ];
}

function ruleLines(rules: readonly Rule[]): readonly string[] {
  const first = rules[0]!;
  const isShadow = rules.every(({ shadowMode }) => shadowMode);
  const blocks = rules.map((rule) => [
    ...limitLines(rule),
    ...(rule.shadowMode && !isShadow ? ["shadow_mode: true"] : []),
  ]);
  // A rule without a label is the one by `rate_limit`.
  const hasSingle = first.label === "";
  const further = hasSingle ? blocks.slice(1) : blocks;
  return [
    ...(isShadow ? ["shadow_mode: true"] : []),
    ...(first.quotaMode ? ["quota_mode: true"] : []),
    ...(first.detailedMetric ? ["detailed_metric: true"] : []),
    ...(first.metadata === undefined
      ? []
      : [`metadata: ${JSON.stringify(first.metadata)}`]),
    ...(hasSingle ? ["rate_limit:", ...blocks[0]!.map(indented)] : []),
    ...(further.length === 0 ? [] : ["rate_limits:"]),
    ...further.flatMap(([head = "", ...rest]) => [
      `  - ${head}`,
      ...rest.map((line) => `    ${line}`),
    ]),
  ];
}

function limitLines({ limit, name, replaces }: Rule): readonly string[] {
  return [
    ...(name === "" ? [] : [`name: ${scalar(name)}`]),
    ...(limit === undefined ? ["unlimited: true"] : boundLines(limit)),
    ...(replaces.length === 0 ? [] : [
      `replaces: [${
        replaces.map((name) => `{name: ${JSON.stringify(name)}}`).join(", ")
      }]`,
    ]),
  ];
}

function boundLines(limit: Limit): readonly string[] {
  const { window, requestsPerUnit, algorithm, burst } = limit;
  const what = UNIT_WORDS.includes(window) ? "unit" : "window";
  return [
    `${what}: ${window}`,
    `requests_per_unit: ${requestsPerUnit}`,
    ...(algorithm === "fixed_window" ? [] : [`algorithm: ${algorithm}`]),
    ...(burst === undefined || burst === requestsPerUnit
      ? []
      : [`burst: ${burst}`]),
  ];
}

function indented(line: string): string {
  return `  ${line}`;
}

/** A text as YAML reads it back: JSON is YAML. */
function scalar(text: string): string {
  return PLAIN.test(text) && !WORDS.test(text) ? text : JSON.stringify(text);
}

/** Most lines of a descriptor that are shown. */
const MAX_LINES = 80;

/**
 * Returns the lines of a descriptor, with what is below it.
 *
 * @param text The file.
 * @param line The line where the descriptor begins, counted from 1.
 */
export function descriptorText(text: string, line: number): string {
  const [head = "", ...rest] = text.split("\n").slice(line - 1);
  const indent = toIndent(head);
  const end = rest.findIndex((one) =>
    one.trim() !== "" && toIndent(one) <= indent
  );
  const own = end === -1 ? rest : rest.slice(0, end);
  const lines = [head, ...own].slice(0, MAX_LINES).map((one) =>
    toIndent(one) >= indent ? one.slice(indent) : one.trimStart()
  );
  return `${lines.join("\n").trimEnd()}\n`;
}

function toIndent(line: string): number {
  return line.length - line.trimStart().length;
}

/** Returns the lines around one that has a fault, each with its number. */
export function linesAround(text: string, line: number, most = 2): string {
  const lines = text.split("\n");
  const first = Math.max(1, line - most);
  const last = Math.min(lines.length, line + most);
  const width = String(last).length;
  return lines.slice(first - 1, last).map((one, index) => {
    const number = first + index;
    const mark = number === line ? ">" : " ";
    return `${mark} ${String(number).padStart(width)} | ${one.slice(0, 200)}\n`;
  }).join("");
}
