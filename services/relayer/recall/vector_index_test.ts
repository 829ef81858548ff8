import { assert, assertEquals, assertThrows } from "@std/assert";
import { eachRound } from "../../../tests/support/rounds.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import type { IndexedMemory, IndexHit, IndexQuery } from "./memory_index.ts";
import { memoryWordsSteps } from "./ranking/memory_words.ts";
import { VectorIndex } from "./vector_index.ts";
import { finish } from "../concurrency/testing/finish.ts";

const OWNER = "0x01";
const PLACE = { owner: OWNER, namespace: "n" };

Deno.test("VectorIndex finds what a plain search finds, whatever happens", async () => {
  await eachRound(
    { rounds: 30 },
    ({ random }) => compareWithPlainSearch(random),
  );
});

Deno.test("VectorIndex lets ids decide where similarities differ in their last bits", () => {
  compareWithPlainSearch(new SeededRandom(112));
});

/** Changes an index at random, and compares its answers with a plain search. */
function compareWithPlainSearch(random: SeededRandom): void {
  const width = random.pick([1, 7, 32, 33, 96]);
  const index = new VectorIndex(width);
  const plain = new Map<string, IndexedMemory>();
  for (let step = 0; step < 250; step++) {
    const owner = random.pick(["0x01", "0x02"]);
    const namespace = random.pick(["a", "b"]);
    const id = `m${random.below(120)}`;
    const dice = random.next();
    if (dice < 0.7) {
      const memory = createMemory(random, { owner, namespace, id, width });
      index.add(memory);
      plain.set(`${owner}/${namespace}/${id}`, memory);
    } else if (dice < 0.85) {
      index.remove(owner, id);
      for (const name of ["a", "b"]) plain.delete(`${owner}/${name}/${id}`);
    } else if (dice < 0.87) {
      index.removeNamespace(owner, namespace);
      for (const [key, memory] of plain) {
        if (memory.owner === owner && memory.namespace === namespace) {
          plain.delete(key);
        }
      }
    } else {
      const query = {
        owner,
        namespace,
        vector: createVector(random, width),
        limit: 1 + random.below(20),
        ...(random.chance(0.3) ? { filter: { even: true } } : {}),
      };
      assertEquals(
        finish(index.searchSteps(query)),
        plainSearch(plain, query),
      );
    }
    assertEquals(index.size, plain.size);
  }
}

Deno.test("VectorIndex is exact among vectors that bytes cannot tell apart", () => {
  const random = new SeededRandom(7);
  const width = 64;
  const centre = createVector(random, width);
  const index = new VectorIndex(width);
  const plain = new Map<string, IndexedMemory>();
  for (let number = 0; number < 500; number++) {
    const vector = centre.map((value) => value + random.next() * 1e-4);
    const memory = createMemory(random, {
      owner: OWNER,
      namespace: "n",
      id: `m${number}`,
      width,
      vector,
    });
    index.add(memory);
    plain.set(memory.id, memory);
  }
  for (const limit of [1, 5, 100, 499, 500, 1_000]) {
    const query = { owner: OWNER, namespace: "n", vector: centre, limit };
    assertEquals(finish(index.searchSteps(query)), plainSearch(plain, query));
  }
});

Deno.test("VectorIndex.search() takes more rows than a batch of the scan", () => {
  const random = new SeededRandom(3);
  const index = new VectorIndex(8);
  const plain = new Map<string, IndexedMemory>();
  for (let number = 0; number < 20_000; number++) {
    const memory = createMemory(random, {
      owner: OWNER,
      namespace: "n",
      id: `m${number}`,
      width: 8,
    });
    index.add(memory);
    plain.set(memory.id, memory);
  }
  for (let round = 0; round < 5; round++) {
    const vector = createVector(random, 8);
    const query = { owner: OWNER, namespace: "n", vector, limit: 10 };
    assertEquals(finish(index.searchSteps(query)), plainSearch(plain, query));
  }
});

