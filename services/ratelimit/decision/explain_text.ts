/**
 * Writes an explanation as text for a terminal, and as values for a program.
 *
 * @module
 */

import { CODE } from "../../../proto/rate_limit_response.ts";
import { quote } from "../../shared/quote.ts";
import type { CounterResult } from "../counters/counter_store.ts";
import { windowStartSeconds } from "../counters/fixed_window.ts";
import { formatPath, windowWords } from "../rules/snapshot.ts";
import {
  describeRule,
  type ExplainedDescriptor,
  type ExplainedLimit,
  type Explanation,
} from "./explain.ts";
import type { Prediction } from "./predict.ts";

/** What the counters of a request hold. */
export type ExplainedCounts =
  /** No store was asked. */
  | { readonly kind: "not_asked" }
  /** The store did not answer. */
  | { readonly kind: "unavailable"; readonly reason: string }
  | {
    readonly kind: "counted";
    /** One result for each operation of the plan. */
    readonly looks: readonly CounterResult[];
    /** The answer that the request would get now. */
    readonly prediction: Prediction;
  };

/** An explanation with what the counters hold. */
export interface WholeExplanation {
  /** Which rules apply, and why. */
  readonly explanation: Explanation;
  /** What the counters hold. */
  readonly counts: ExplainedCounts;
  /** Time of the explanation in whole Unix seconds. */
  readonly nowSeconds: number;
}

/**
 * Returns the explanation as lines for a person to read, each with a line feed
 * at its end.
 */
export function explanationText(whole: WholeExplanation): string {
  const { explanation, counts } = whole;
  const lines = [`domain ${quote(explanation.domain)}`];
  for (const [index, descriptor] of explanation.descriptors.entries()) {
    lines.push("", ...descriptorLines(descriptor, { whole, index }));
  }
  lines.push("", `answer: ${answerLine(counts)}`);
  return lines.map((line) => `${line}\n`).join("");
}

function answerLine(counts: ExplainedCounts): string {
  switch (counts.kind) {
    case "not_asked":
      return "depends on the counters, which are not asked here";
    case "unavailable":
      return `the store does not answer: ${counts.reason}`;
    case "counted": {
      const { response, isShadowed } = counts.prediction;
      return codeName(response.overallCode) +
        (isShadowed ? ", by SHADOW_MODE alone" : "");
    }
  }
}

interface Position {
  readonly whole: WholeExplanation;
  readonly index: number;
}

function descriptorLines(
  descriptor: ExplainedDescriptor,
  position: Position,
): string[] {
  const { entries, outcome, why, levels, notes, limits } = descriptor;
  const shown = entries.map(({ key, value }) => line(`${key}=${value}`));
  const fields: [name: string, text: string][] = [
    [outcome === "free" ? "no limit" : outcome, why],
  ];
  for (const limit of limits) {
    fields.push(["limit", limitText(limit)], ...counterFields(limit, position));
    fields.push(["counted as", line(limit.statistics)]);
  }
  fields.push(...answerFields(descriptor, position));
  if (limits.length === 0 && descriptor.statistics !== undefined) {
    fields.push(["counted as", line(descriptor.statistics)]);
  }
  for (const note of notes) fields.push(["note", note]);
  return [
    `descriptor ${position.index + 1}: ${shown.join(", ")}`,
    ...fields.map(([name, text]) => `  ${name.padEnd(10)} ${text}`),
    ...levels.flatMap((level, depth) => [
      `  level ${depth + 1}, ${line(level.entry)}:`,
      ...(level.candidates.length === 0 ? ["    no rule has this key"] : []),
      ...level.candidates.map(({ rule, isMatch, why }) =>
        `    ${isMatch ? "*" : "-"} ${line(rule)}: ${why}`
      ),
      ...(level.omitted === 0 ? [] : [`    - ${level.omitted} more`]),
    ]),
  ];
}

function counterFields(
  limit: ExplainedLimit,
  { whole }: Position,
): [name: string, text: string][] {
  const window = windowText(limit, whole.nowSeconds);
  const fields: [string, string][] = [
    ["counter", `${line(limit.counterKey)}${window}`],
  ];
  const look = findLook(whole, limit);
  if (look !== undefined) fields.push(["holds", holdsText(look, limit)]);
  return fields;
}

