import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { finish } from "../concurrency/testing/finish.ts";
import {
  type FusedQuery,
  type IndexHit,
  MODEL_VECTOR_WEIGHT,
} from "./memory_index.ts";
import { memoryWordsSteps } from "./ranking/memory_words.ts";
import { VectorIndex } from "./vector_index.ts";

const WIDTH = 4;
const OWNER = "0xa";

/** An index of memories, with words for those that have a text. */
function createIndex(
  memories: readonly {
    readonly id: string;
    readonly text?: string;
    readonly vector?: readonly number[];
    readonly project?: string;
  }[],
): VectorIndex {
  const index = new VectorIndex(memories[0]?.vector?.length ?? WIDTH);
  memories.forEach(({ id, text, vector, project }, createdAtMs) =>
    index.add({
      ...{ id, owner: OWNER, namespace: "n", blobId: `b-${id}`, createdAtMs },
      sizeBytes: 1,
      importance: null,
      metadata: project === undefined ? {} : { project },
      vector: Float32Array.from(vector ?? [0, 0, 0, 1]),
      words: text === undefined ? undefined : finish(memoryWordsSteps(text)),
    })
  );
  return index;
}

interface Asked extends Partial<FusedQuery> {
  readonly vector?: readonly number[];
  readonly limit?: number;
  readonly ids?: readonly string[];
  readonly project?: string;
}

function ask(
  index: VectorIndex,
  text: string,
  asked: Asked = {},
): readonly IndexHit[] {
  const { vector = [1, 0, 0, 0], limit = 10, ids, project } = asked;
  const { explain = false, vectorWeight = 0.5 } = asked;
  return finish(index.searchSteps({
    ...{ owner: OWNER, namespace: "n", limit, ids },
    vector: Float32Array.from(vector),
    filter: project === undefined ? undefined : { project },
    fused: { text, explain, vectorWeight },
  }));
}

const MEMORIES = [
  { id: "tea", text: "Nora drinks green tea in the morning" },
  { id: "key", text: "The spare key hangs behind the flower pot" },
  { id: "near", text: "An unrelated sentence", vector: [1, 0, 0, 0] },
  { id: "blind", vector: [0.9, 0.1, 0, 0] },
  { id: "car", text: "The car needs winter tyres", project: "x" },
];

Deno.test("VectorIndex.search() ranks by words and vectors together, with both as candidates", () => {
  const index = createIndex(MEMORIES);
  const found = ask(index, "Where is the spare key?");
  assertEquals(found.length, 5);
  assertEquals(found[0]?.id, "key");
  assertEquals(
    new Set(found.slice(1, 3).map(({ id }) => id)),
    new Set(["near", "blind"]),
  );
  assertEquals(found[0]?.distance, 1);
  const words = ask(index, "Where is the spare key?", { vectorWeight: 0 });
  assertEquals(words[0]?.id, "key");
  // It tells a place, which is asked for, and has no word of the question.
  const other = words[1]?.fused?.relevance ?? 1;
  assert(other < 0.1, `${other}`);
});

Deno.test("VectorIndex.search() tells how relevant a memory is, and why", () => {
  const index = createIndex(MEMORIES);
  const [first, second] = ask(index, "Where do the spare keys hang?", {
    explain: true,
  });
  assert((first?.fused?.relevance ?? 0) > 0.6);
  assert((first?.fused?.relevance ?? 1) <= 1);
  assertEquals(first?.fused?.explanation?.matched, ["spare", "keys", "hang"]);
  const { words = 0, vector } = first?.fused?.explanation?.parts ?? {};
  assert(words > 0);
  assertEquals(vector, 0);
  assert((second?.fused?.explanation?.parts["vector"] ?? 0) > 0);
  assertEquals(second?.fused?.explanation?.matched, []);
  const [plain] = ask(index, "spare key");
  assertEquals(plain?.fused?.explanation, undefined);
});

Deno.test("VectorIndex.search() finds relevant by its vector a memory that is alone, or one of few", () => {
  const dog = { id: "dog", text: "Bello barks", vector: [0.45, 0.89, 0, 0] };
  const tea = { id: "tea", text: "Nora drinks tea", vector: [0.1, 0, 0.99, 0] };
  const bees = { id: "bees", text: "Ann keeps bees", vector: [0, 0, 0, 1] };
  for (const memories of [[dog], [dog, tea], [dog, tea, bees]]) {
    const [first, ...others] = ask(createIndex(memories), "name of my pet?", {
      vectorWeight: 1,
    });
    assertEquals(first?.id, "dog");
    assert((first?.fused?.relevance ?? 0) >= 0.3, String(memories.length));
    for (const { fused } of others) assert((fused?.relevance ?? 1) < 0.1);
  }
});

Deno.test("VectorIndex.search() goes by words where vectors say nothing, and by a vector that stands out", () => {
  const random = new SeededRandom(3);
  const direction = () =>
    Array.from({ length: 384 }, () => random.next() - 0.5);
  let lost = 0;
  for (let round = 0; round < 50; round++) {
    const others = Array.from({ length: 40 }, (_, at) => ({
      ...{ id: `other-${at}`, text: `Parcel ${at} came on a rainy day` },
      vector: direction(),
    }));
    const key = { id: "key", text: "The spare key hangs in the shed" };
    const index = createIndex([...others, { ...key, vector: direction() }]);
    const weight = { vectorWeight: MODEL_VECTOR_WEIGHT };
    const [first] = ask(index, "Is there a lamp, rake or ladder in the shed?", {
      ...{ ...weight, vector: direction() },
    });
    if (first?.id !== "key") lost++;
    // A cosine of about .75 to one of them.
    const noise = direction();
    const vector = noise.map((value, at) =>
      0.9 * value + (others[7]?.vector[at] ?? NaN)
    );
    const [said] = ask(index, "in other words", { ...weight, vector });
    assertEquals(said?.id, "other-7", `round ${round}`);
    assert((said?.fused?.relevance ?? 0) >= 0.3, `round ${round}`);
  }
  // One word of four tells little, and one of forty vectors may stand out by
  // chance.
  assert(lost <= 3, `${lost} of 50 rounds`);
});