Deno.test("VectorIndex.searchSteps() finds what is there all the time, whatever comes and goes between two steps", async () => {
  await eachRound({ rounds: 4 }, ({ random }) => {
    const index = new VectorIndex(4);
    const staying = new Set<string>();
    for (let number = 0; number < 9_000; number++) {
      const id = `m${number}`;
      index.add(createMemory(random, { ...PLACE, id, width: 4 }));
      staying.add(id);
    }
    const steps = index.searchSteps({
      ...PLACE,
      vector: createVector(random, 4),
      limit: 20_000,
    });
    let step = steps.next();
    for (let round = 0; step.done !== true; round++, step = steps.next()) {
      for (let change = 0; change < 1_000; change++) {
        const id = `m${random.below(9_000)}`;
        index.remove(OWNER, id);
        staying.delete(id);
        if (!random.chance(0.2)) continue;
        const late = `late${round}-${change}`;
        index.add(createMemory(random, { ...PLACE, id: late, width: 4 }));
      }
    }
    const found = step.value.map(({ id }) => id);
    assertEquals(new Set(found).size, found.length);
    assertEquals(staying.difference(new Set(found)).size, 0);
  });
});

Deno.test("VectorIndex.searchSteps() looks at so many memories in a step", () => {
  const index = new VectorIndex(2);
  for (let number = 0; number < 10_000; number++) {
    const vector = Float32Array.of(1, number);
    index.add(memory({ id: `m${number}`, vector }));
  }
  const steps = index.searchSteps({
    ...PLACE,
    vector: Float32Array.of(1, 1),
    limit: 5,
  });
  let looks = 0;
  while (steps.next().done !== true) looks++;
  assertEquals(looks, Math.ceil(10_000 / 2_048) - 1);
});

Deno.test("VectorIndex.search() with ids looks at no others", () => {
  const random = new SeededRandom(11);
  const index = new VectorIndex(8);
  const plain = new Map<string, IndexedMemory>();
  for (let number = 0; number < 3_000; number++) {
    const memory = createMemory(random, {
      ...PLACE,
      id: `m${number}`,
      width: 8,
    });
    index.add(memory);
    if (number % 300 === 0) plain.set(memory.id, memory);
  }
  const ids = [...plain.keys(), "unknown", "m0", "m0"];
  for (const limit of [1, 4, 100]) {
    const query = { ...PLACE, vector: createVector(random, 8), limit };
    assertEquals(
      finish(index.searchSteps({ ...query, ids })),
      plainSearch(plain, query),
    );
  }
  const vector = createVector(random, 8);
  const others = { owner: "0x02", namespace: "n", vector, limit: 5, ids };
  assertEquals(finish(index.searchSteps(others)), []);
});

Deno.test("VectorIndex.search() orders equally close memories by id", () => {
  const index = new VectorIndex(2);
  for (const id of ["c", "a", "d", "b"]) {
    index.add(memory({ id, vector: Float32Array.of(1, 0) }));
  }
  const hits = finish(index.searchSteps({
    owner: OWNER,
    namespace: "n",
    vector: Float32Array.of(3, 0),
    limit: 3,
  }));
  assertEquals(hits.map(({ id, distance }) => [id, distance]), [
    ["a", 0],
    ["b", 0],
    ["c", 0],
  ]);
});

Deno.test("VectorIndex.search() measures from 0 to 2, and 1 without a length", () => {
  const index = new VectorIndex(2);
  index.add(memory({ id: "same", vector: Float32Array.of(1, 0) }));
  index.add(memory({ id: "opposite", vector: Float32Array.of(-2, 0) }));
  index.add(memory({ id: "nothing", vector: Float32Array.of(0, 0) }));
  const search = (vector: Float32Array, limit: number) =>
    finish(index.searchSteps({ owner: OWNER, namespace: "n", vector, limit }))
      .map(({ id, distance }) => [id, distance]);
  assertEquals(search(Float32Array.of(5, 0), 10), [
    ["same", 0],
    ["nothing", 1],
    ["opposite", 2],
  ]);
  assertEquals(search(Float32Array.of(0, 0), 2), [
    ["nothing", 1],
    ["opposite", 1],
  ]);
});

Deno.test("VectorIndex.search() with a filter goes through all memories", () => {
  const index = new VectorIndex(2);
  for (let number = 0; number < 1_000; number++) {
    index.add(memory({
      id: `near${number}`,
      vector: Float32Array.of(1, number / 1e6),
      metadata: { kind: "near" },
    }));
  }
  index.add(memory({
    id: "far",
    vector: Float32Array.of(-1, 0),
    metadata: { kind: "far", year: 2026, isOld: false },
  }));
  const search = (filter: IndexedMemory["metadata"]) =>
    finish(index.searchSteps({
      owner: OWNER,
      namespace: "n",
      vector: Float32Array.of(1, 0),
      limit: 1,
      filter,
    })).map(({ id }) => id);
  assertEquals(search({ kind: "far" }), ["far"]);
  assertEquals(search({ kind: "far", year: 2026, isOld: false }), ["far"]);
  assertEquals(search({ year: "2026" }), []);
  assertEquals(search({ toString: "x" }), []);
  assertEquals(search({}), ["near0"]);
});

