import { assertAlmostEquals, assertEquals } from "@std/assert";
import { type Found, scoreOf, scoresByCategory } from "./retrieval_score.ts";

const FOUND: readonly Found[] = [
  { category: "1", gold: ["a"], ranked: ["a", "b", "c"] },
  { category: "1", gold: ["a", "d"], ranked: ["b", "a", "c"] },
  {
    category: "2",
    gold: ["z"],
    ranked: [..."bcdefghijkl"].concat(["z"]),
  },
  { category: "2", gold: ["z"], ranked: ["a", "b"] },
];

Deno.test("scoreOf() counts any and share of gold among the first, and its place", () => {
  const score = scoreOf(FOUND);
  assertEquals(score.questions, 4);
  assertEquals(score.anyAt, { 1: 0.25, 5: 0.5, 10: 0.5, 20: 0.75 });
  assertEquals(score.recallAt, { 1: 0.25, 5: 0.375, 10: 0.375, 20: 0.625 });
  assertAlmostEquals(score.meanReciprocalRank, (1 + 1 / 2 + 1 / 12) / 4);
});

Deno.test("scoreOf() of nothing is nothing", () => {
  const score = scoreOf([]);
  assertEquals([score.questions, score.meanReciprocalRank], [0, 0]);
  assertEquals(score.anyAt[10], 0);
});

Deno.test("scoresByCategory() scores each kind of question apart", () => {
  const scores = scoresByCategory(FOUND);
  assertEquals([...scores.keys()], ["1", "2"]);
  assertEquals(scores.get("1"), scoreOf(FOUND.slice(0, 2)));
  assertEquals(scores.get("2"), scoreOf(FOUND.slice(2)));
});