Deno.test("VectorIndex.search() ranks by words among what is asked for alone", () => {
  const index = createIndex(MEMORIES);
  assertEquals(
    ask(index, "spare key tyres", { project: "x" }).map(({ id }) => id),
    ["car"],
  );
  assertEquals(
    ask(index, "spare key tyres", { ids: ["tea", "key"], limit: 1 })
      .map(({ id }) => id),
    ["key"],
  );
});

Deno.test("VectorIndex.search() finds by words no memory that is gone, and one that is replaced by its new words", () => {
  const index = createIndex(MEMORIES);
  index.remove(OWNER, "key");
  const ids = (text: string) =>
    ask(index, text, { vectorWeight: 0 })
      .filter(({ fused }) => (fused?.relevance ?? 0) > 0)
      .map(({ id }) => id);
  assertEquals(ids("spare key"), []);
  index.add({
    ...{ id: "tea", owner: OWNER, namespace: "n", blobId: "b" },
    ...{ createdAtMs: 9, sizeBytes: 1, importance: null, metadata: {} },
    vector: Float32Array.of(0, 0, 0, 1),
    words: finish(memoryWordsSteps("Nora drinks coffee now")),
  });
  assertEquals(ids("green tea"), []);
  assertEquals(ids("coffee"), ["tea"]);
  index.removeNamespace(OWNER, "n");
  assertEquals(ask(index, "coffee"), []);
});

Deno.test("VectorIndex.search() finds a memory without vector by its words alone", () => {
  const index = createIndex(MEMORIES);
  const size = index.size;
  const bytes = index.bytes;
  const add = (vector: Float32Array | undefined): void =>
    index.add({
      ...{ id: "old", owner: OWNER, namespace: "n", blobId: "b-old" },
      ...{ sizeBytes: 1, importance: null, createdAtMs: 9 },
      metadata: { project: "y" },
      vector,
      words: finish(memoryWordsSteps("The old boat has a leak")),
    });
  add(undefined);
  assertEquals(index.size, size + 1);
  assert(index.bytes > bytes);
  assertEquals(index.has(OWNER, "old"), false);
  const ids = (hits: readonly IndexHit[]) => hits.map(({ id }) => id);
  const [first, ...others] = ask(index, "Which boat leaks?", { explain: true });
  assertEquals(first?.id, "old");
  assertEquals(first?.distance, 1);
  assertEquals(first?.fused?.explanation?.parts["vector"], 0);
  assertEquals(others.length, size);
  const boat = "Which boat leaks?";
  assertEquals(ids(ask(index, boat, { project: "y" })), ["old"]);
  assertEquals(ids(ask(index, boat, { project: "z" })), []);
  assertEquals(ids(ask(index, boat, { ids: ["old", "tea"] })), ["old", "tea"]);
  assertEquals(ids(ask(index, "winter", { limit: 1 })), ["car"]);
  // A search by vectors alone does not find the memory.
  const near = finish(index.searchSteps({
    ...{ owner: OWNER, namespace: "n", limit: 10 },
    vector: Float32Array.of(1, 0, 0, 0),
  }));
  assertEquals(ids(near).includes("old"), false);
  // Once a vector is made for the memory, vectors find it like the others.
  add(Float32Array.of(1, 0, 0, 0));
  assertEquals([index.size, index.has(OWNER, "old")], [size + 1, true]);
  assertEquals(ask(index, boat)[0]?.distance, 0);
  add(undefined);
  index.remove(OWNER, "old");
  assertEquals(ids(ask(index, boat)).includes("old"), false);
  add(undefined);
  index.removeNamespace(OWNER, "n");
  assertEquals([index.size, index.bytes], [0, 0]);
});

Deno.test("VectorIndex.search() without a vector finds what words find", () => {
  const index = createIndex(MEMORIES);
  const asked = {
    ...{ owner: OWNER, namespace: "n", limit: 10, vector: undefined },
  };
  assertEquals(finish(index.searchSteps(asked)), []);
  const fused = {
    ...{ text: "Where is the spare key?", explain: true, vectorWeight: 1 },
  };
  const [first, ...others] = finish(index.searchSteps({ ...asked, fused }));
  assertEquals([first?.id, first?.distance, others], ["key", 1, []]);
  assertEquals(first?.fused?.explanation?.parts["vector"], 0);
  assertEquals(first?.fused?.explanation?.matched?.includes("key"), true);
});

Deno.test("VectorIndex.add() keeps nothing of a row but what it needs, with a vector and without", () => {
  const index = new VectorIndex(WIDTH);
  const read: string[] = [];
  for (const vector of [Float32Array.of(0, 0, 0, 1), undefined]) {
    const memory = {
      ...{ id: `m${index.size}`, owner: OWNER, namespace: "n", blobId: "b" },
      ...{ sizeBytes: 1, createdAtMs: 1, importance: null, metadata: {} },
      ...{ vector, words: finish(memoryWordsSteps("green tea")) },
    };
    // Rows have kilobytes that the index does not count.
    Object.defineProperty(memory, "sealedIndex", {
      enumerable: true,
      get: () => read.push(memory.id),
    });
    index.add(memory);
  }
  assertEquals(index.size, 2);
  assertEquals(read, []);
});
