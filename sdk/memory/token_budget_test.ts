import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../tests/support/seeded_random.ts";
import type { RecallMemory, TruncationStrategy } from "./recall_types.ts";
import { applyTokenBudget, countTokens } from "./token_budget.ts";

const memories = (...texts: string[]): RecallMemory[] =>
  texts.map((text, index) => ({
    blob_id: `b${index}`,
    text,
    distance: index / 10,
  }));
const listTexts = (results: readonly RecallMemory[]) =>
  results.map(({ text }) => text);

Deno.test("countTokens() counts a quarter of the characters, rounded up", () => {
  assertEquals(countTokens(""), 0);
  assertEquals(countTokens("abcd"), 1);
  assertEquals(countTokens("abcde"), 2);
  assertEquals(countTokens("😀😀😀😀"), 1);
});

Deno.test("applyTokenBudget() leaves alone what fits", () => {
  const all = memories("aaaa", "bbbb");
  assertEquals(applyTokenBudget(all, { maxTokens: 2 }), {
    results: all,
    meta: { tokenEstimate: 2, truncated: false },
  });
});

Deno.test("applyTokenBudget() keeps whole memories from the front by default", () => {
  const all = memories("a".repeat(8), "b".repeat(12), "c");
  const { results, meta } = applyTokenBudget(all, { maxTokens: 4 });
  assertEquals(listTexts(results), ["a".repeat(8)]);
  assertEquals(meta, { tokenEstimate: 2, truncated: true });
});

Deno.test("applyTokenBudget() shortens the last one with drop-tail", () => {
  const all = memories("a".repeat(8), "b".repeat(12), "c");
  const { results, meta } = applyTokenBudget(all, {
    maxTokens: 4,
    strategy: "drop-tail",
  });
  assertEquals(listTexts(results), ["a".repeat(8), "b".repeat(8)]);
  assertEquals(meta, { tokenEstimate: 4, truncated: true });
});

Deno.test("applyTokenBudget() shortens each to an equal share with per-hit-cap", () => {
  const all = memories("a".repeat(40), "b".repeat(40), "c");
  const { results, meta } = applyTokenBudget(all, {
    maxTokens: 7,
    strategy: "per-hit-cap",
  });
  assertEquals(listTexts(results), ["a".repeat(8), "b".repeat(8), "c"]);
  assertEquals(meta, { tokenEstimate: 5, truncated: true });
});

Deno.test("applyTokenBudget() has room for nothing at 0 and below", () => {
  for (const strategy of strategies) {
    for (const maxTokens of [0, -1]) {
      assertEquals(applyTokenBudget(memories("a"), { maxTokens, strategy }), {
        results: [],
        meta: { tokenEstimate: 0, truncated: true },
      });
    }
  }
});

Deno.test("applyTokenBudget() never exceeds the budget, splits no character, keeps the order", () => {
  const random = new SeededRandom(5);
  const counters = [countTokens, (text: string) => [...text].length * 3];
  for (let round = 0; round < 300; round++) {
    const all = memories(
      ...Array.from(
        { length: random.below(6) },
        () => "é😀".repeat(random.below(20)),
      ),
    );
    const maxTokens = random.below(40);
    for (const strategy of strategies) {
      for (const count of counters) {
        const { results, meta } = applyTokenBudget(all, {
          maxTokens,
          strategy,
          countTokens: count,
        });
        assert(meta.tokenEstimate <= Math.max(0, maxTokens));
        assert(results.every(({ text }) => text.isWellFormed()));
        const ids = results.map(({ blob_id }) => blob_id);
        assertEquals(ids, ids.toSorted());
        assertEquals(
          meta.truncated,
          JSON.stringify(results) !== JSON.stringify(all),
        );
      }
    }
  }
});

const strategies: readonly TruncationStrategy[] = [
  "high-relevance-only",
  "per-hit-cap",
  "drop-tail",
];
