import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { IndexHit } from "./memory_index.ts";
import { candidateCount, orderHits, type Ordering } from "./recall_request.ts";

type ScoringWeights = Extract<
  Ordering,
  { readonly kind: "weighed" }
>["weights"];

const NOW_MS = 1_800_000_000_000;
const DAY_MS = 86_400_000;

Deno.test("candidateCount() widens the search for the newest only", () => {
  const recent: Ordering = { kind: "recent" };
  const counts = [1, 5, 10, 11, 50, 51, 100]
    .map((limit) => candidateCount(limit, recent));
  assertEquals(counts, [5, 25, 50, 50, 50, 51, 100]);
  assertEquals(candidateCount(10, { kind: "relevance" }), 10);
  assertEquals(candidateCount(10, weighed({ recency: 1 })), 10);
});

Deno.test("orderHits() keeps the order of distances for relevance", () => {
  const hits = [
    createHit("a", { distance: 0.1 }),
    createHit("b", { distance: 0.2 }),
  ];
  const ordered = order(hits, { kind: "relevance" }, 1);
  assertEquals(ordered, hits.slice(0, 1).map((hit) => ({ hit })));
});

Deno.test("orderHits() puts the newest first, equally new ones by distance", () => {
  const hits = [
    createHit("a", { distance: 0.1, ageDays: 3 }),
    createHit("c", { distance: 0.2, ageDays: 1 }),
    createHit("b", { distance: 0.2, ageDays: 1 }),
    createHit("d", { distance: 0.3, ageDays: 1 }),
    createHit("e", { distance: 0.4, ageDays: 2 }),
  ];
  const ordered = order(hits, { kind: "recent" }, 4);
  assertEquals(ordered.map(({ hit }) => hit.id), ["b", "c", "d", "e"]);
  assert(ordered.every((item) => !("score" in item)));
});

Deno.test("orderHits() gives no scores when only the distance counts", () => {
  const hits = [
    createHit("a", { distance: 0.1 }),
    createHit("b", { distance: 0.2 }),
  ];
  const ordered = order(hits, weighed({ semantic: 0 }), 5);
  assertEquals(ordered, hits.map((hit) => ({ hit })));
});

Deno.test("orderHits() adds up weighed terms", () => {
  const hits = [
    createHit("old", { distance: 0.2, ageDays: 60, importance: 0.9 }),
    createHit("new", { distance: 0.5, ageDays: 0, importance: 0.2 }),
  ];
  const weights = { semantic: 2, recency: 3, importance: 0.5 };
  const [first, second] = order(hits, weighed(weights), 5);
  assertEquals(first?.hit.id, "new");
  assertAlmostEquals(first?.score ?? NaN, 2 * 0.5 + 3 * 1 + 0.5 * 0.2);
  assertAlmostEquals(second?.score ?? NaN, 2 * 0.8 + 3 / 4 + 0.5 * 0.9);
});

Deno.test("orderHits() takes memories from the future as new, and unknown importance as half", () => {
  const hits = [createHit("a", { distance: 1, ageDays: -5, importance: null })];
  const [only] = order(hits, weighed({ recency: 1, importance: 1 }), 5);
  assertAlmostEquals(only?.score ?? NaN, 0 + 1 + 0.5);
});

Deno.test("orderHits() puts equal scores in the order of distances, then ids", () => {
  const hits = [
    createHit("c", { distance: 0.3 }),
    createHit("a", { distance: 0.1 }),
    createHit("b", { distance: 0.1 }),
  ];
  const ordered = order(hits, weighed({ semantic: 0, importance: 1 }), 5);
  assertEquals(ordered.map(({ hit }) => hit.id), ["a", "b", "c"]);
});

function order(hits: readonly IndexHit[], ordering: Ordering, limit: number) {
  return orderHits(hits, { ordering, limit, nowMs: NOW_MS });
}

function weighed(weights: Partial<ScoringWeights>): Ordering {
  return { kind: "weighed", weights: { ...SIMILARITY_ALONE, ...weights } };
}

function createHit(
  id: string,
  parts: {
    readonly distance: number;
    readonly ageDays?: number;
    readonly importance?: number | null;
  },
): IndexHit {
  const { distance, ageDays = 1, importance = 0.5 } = parts;
  return {
    id,
    owner: "0x01",
    namespace: "n",
    blobId: `blob-${id}`,
    sizeBytes: 0,
    createdAtMs: NOW_MS - ageDays * DAY_MS,
    importance,
    distance,
  };
}

const SIMILARITY_ALONE: ScoringWeights = {
  semantic: 1,
  recency: 0,
  recencyHalfLifeDays: 30,
  importance: 0,
};
