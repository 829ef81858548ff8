import { assertAlmostEquals, assertEquals } from "@std/assert";
import { computeScore, type Found, scoresBy } from "./scores.ts";

const FOUND: readonly Found[] = [
  { namespace: "x", category: "1", gold: ["a"], ranked: ["a", "b", "c"] },
  {
    ...{ namespace: "y", category: "1" },
    gold: ["a", "d"],
    ranked: ["b", "a", "c"],
  },
  {
    namespace: "x",
    category: "2",
    gold: ["z"],
    ranked: [..."bcdefghijkl"].concat(["z"]),
  },
  { namespace: "x", category: "2", gold: ["z"], ranked: ["a", "b"] },
];

Deno.test("computeScore() counts any and share of gold among the first, and its place", () => {
  const score = computeScore(FOUND);
  assertEquals(score.questions, 4);
  assertEquals(score.anyAt, { 1: 0.25, 5: 0.5, 10: 0.5, 20: 0.75 });
  assertEquals(score.recallAt, { 1: 0.25, 5: 0.375, 10: 0.375, 20: 0.625 });
  assertAlmostEquals(score.meanReciprocalRank, (1 + 1 / 2 + 1 / 12) / 4);
});

Deno.test("computeScore() of nothing is nothing", () => {
  const score = computeScore([]);
  assertEquals([score.questions, score.meanReciprocalRank], [0, 0]);
  assertEquals(score.anyAt[10], 0);
});

Deno.test("scoresBy() scores each kind of question, or each namespace, apart", () => {
  const byCategory = scoresBy("category", FOUND);
  assertEquals([...byCategory.keys()], ["1", "2"]);
  assertEquals(byCategory.get("1"), computeScore(FOUND.slice(0, 2)));
  assertEquals(byCategory.get("2"), computeScore(FOUND.slice(2)));
  const byNamespace = scoresBy("namespace", FOUND);
  assertEquals([...byNamespace.keys()], ["x", "y"]);
  assertEquals(byNamespace.get("y"), computeScore(FOUND.slice(1, 2)));
});
