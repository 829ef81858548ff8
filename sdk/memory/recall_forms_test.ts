import { assertEquals, assertThrows } from "@std/assert";
import { readRecallArguments, type RecallArguments } from "./recall_forms.ts";

const read = (...args: RecallArguments) => {
  const { query, limit, namespace } = readRecallArguments(args);
  return { query, limit, namespace };
};

Deno.test("readRecallArguments() reads every form", () => {
  const all = { query: "q", limit: 3, namespace: "n" };
  assertEquals(read({ query: "q", limit: 3, namespace: "n" }), all);
  assertEquals(read("q", { limit: 3, namespace: "n" }), all);
  assertEquals(read("q", 3, "n"), all);
  assertEquals(read("q", 3), { ...all, namespace: undefined });
  assertEquals(read("q", undefined, "n"), { ...all, limit: 10 });
  const plain: RecallArguments[] = [["q"], [{ query: "q" }], ["q", {}]];
  for (const args of plain) {
    assertEquals(read(...args), {
      query: "q",
      limit: 10,
      namespace: undefined,
    });
  }
});

Deno.test("readRecallArguments() prefers topK to limit", () => {
  assertEquals(read({ query: "q", limit: 3, topK: 7 }).limit, 7);
  assertEquals(read("q", { topK: 7 }).limit, 7);
});

Deno.test("readRecallArguments() refuses a namespace as the second argument", () => {
  const error = assertThrows(
    () => read("q", "notes" as never),
    TypeError,
  );
  assertEquals(
    error.message,
    "Cannot recall: the second argument is no namespace; write " +
      'recall({ query, namespace: "notes" })',
  );
});

Deno.test("readRecallArguments() refuses what would be left out in silence", () => {
  for (
    const args of [
      ["q", { limit: 1 }, "n"],
      [{ query: "q" }, 5],
      [{ query: "q" }, undefined, "n"],
      ["q", null],
      ["q", true],
      [undefined],
      [{}],
      [null],
      ["q", 3, ""],
      ["q", NaN],
      ["q", { limit: "3" }],
      ["q", { topK: Infinity }],
      ["q", { namespace: 3 }],
      ["q", { sort: "newest" }],
      ["q", { maxDistance: NaN }],
      ["q", { maxTokens: NaN }],
      ["q", { truncationStrategy: "tail" }],
      ["q", { countTokens: 4 }],
      ["q", { filter: { deep: {} } }],
      ["q", { filter: [] }],
      ["q", { ids: [] }],
      ["q", { ids: ["a b"] }],
      ["q", { ids: "m1" }],
      ["q", { scoringWeights: { recency: NaN } }],
      ["q", { scoringWeights: 1 }],
    ]
  ) {
    assertThrows(
      () => readRecallArguments(args as unknown as RecallArguments),
      TypeError,
    );
  }
});

Deno.test("readRecallArguments() takes a budget without an end as none", () => {
  const { maxTokens } = readRecallArguments([
    { query: "q", maxTokens: Infinity },
  ]);
  assertEquals(maxTokens, undefined);
});