function answerFields(
  { limits, hits }: ExplainedDescriptor,
  { whole: { counts }, index }: Position,
): [name: string, text: string][] {
  if (counts.kind !== "counted" || limits.length === 0) return [];
  const status = counts.prediction.response.statuses[index]!;
  return [[
    "would be",
    `${codeName(status.code)} for ${hits} ${hits === 1 ? "hit" : "hits"}, ` +
    `${status.limitRemaining} left, reset in ` +
    `${status.durationUntilResetSeconds ?? 0} s`,
  ]];
}

/** Returns what a limit's counter holds; undefined when no store was asked. */
export function findLook(
  { counts }: Pick<WholeExplanation, "counts">,
  { operation }: ExplainedLimit,
): CounterResult | undefined {
  return counts.kind === "counted" ? counts.looks[operation] : undefined;
}

function holdsText(look: CounterResult, limit: ExplainedLimit): string {
  const near = `near the limit above ${limit.nearThreshold}`;
  if (typeof look === "number") return `${look} of ${limit.capacity}; ${near}`;
  const cached = look.isFromCache === true ? ", by the local cache" : "";
  return `${look.remaining} of ${limit.capacity} left${cached}; ${near}`;
}

function limitText(limit: ExplainedLimit): string {
  const burst = limit.burst === undefined ? "" : `, burst ${limit.burst}`;
  const label = limit.label === "" ? "" : `${line(limit.label)}: `;
  return `${label}${limit.requestsPerUnit} per ${windowWords(limit)}, ` +
    `${limit.algorithm}${burst}`;
}

function windowText(limit: ExplainedLimit, nowSeconds: number): string {
  if (limit.algorithm !== "fixed_window") return "";
  const start = windowStartSeconds(nowSeconds, limit.windowSeconds);
  return ` from ${timeText(start)} to ${timeText(start + limit.windowSeconds)}`;
}

function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}

/**
 * Returns text from a request for a line: as it is when it is harmless, else
 * quoted.
 */
function line(text: string): string {
  return /^[\x21-\x7e]{1,200}$/.test(text) ? text : quote(text);
}

function codeName(code: number): "OK" | "OVER_LIMIT" {
  return code === CODE.OVER_LIMIT ? "OVER_LIMIT" : "OK";
}

/** Returns the explanation for a program, ready for `JSON.stringify`. */
export function explanationJson(whole: WholeExplanation): unknown {
  const { explanation, counts } = whole;
  const prediction = counts.kind === "counted" ? counts.prediction : undefined;
  return {
    domain: explanation.domain,
    counters: counts.kind,
    reason: counts.kind === "unavailable" ? counts.reason : undefined,
    overallCode: prediction && codeName(prediction.response.overallCode),
    shadowed: prediction?.isShadowed,
    descriptors: explanation.descriptors.map((descriptor, index) => {
      const { limits, rule, entries, outcome, why } = descriptor;
      const status = prediction?.response.statuses[index];
      const [limit, ...others] = limits.map((one) => limitJson(one, whole));
      return {
        entries,
        outcome,
        why,
        rule: rule && {
          path: formatPath(rule),
          file: rule.file,
          line: rule.line,
          place: describeRule(rule),
          name: rule.name === "" ? undefined : rule.name,
          replaces: rule.replaces.length === 0 ? undefined : rule.replaces,
          shadowMode: rule.shadowMode,
          quotaMode: rule.quotaMode,
        },
        ...limit,
        others: others.length === 0 ? undefined : others,
        hits: descriptor.hits,
        wouldBe: status && limit && {
          code: codeName(status.code),
          limitRemaining: status.limitRemaining,
          durationUntilResetSeconds: status.durationUntilResetSeconds,
        },
        statistics: descriptor.statistics,
        levels: descriptor.levels,
        notes: descriptor.notes,
      };
    }),
  };
}

/** Returns a limit with its counter, as values of an explanation. */
function limitJson(
  limit: ExplainedLimit,
  whole: WholeExplanation,
): Readonly<Record<"limit" | "counter", unknown>> {
  const { counterKey: key, operation: _, rulePath: __, ...rest } = limit;
  const windowStart = limit.algorithm === "fixed_window"
    ? windowStartSeconds(whole.nowSeconds, limit.windowSeconds)
    : undefined;
  return {
    limit: rest,
    counter: { key, windowStart, holds: findLook(whole, limit) },
  };
}