Deno.test("VectorIndex.search() tells nothing of other owners and namespaces", () => {
  const index = new VectorIndex(2);
  const vector = Float32Array.of(1, 0);
  index.add(memory({ id: "a", vector }));
  index.remove("0x02", "a");
  index.removeNamespace("0x02", "n");
  index.removeNamespace(OWNER, "m");
  const search = (owner: string, namespace: string) =>
    finish(index.searchSteps({ owner, namespace, vector, limit: 1 })).length;
  assertEquals(search("0x02", "n"), 0);
  assertEquals(search(OWNER, "m"), 0);
  assertEquals(search(OWNER, "n"), 1);
});

Deno.test("VectorIndex.add() leaves a memory of the same id in another namespace alone", () => {
  const index = new VectorIndex(2);
  const vector = Float32Array.of(1, 0);
  const search = (namespace: string) =>
    finish(index.searchSteps({ owner: OWNER, namespace, vector, limit: 9 }))
      .length;
  for (const namespace of ["n", "m", "m", "o"]) {
    index.add({ ...memory({ id: "a", vector }), namespace });
  }
  const counts = () => [search("n"), search("m"), search("o"), index.size];
  assertEquals(counts(), [1, 1, 1, 3]);
  assertEquals([index.has(OWNER, "a"), index.has(OWNER, "b")], [true, false]);
  assertEquals(index.has("0x02", "a"), false);
  index.removeNamespace(OWNER, "m");
  assertEquals([...counts(), index.has(OWNER, "a")], [1, 0, 1, 2, true]);
  index.remove(OWNER, "a");
  assertEquals([...counts(), index.has(OWNER, "a")], [0, 0, 0, 0, false]);
});

Deno.test("VectorIndex.dropNamespace() removes all at once, and gives room back in steps that leave what comes meanwhile alone", () => {
  const index = new VectorIndex(2);
  const vector = Float32Array.of(1, 0);
  const ids = Array.from({ length: 5_000 }, (_, number) => `m${number}`);
  for (const id of ids) index.add(memory({ id, vector }));
  index.add({ ...memory({ id: "m1", vector }), namespace: "other" });
  const held = () => ids.filter((id) => index.has(OWNER, id));
  const steps = index.dropNamespace(OWNER, "n");
  assertEquals([index.size, held()], [1, ["m1"]]);
  assertEquals(steps.next().done, false);
  // Memories are added again: of some the id was forgotten already, of others
  // not.
  const again = ids.filter((_, number) => number % 500 < 2);
  for (const id of again) index.add(memory({ id, vector }));
  finish(steps);
  assertEquals([index.size, held()], [again.length + 1, again]);
  for (const id of again) index.remove(OWNER, id);
  assertEquals([index.size, index.bytes, held()], [0, 0, []]);
});

Deno.test("VectorIndex.add() keeps a copy of the vector", () => {
  const index = new VectorIndex(2);
  const vector = Float32Array.of(1, 1);
  index.add(memory({ id: "a", vector }));
  vector.set([-1, -1]);
  const [hit] = finish(index.searchSteps({
    owner: OWNER,
    namespace: "n",
    vector: Float32Array.of(1, 1),
    limit: 1,
  }));
  assert(hit !== undefined && hit.distance < 1e-6);
});

Deno.test("VectorIndex.search() gives nothing for a limit below 1", () => {
  const index = new VectorIndex(2);
  const vector = Float32Array.of(1, 1);
  index.add(memory({ id: "a", vector }));
  for (const limit of [0, -1, NaN]) {
    const query = { owner: OWNER, namespace: "n", vector, limit };
    assertEquals(finish(index.searchSteps(query)), []);
  }
});

Deno.test("VectorIndex refuses vectors that do not fit", () => {
  const index = new VectorIndex(2);
  for (const vector of [Float32Array.of(1), Float32Array.of(1, 2, 3)]) {
    assertThrows(() => index.add(memory({ id: "a", vector })), RangeError);
    assertThrows(
      () =>
        finish(
          index.searchSteps({ owner: OWNER, namespace: "n", vector, limit: 1 }),
        ),
      RangeError,
      "the index is for 2",
    );
  }
  for (const bad of [NaN, Infinity]) {
    const vector = Float32Array.of(bad, 1);
    assertThrows(
      () => index.add(memory({ id: "a", vector })),
      RangeError,
      "not finite",
    );
  }
  assertEquals(index.size, 0);
});

