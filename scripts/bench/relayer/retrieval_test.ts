import { assertEquals, assertStringIncludes } from "@std/assert";
import { isMet } from "../kit/bars.ts";
import {
  type ComparedSet,
  createBars,
  type RankingName,
  reportText,
} from "./retrieval.ts";
import type { MeasuredRetrieval } from "./rankings.ts";
import type { Found } from "./scores.ts";

/**
 * Results of ten questions with one answer each, given by the rank at which
 * each answer was found; 0 when it was not found.
 */
function measured(
  placesByName: Readonly<Record<string, readonly number[]>>,
  category = "1",
): MeasuredRetrieval {
  const found = Object.entries(placesByName).flatMap(([namespace, places]) =>
    places.map((place): Found => ({
      ...{ namespace, category, gold: ["gold"] },
      ranked: place === 0
        ? []
        : [...new Array<string>(place - 1).fill("other"), "gold"],
    }))
  );
  const latenciesMs = Float64Array.of(1, 2, 3);
  return { found, latenciesMs, memoriesPerSecond: 100 };
}

function createSet(
  kind: ComparedSet["kind"],
  rankings: Readonly<Partial<Record<RankingName, MeasuredRetrieval>>>,
): ComparedSet {
  const entries = Object.entries(rankings) as [
    RankingName,
    MeasuredRetrieval,
  ][];
  return {
    ...{ name: "set", kind, measured: new Map(entries) },
    namespaces: [{ name: "a", memories: [], questions: [] }],
  };
}

function verdicts(set: ComparedSet): readonly (boolean | undefined)[] {
  return createBars(set).map(isMet);
}

Deno.test("createBars() of an own set are met when words and vectors find more than BM25 everywhere", () => {
  const words = measured({ a: [1, 1, 0, 0], b: [1, 2, 3, 11] });
  const better = measured({ a: [1, 1, 1, 0], b: [1, 2, 3, 4] });
  const set = createSet("own", { words, fused: better });
  // Of eight answers seven are found, which is above .86.
  assertEquals(verdicts(set), [true, true, true, true, true]);
  assertEquals(createBars(set).map(({ value }) => value), [
    0.875,
    0.25,
    0.125,
    0.145,
    0.25,
  ]);
});

Deno.test("createBars() of an own set misses the bar of what BM25 does better", () => {
  const words = measured({ a: [1, 1, 0, 0], b: [1, 1, 1, 1] });
  const same = createSet("own", { words, fused: words });
  assertEquals(verdicts(same), [false, false, true, true, true]);
  const uneven = measured({ a: [1, 1, 10, 9], b: [2, 2, 2, 0] });
  const set = createSet("own", { words, fused: uneven });
  assertEquals(verdicts(set), [true, true, false, false, false]);
  const worst = createBars(set).at(-1);
  assertEquals([worst?.value, worst?.note], [-0.25, "b"]);
});

Deno.test("createBars() of chats are met when much more is found than by BM25, and early", () => {
  const words = measured({ a: [1, 2, 0, 0] });
  const better = measured({ a: [1, 1, 3, 0] });
  const late = measured({ a: [1, 2, 3, 4] });
  const chats = (fused: MeasuredRetrieval) =>
    verdicts(createSet("chats", { words, fused }));
  assertEquals(chats(better), [true, true, true]);
  assertEquals(chats(late), [true, false, true]);
  assertEquals(chats(words), [false, false, false]);
});

Deno.test("createBars() of changes are met when nine in ten of the newest facts come first", () => {
  const first = (count: number) =>
    Array.from({ length: 10 }, (_, at) => at < count ? 1 : 2);
  const changes = (count: number) =>
    verdicts(createSet("changes", { fused: measured({ a: first(count) }) }));
  assertEquals([changes(9), changes(8)], [[true], [false]]);
});

Deno.test("createBars() of conversations judge category 5 by itself", () => {
  const answered = measured({ a: [1, 1, 1, 1, 1, 1, 1, 1, 3, 0] });
  const five = measured({ a: [1, 1, 1, 0, 0] }, "5");
  const fused = { ...answered, found: [...answered.found, ...five.found] };
  const bars = createBars(createSet("conversations", { fused }));
  assertEquals(bars.map(({ value }) => value), [0.9, 0.833, 0.6]);
  assertEquals(bars.map(isMet), [true, true, false]);
});

Deno.test("createBars() allows random vectors to take two hundredths at most", () => {
  const places = (found: number) =>
    Array.from({ length: 100 }, (_, at) => at < found ? 1 : 0);
  const fused = measured({ a: places(90) });
  for (const [left, isGood] of [[92, true], [88, true], [87, false]] as const) {
    const random = measured({ a: places(left) });
    const last = createBars(createSet("conversations", { fused, random })).at(
      -1,
    );
    assertEquals(last && isMet(last), isGood, String(left));
  }
});

Deno.test("reportText() shows rankings beside each other by category and namespace", () => {
  const words = measured({ a: [1, 0], b: [2] });
  const fused = measured({ a: [1, 1], b: [20] });
  const report = reportText(createSet("own", { words, fused }));
  assertStringIncludes(report, "set: 1 namespaces, 0 memories, 3 questions");
  const rows = report.split("\n").map((line) => line.trim().split(/ +/));
  const findRow = (name: string) => rows.find(([first]) => first === name);
  assertEquals(findRow("a"), [
    ..."a 2 0.500 1.000 0.500 1.000 0.500 1.000 0.500 1.000".split(" "),
  ]);
  assertEquals(findRow("b"), [
    ..."b 1 0.000 0.000 1.000 0.000 1.000 0.000 0.500 0.050".split(" "),
  ]);
});
