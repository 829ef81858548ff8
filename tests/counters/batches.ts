/**
 * Makes batches for counter stores in tests, and reads their answers.
 *
 * @module
 */

import type {
  CounterAnswer,
  CounterBatch,
  CounterStore,
} from "../../services/ratelimit/counters/counter_store.ts";

/** The time of all batches, in seconds: the beginning of a day. */
export const NOW = 1_795_219_200;

/** Returns a batch with one operation, on a daily counter by default. */
export function createBatch(
  key: string,
  hits = 1,
  window: { readonly nowSeconds?: number; readonly windowSeconds?: number } =
    {},
): CounterBatch {
  const keys = new TextEncoder().encode(key);
  return {
    keys,
    nowSeconds: window.nowSeconds ?? NOW,
    operations: [{
      algorithm: "fixed_window",
      keyStart: 0,
      keyEnd: keys.length,
      hits,
      limit: 100,
      windowSeconds: window.windowSeconds ?? 86_400,
    }],
  };
}

/** Returns a batch with one hit on each of several daily counters. */
export function batchOfKeys(
  texts: readonly string[],
  extra: Partial<Pick<CounterBatch, "stopWhenOver">> & {
    readonly limit?: number;
  } = {},
): CounterBatch {
  const { limit = 100, ...rest } = extra;
  let at = 0;
  const operations = texts.map((text) => {
    const keyStart = at;
    at += new TextEncoder().encode(text).length;
    return { ...createBatch(text).operations[0]!, limit, keyStart, keyEnd: at };
  });
  const keys = new TextEncoder().encode(texts.join(""));
  return { ...rest, keys, operations, nowSeconds: NOW };
}

/** Returns the counts in an answer. */
export function readCounts(answer: CounterAnswer): readonly number[] {
  if (answer.kind !== "counted") {
    throw new Error(`Cannot read counts: ${answer.reason}`);
  }
  return answer.results.map((result) => {
    if (typeof result === "number") return result;
    throw new Error("Cannot read counts: a verdict");
  });
}

/**
 * Reads a counter repeatedly, without adding hits, until the answer is of the
 * given kind.
 *
 * @throws {Error} When no such answer is given within `boundMs`.
 */
export async function applyUntil(
  store: CounterStore,
  kind: CounterAnswer["kind"],
  boundMs = 10_000,
): Promise<CounterAnswer> {
  const endMs = Date.now() + boundMs;
  for (;;) {
    const answer = await store.apply(createBatch("until_", 0));
    if (answer.kind === kind) return answer;
    if (Date.now() > endMs) {
      throw new Error(`Cannot see "${kind}" within ${boundMs} ms`);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
