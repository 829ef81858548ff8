/**
 * Tells how the decisions of the rules in force and of a candidate differ on a
 * descriptor, and counts the differences by the two rules and the kind of
 * difference. The number of counted pairs is bounded, whatever the rules and
 * callers are.
 *
 * @module
 */

import { CODE, type Code } from "../../../proto/rate_limit_response.ts";
import type { PlannedDescriptor } from "../decision/plan.ts";
import { formatPath, limitWords } from "../rules/snapshot.ts";

/**
 * How a candidate differs. The first two change the answer; with the others the
 * answer is the same, as long as the counters stand as they do.
 */
export type DifferenceKind =
  | "would_refuse"
  | "would_allow"
  | "other_limit"
  | "other_rule";

/** One of the two decisions on a descriptor. */
interface DecisionSide {
  /** What was planned for the descriptor: its rule and limit. */
  readonly planned: PlannedDescriptor;
  /** The code that the caller gets, or would get. */
  readonly code: Code;
}

/** Returns how the candidate differs; undefined when it does not. */
export function findDifference(
  live: DecisionSide,
  candidate: DecisionSide,
): DifferenceKind | undefined {
  if (live.code !== candidate.code) {
    return candidate.code === CODE.OVER_LIMIT ? "would_refuse" : "would_allow";
  }
  if (formatLimit(live.planned) !== formatLimit(candidate.planned)) {
    return "other_limit";
  }
  return formatRule(live.planned) === formatRule(candidate.planned)
    ? undefined
    : "other_rule";
}

/** Returns the rule's path, or words for a descriptor without a rule. */
function formatRule(planned: PlannedDescriptor): string {
  if (planned.kind === "free") return "no rule";
  return planned.rule === undefined
    ? "limit of the request"
    : formatPath(planned.rule);
}

/** Returns the limit of a descriptor in words: `10 per MINUTE`. */
function formatLimit(planned: PlannedDescriptor): string {
  switch (planned.kind) {
    case "free":
      return "no limit";
    case "unlimited":
      return "unlimited";
    case "limited":
      return [planned, ...planned.others ?? []]
        .map(({ limit }) => limitWords(limit)).join(" and ");
  }
}

/** Two rules that decide differently, and how often they did. */
export interface CountedDifference {
  /** How the candidate differs. */
  readonly kind: DifferenceKind;
  /** Path of the rule in force. */
  readonly live: string;
  /** Limit of the rule in force, in words. */
  readonly liveLimit: string;
  /** Path of the candidate's rule. */
  readonly candidate: string;
  /** Limit of the candidate's rule, in words. */
  readonly candidateLimit: string;
  /** How often they decided differently. */
  readonly count: number;
  /** When the difference was first seen, in Unix seconds. */
  readonly firstSeconds: number;
  /** When the difference was last seen, in Unix seconds. */
  readonly lastSeconds: number;
  /**
   * A descriptor of the request that showed the difference first, quoted and
   * cut.
   */
  readonly example: string;
}

type Row = { -readonly [K in keyof CountedDifference]: CountedDifference[K] };

/** Most pairs of rules that are counted one by one. */
const MAX_ROWS = 1_000;

/** Counts differences by the two rules and the kind of difference. */
export class Differences {
  readonly #rows = new Map<string, Row>();
  #others = 0;

  /** Number of differences of pairs that found no room. */
  get others(): number {
    return this.#others;
  }

  /**
   * Counts a difference; `example` is called for the first of its pair only.
   */
  add(seen: {
    readonly kind: DifferenceKind;
    readonly live: DecisionSide;
    readonly candidate: DecisionSide;
    readonly nowSeconds: number;
    readonly example: () => string;
  }): void {
    const { kind, nowSeconds } = seen;
    const live = formatRule(seen.live.planned);
    const candidate = formatRule(seen.candidate.planned);
    const liveLimit = formatLimit(seen.live.planned);
    const candidateLimit = formatLimit(seen.candidate.planned);
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

  /** Returns all counted differences, the most frequent first. */
  list(): CountedDifference[] {
    return [...this.#rows.values()].map((row) => ({ ...row }))
      .sort((left, right) => right.count - left.count);
  }

  /** Forgets all differences. */
  clear(): void {
    this.#rows.clear();
    this.#others = 0;
  }
}