Deno.test("VectorIndex refuses widths that are none", () => {
  for (const width of [0, -1, 1.5, NaN, 8_193]) {
    assertThrows(() => new VectorIndex(width), RangeError, `"${width}"`);
  }
});

Deno.test("VectorIndex.add() throws when the index is full, and keeps what it has", () => {
  const random = new SeededRandom(5);
  const width = 64;
  const index = new VectorIndex(width, { maxBytes: 524_288 });
  const dense = (id: string) => {
    const vector = Float32Array.from({ length: width }, () => random.next());
    return createMemory(random, { ...PLACE, id, vector, width });
  };
  let count = 0;
  assertThrows(
    () => {
      for (; count < 100_000; count++) index.add(dense(`m${count}`));
    },
    RangeError,
    "the index is full",
  );
  const { bytes } = index;
  const words = finish(memoryWordsSteps("Ada has two dogs"));
  assertThrows(() => index.add({ ...dense("late"), words }), RangeError);
  assertEquals([index.size, index.bytes], [count, bytes]);
  assertEquals(index.has(OWNER, "late"), false);
  // What is removed makes room for others.
  index.remove(OWNER, "m0");
  index.add(dense("late"));
  assertEquals([index.size, index.has(OWNER, "late")], [count, true]);
});

Deno.test("VectorIndex uses the places of removed memories again", () => {
  const index = new VectorIndex(4);
  const vector = Float32Array.of(1, 2, 3, 4);
  for (let round = 0; round < 5; round++) {
    for (let number = 0; number < 100; number++) {
      index.add(memory({ id: `r${round}n${number}`, vector }));
    }
    index.removeNamespace(OWNER, "n");
    assertEquals(index.size, 0);
    assertEquals(index.has(OWNER, `r${round}n0`), false);
  }
  index.add(memory({ id: "last", vector: Float32Array.of(0, 0, 0, 1) }));
  const hits = finish(
    index.searchSteps({ owner: OWNER, namespace: "n", vector, limit: 9 }),
  );
  assertEquals(hits.map(({ id }) => id), ["last"]);
});

function memory(
  parts: Pick<IndexedMemory, "id" | "vector"> & Partial<IndexedMemory>,
): IndexedMemory {
  return {
    owner: OWNER,
    namespace: "n",
    blobId: `blob-${parts.id}`,
    sizeBytes: 0,
    createdAtMs: 5,
    importance: null,
    metadata: {},
    ...parts,
  };
}

function createMemory(
  random: SeededRandom,
  options: {
    readonly owner: string;
    readonly namespace: string;
    readonly id: string;
    readonly width: number;
    readonly vector?: Float32Array;
  },
): IndexedMemory {
  const { width, vector = createVector(random, width), ...names } = options;
  return memory({
    ...names,
    vector,
    importance: random.next(),
    metadata: { even: random.chance(0.2) },
  });
}

/** Dense, sparse, with few values so that there are ties, or all zeros. */
function createVector(random: SeededRandom, width: number): Float32Array {
  const kind = random.pick(["dense", "sparse", "signs", "zero"] as const);
  const size = 10 ** (random.below(5) - 2);
  return Float32Array.from({ length: width }, () => {
    if (kind === "dense") return (random.next() - 0.5) * size;
    if (kind === "sparse") return random.chance(0.1) ? random.next() : 0;
    return kind === "signs" ? random.below(3) - 1 : 0;
  });
}

function plainSearch(
  memories: ReadonlyMap<string, IndexedMemory>,
  query: IndexQuery,
): readonly IndexHit[] {
  const length = (vector: Float32Array) =>
    Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  const hits: IndexHit[] = [];
  const asked = query.vector ?? new Float32Array();
  for (const { vector, metadata, ...rest } of memories.values()) {
    if (vector === undefined || rest.owner !== query.owner) continue;
    if (rest.namespace !== query.namespace) continue;
    if (query.filter !== undefined && metadata["even"] !== true) continue;
    let sum = 0;
    vector.forEach((value, at) => sum += value * (asked[at] ?? 0));
    const lengths = length(vector) * length(asked);
    const cosine = lengths === 0 ? 0 : sum / lengths;
    const distance = 1 - Math.max(-1, Math.min(1, cosine));
    hits.push({ ...rest, distance });
  }
  hits.sort((left, right) =>
    left.distance - right.distance || (left.id < right.id ? -1 : 1)
  );
  return hits.slice(0, query.limit);
}
