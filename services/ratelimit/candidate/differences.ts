/**
 * What differs between two decisions on one descriptor, that of the rules in
 * force and that of a candidate for their place; and the differences that were
 * seen, counted by the two rules and how they differ. They are bounded, whatever
 * the rules and callers are.
 *
 * @module
 */

import { CODE, type Code } from "../../../proto/rate_limit_response.ts";
import type { PlannedDescriptor } from "../decision/plan.ts";
import { type Limit, pathOf } from "../rules/snapshot.ts";

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
interface DecisionSide {
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
function ruleOf(planned: PlannedDescriptor): string {
  if (planned.kind === "free") return "no rule";
  return planned.rule === undefined
    ? "limit of the request"
    : pathOf(planned.rule);
}

/** The limit in words: `10 per MINUTE`. */
function limitOf(planned: PlannedDescriptor): string {
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

/** One pair of rules that decide differently. */
export interface CountedDifference {
  /** How the candidate differs. */
  readonly kind: DifferenceKind;
  /** Path of the rule in force. */
  readonly live: string;
  /** Its limit, in words. */
  readonly liveLimit: string;
  /** Path of the candidate's rule. */
  readonly candidate: string;
  /** Its limit, in words. */
  readonly candidateLimit: string;
  /** How often. */
  readonly count: number;
  /** When first, Unix seconds. */
  readonly firstSeconds: number;
  /** When last, Unix seconds. */
  readonly lastSeconds: number;
  /** A descriptor of a request that showed it, quoted and cut. */
  readonly example: string;
}

type Row = { -readonly [K in keyof CountedDifference]: CountedDifference[K] };

/** Most pairs that are kept apart. */
const MAX_ROWS = 1_000;

/** Counts differences. */
export class Differences {
  readonly #rows = new Map<string, Row>();
  #others = 0;

  /** Differences of pairs that found no room. */
  get others(): number {
    return this.#others;
  }

  /** Counts one; `example` is asked for the first of its pair only. */
  add(seen: {
    readonly kind: DifferenceKind;
    readonly live: DecisionSide;
    readonly candidate: DecisionSide;
    readonly nowSeconds: number;
    readonly example: () => string;
  }): void {
    const { kind, nowSeconds } = seen;
    const live = ruleOf(seen.live.planned);
    const candidate = ruleOf(seen.candidate.planned);
    const liveLimit = limitOf(seen.live.planned);
    const candidateLimit = limitOf(seen.candidate.planned);
    const key = [kind, live, liveLimit, candidate, candidateLimit].join("\n");
    const row = this.#rows.get(key);
    if (row !== undefined) {
      row.count++;
      row.lastSeconds = nowSeconds;
    } else if (this.#rows.size >= MAX_ROWS) {
      this.#others++;
    } else {
      this.#rows.set(key, {
        kind,
        live,
        liveLimit,
        candidate,
        candidateLimit,
        count: 1,
        firstSeconds: nowSeconds,
        lastSeconds: nowSeconds,
        example: seen.example(),
      });
    }
  }

  /** All of them, the most frequent first. */
  list(): CountedDifference[] {
    return [...this.#rows.values()].map((row) => ({ ...row }))
      .sort((left, right) => right.count - left.count);
  }

  /** Forgets all. */
  clear(): void {
    this.#rows.clear();
    this.#others = 0;
  }
}
