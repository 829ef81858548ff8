/**
 * What differs between two decisions on one descriptor: that of the rules in
 * force, and that of a candidate for their place.
 *
 * @module
 */

import { CODE, type Code } from "../../../proto/rate_limit_response.ts";
import { type Limit, pathOf } from "../rules/snapshot.ts";
import type { PlannedDescriptor } from "./plan.ts";

/**
 * How a candidate differs. The first two are about the answer; the others come
 * with the same answer, as long as the counters stand as they do.
 */
export type DifferenceKind =
  | "would_refuse"
  | "would_allow"
  | "other_limit"
  | "other_rule";

/** One of two decisions on a descriptor. */
export interface DecisionSide {
  /** What was done about it. */
  readonly planned: PlannedDescriptor;
  /** The code that the caller gets, or would get. */
  readonly code: Code;
}

/** How the candidate differs; undefined when it does not. */
export function differenceOf(
  live: DecisionSide,
  candidate: DecisionSide,
): DifferenceKind | undefined {
  if (live.code !== candidate.code) {
    return candidate.code === CODE.OVER_LIMIT ? "would_refuse" : "would_allow";
  }
  if (limitOf(live.planned) !== limitOf(candidate.planned)) {
    return "other_limit";
  }
  return ruleOf(live.planned) === ruleOf(candidate.planned)
    ? undefined
    : "other_rule";
}

/** The rule's path, or what stands in its place. */
export function ruleOf(planned: PlannedDescriptor): string {
  if (planned.kind === "free") return "no rule";
  return planned.rule === undefined
    ? "limit of the request"
    : pathOf(planned.rule);
}

/** The limit in words: `10 per MINUTE`. */
export function limitOf(planned: PlannedDescriptor): string {
  switch (planned.kind) {
    case "free":
      return "no limit";
    case "unlimited":
      return "unlimited";
    case "limited":
      return limitWords(planned.limit);
  }
}

/** A limit in words; what is as usual is left out. */
function limitWords(limit: Limit): string {
  const { requestsPerUnit, unit, algorithm, burst } = limit;
  const how = algorithm === "fixed_window" ? "" : `, ${algorithm}`;
  const most = burst === undefined ? "" : `, burst ${burst}`;
  return `${requestsPerUnit} per ${unit}${how}${most}`;
}
