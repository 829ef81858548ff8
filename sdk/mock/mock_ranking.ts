/**
 * How the mock ranks memories by words and vectors together: by the words of the
 * question that a memory has, rare ones first, and a little by its vector. It is no
 * model of the real relayer's ranking, which knows languages and conversations.
 *
 * @module
 */

import type { MockRow } from "./mock_memory.ts";
import { beginningsOf } from "./mock_vectors.ts";

/** Where words and vector put a memory. */
export interface MockRank {
  /** How well it fits, 0 to 1. */
  readonly relevance: number;
  /** What that comes from. */
  readonly parts: Readonly<Record<"words" | "vector", number>>;
  /** Words of the question that it has. */
  readonly matched: readonly string[];
}

/** A word of the question. */
interface AskedWord {
  readonly word: string;
  readonly beginnings: readonly string[];
  /** What few memories have weighs more. */
  readonly weight: number;
}

/** What a vector of no distance is worth beside all words of the question. */
const VECTOR_WEIGHT = 0.3;
/** The share of what is possible at which relevance is .3. */
const FAIR_SHARE = 0.3;

/** Ranks memories for one question. */
export class MockRanker {
  readonly #rows: ReadonlyMap<MockRow, ReadonlySet<string>>;
  readonly #asked: readonly AskedWord[];
  /** What a memory would have that says all of the question. */
  readonly #whole: number;

  /** A ranker of all memories among which a question looks. */
  constructor(question: string, rows: readonly MockRow[]) {
    this.#rows = new Map(rows.map((row) => {
      const words = beginningsOf(row.memory.text ?? "");
      return [row, new Set([...words.values()].flat())];
    }));
    const sets = [...this.#rows.values()];
    this.#asked = Array.from(beginningsOf(question), ([word, beginnings]) => {
      const count = sets.filter((has) => hasAny(has, beginnings)).length;
      const weight = Math.log(1 + (sets.length - count + 0.5) / (count + 0.5));
      return { word, beginnings, weight };
    });
    this.#whole = Math.max(1, weightOf(this.#asked));
  }

  /** The rank of one of the memories; `distance` is that of its vector. */
  rankOf(row: MockRow, distance: number): MockRank {
    const has = this.#rows.get(row) ?? new Set<string>();
    const found = this.#asked.filter(({ beginnings }) =>
      hasAny(has, beginnings)
    );
    const words = weightOf(found);
    const vector = VECTOR_WEIGHT * this.#whole * Math.max(0, 1 - distance);
    const share = (words + vector) / this.#whole;
    return {
      relevance: share ** 2 / (share ** 2 + FAIR_SHARE ** 2 * 7 / 3),
      parts: { words, vector },
      matched: found.map(({ word }) => word),
    };
  }
}

function hasAny(
  has: ReadonlySet<string>,
  beginnings: readonly string[],
): boolean {
  return beginnings.some((beginning) => has.has(beginning));
}

function weightOf(words: readonly AskedWord[]): number {
  return words.reduce((sum, { weight }) => sum + weight, 0);
}
