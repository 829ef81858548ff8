/**
 * The differences that were seen, counted by the two rules and how they
 * differ; bounded, whatever the rules and callers are.
 *
 * @module
 */

import {
  type DecisionSide,
  type DifferenceKind,
  limitOf,
  ruleOf,
} from "../decision/compare.ts";

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
