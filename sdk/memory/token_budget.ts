/**
 * Shortens or leaves out recalled memories so that they fit a number of tokens.
 *
 * @module
 */

import type {
  RecallMemory,
  RecallTokenMeta,
  TruncationStrategy,
} from "./recall_types.ts";

const CHARACTERS_PER_TOKEN = 4;

/** Options of {@linkcode applyTokenBudget}. */
interface TokenBudgetOptions {
  /** The most tokens; at 0 or less no memory fits. */
  readonly maxTokens: number;
  /**
   * What to leave out.
   *
   * @default {"high-relevance-only"}
   */
  readonly strategy?: TruncationStrategy | undefined;
  /**
   * Counts the tokens of a text. A part of a text must not have more than the
   * whole.
   *
   * @default {countTokens}
   */
  readonly countTokens?: ((text: string) => number) | undefined;
}

/** The memories that fit. */
interface BudgetedMemories {
  /** The memories. */
  readonly results: readonly RecallMemory[];
  /** The number of their tokens. */
  readonly meta: RecallTokenMeta;
}

/**
 * Estimates the tokens of a text: a quarter of its characters, rounded up. Code
 * and scripts other than Latin have more tokens than estimated.
 */
export function countTokens(text: string): number {
  return Math.ceil([...text].length / CHARACTERS_PER_TOKEN);
}

/** Returns the memories, in their order, that fit the number of tokens. */
export function applyTokenBudget(
  memories: readonly RecallMemory[],
  options: TokenBudgetOptions,
): BudgetedMemories {
  const { maxTokens, countTokens: count = countTokens } = options;
  const whole = sumTokens(memories, count);
  if (whole <= maxTokens) {
    return {
      results: memories,
      meta: { tokenEstimate: whole, truncated: false },
    };
  }
  const results = choose(memories, { ...options, count });
  return {
    results,
    meta: { tokenEstimate: sumTokens(results, count), truncated: true },
  };
}

interface Choice extends TokenBudgetOptions {
  readonly count: (text: string) => number;
}

function choose(
  memories: readonly RecallMemory[],
  { strategy = "high-relevance-only", maxTokens, count }: Choice,
): readonly RecallMemory[] {
  if (strategy === "per-hit-cap") {
    const share = Math.floor(maxTokens / memories.length);
    return memories.flatMap((memory) => shorten(memory, share, count));
  }
  const kept: RecallMemory[] = [];
  let left = maxTokens;
  for (const memory of memories) {
    const tokens = count(memory.text);
    if (tokens > left) {
      if (strategy === "drop-tail") kept.push(...shorten(memory, left, count));
      break;
    }
    kept.push(memory);
    left -= tokens;
  }
  return kept;
}

/**
 * Returns the memory with as much of its text as fits; an empty list when no
 * text fits.
 */
function shorten(
  memory: RecallMemory,
  maxTokens: number,
  count: (text: string) => number,
): readonly RecallMemory[] {
  if (maxTokens <= 0) return [];
  if (count(memory.text) <= maxTokens) return [memory];
  const characters = [...memory.text];
  let fits = 0;
  let exceeds = characters.length;
  while (exceeds - fits > 1) {
    const middle = Math.floor((fits + exceeds) / 2);
    const tokens = count(characters.slice(0, middle).join(""));
    if (tokens <= maxTokens) fits = middle;
    else exceeds = middle;
  }
  return fits === 0
    ? []
    : [{ ...memory, text: characters.slice(0, fits).join("") }];
}

function sumTokens(
  memories: readonly RecallMemory[],
  count: (text: string) => number,
): number {
  return memories.reduce((sum, { text }) => sum + count(text), 0);
}
