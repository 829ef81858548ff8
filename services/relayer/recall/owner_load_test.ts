import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import { finish } from "../concurrency/testing/finish.ts";
import type { IndexQuery } from "./memory_index.ts";
import {
  addCounts,
  type LoadCounts,
  NO_COUNTS,
  warnOfLeftOut,
} from "./load_counts.ts";
import { OwnerLoad, type OwnerLoadParts } from "./owner_load.ts";
import { MemoryWorld, OWNER } from "./testing/memory_world.ts";
import { VectorIndex } from "./vector_index.ts";

Deno.test("OwnerLoad.run() makes the owner's part of the index what it was", async () => {
  const world = new MemoryWorld();
  for (let number = 0; number < 25; number++) {
    await world.remember({
      id: `m${number}`,
      text: `tea number ${number}`,
      namespace: number % 3 === 0 ? "n" : "m",
      owner: number % 5 === 0 ? "0x0b" : OWNER,
      metadata: { number },
    });
  }
  await world.remember({ id: "new", text: "tea now", supersedes: "m3" });
  const before = await everything(world);
  world.index = new VectorIndex(world.embedder.width);
  assertEquals(await load(world, { pageRows: 7 }), {
    ...NO_COUNTS,
    loaded: 20,
    superseded: 1,
  });
  assertEquals(world.index.has("0x0b", "m0"), false);
  assertEquals(await everything(world), before);
});

Deno.test("OwnerLoad.run() loads whole last pages and owners without rows", async () => {
  const world = new MemoryWorld();
  assertEquals(await load(world), NO_COUNTS);
  for (const id of ["a", "b", "c", "d"]) await world.remember({ id, text: id });
  assertEquals(await load(world, { pageRows: 2 }), { ...NO_COUNTS, loaded: 4 });
});

Deno.test("OwnerLoad.run() keeps memories by their words alone when their vectors are of another width", async () => {
  const world = new MemoryWorld();
  await world.remember({ id: "a", text: "tea" });
  const index = new VectorIndex(3);
  const loaded = await load(world, { index, wanted: { width: 3 } });
  assertEquals(loaded, { ...NO_COUNTS, otherEmbedder: 1, due: 1 });
  assertEquals([index.size, index.has(OWNER, "a")], [1, false]);
  const asked = {
    ...{ owner: OWNER, namespace: "n", limit: 9 },
    vector: Float32Array.of(1, 0, 0),
  };
  assertEquals(finish(index.searchSteps(asked)), []);
  const text = "Where is the tea?";
  const fused = { text, explain: false, vectorWeight: 1 };
  const found = finish(index.searchSteps({ ...asked, fused }));
  assertEquals(found.map(({ id }) => id), ["a"]);
});

Deno.test("OwnerLoad.run() leaves out and counts what other embedders made", async () => {
  const world = new MemoryWorld();
  for (const id of ["a", "b", "c"]) await world.remember({ id, text: "tea" });
  const { width } = world.embedder;
  await world.reseal("a", { vector: new Float32Array(width), model: "older" });
  // A client's vectors count whatever the embedder is, if they are as wide.
  const vector = Float32Array.from({ length: width }, () => 1);
  await world.reseal("b", { vector, model: "client" });
  await world.reseal("c", { vector: vector.slice(1), model: "client" });
  const index = new VectorIndex(width);
  assertEquals(await load(world, { index, pageRows: 1 }), {
    ...NO_COUNTS,
    loaded: 1,
    otherEmbedder: 2,
    misfitOfClients: 1,
    // Sealed again without words.
    due: 3,
  });
  const held = ["a", "b", "c"].filter((id) => index.has(OWNER, id));
  assertEquals(held, ["b"]);
});

Deno.test("OwnerLoad.run() leaves out and counts what does not open or has no room", async () => {
  const world = new MemoryWorld();
  await world.remember({ id: "a", text: "tea" });
  const index = {
    add(): void {
      throw new RangeError("Cannot add a vector: the index is full");
    },
  };
  assertEquals(await load(world, { index }), { ...NO_COUNTS, full: 1 });
  world.vault.indexFailure = "key_gone";
  assertEquals(await load(world), { ...NO_COUNTS, unreadable: 1 });
});

Deno.test("OwnerLoad.run() does not undo what changes between reading a row and adding it", async () => {
  const world = new MemoryWorld();
  for (const id of ["a", "b", "c"]) await world.remember({ id, text: id });
  await world.remember({ id: "d", text: "d", namespace: "m" });
  const index = new VectorIndex(world.embedder.width);
  const change: OwnerLoadParts["vault"] = {
    openIndex(owner, bytes) {
      index.remove(OWNER, "a");
      owned.noteMemory("a");
      index.removeNamespace(OWNER, "m");
      owned.noteNamespace("m");
      return world.vault.openIndex(owner, bytes);
    },
  };
  const owned = createLoad(world, { index, vault: change });
  await run(owned);
  const held = ["a", "b", "c", "d"].filter((id) => index.has(OWNER, id));
  assertEquals(held, ["b", "c"]);
});

Deno.test("OwnerLoad.run() ends when told, and gives way between rows", async () => {
  const world = new MemoryWorld();
  for (let number = 0; number < 20; number++) {
    await world.remember({ id: `m${number + 10}`, text: "tea" });
  }
  await assertRejects(
    () => run(createLoad(world), { signal: AbortSignal.abort() }),
    DOMException,
  );
  const ending = new AbortController();
  const index = new VectorIndex(world.embedder.width);
  let pauses = 0;
  const pausing = {
    pause(): undefined {
      pauses++;
      if (pauses === 3) ending.abort(new Error("enough"));
    },
  };
  await assertRejects(
    () => run(createLoad(world, { index }), { pausing, signal: ending.signal }),
    Error,
    "enough",
  );
  assertEquals([pauses, index.size], [3, 16]);
});

Deno.test("warnOfLeftOut() tells once of each reason, and what helps", () => {
  const { logger } = new MemoryWorld();
  const wanted = { width: 3, model: "m" };
  warnOfLeftOut({ ...NO_COUNTS, loaded: 5, superseded: 2 }, { logger, wanted });
  assertEquals(logger.lines, []);
  const one = { ...NO_COUNTS, otherEmbedder: 2, misfitOfClients: 1, full: 4 };
  const counts = addCounts(one, { ...one, unreadable: 3 });
  warnOfLeftOut(counts, { logger, wanted, owner: OWNER });
  assertEquals(
    logger.lines.map(({ level, fields }) => [level, fields]),
    [
      ["warning", {
        ...{ owner: OWNER, memories: 2, embedder: "m", width: 3 },
      }],
      ["warning", { owner: OWNER, memories: 2, width: 3 }],
      ["warning", { owner: OWNER, memories: 3 }],
      ["warning", { owner: OWNER, memories: 8 }],
    ],
  );
  assertStringIncludes(logger.messages[0] ?? "", "found by words alone");
});

function createLoad(
  world: MemoryWorld,
  parts: Partial<OwnerLoadParts> = {},
): OwnerLoad {
  const { store, vault, index, embedder: { width, model } } = world;
  const wanted = { width, model };
  return new OwnerLoad(OWNER, { store, vault, index, wanted, ...parts });
}

function run(
  load: OwnerLoad,
  options: Partial<Parameters<OwnerLoad["run"]>[0]> = {},
): Promise<LoadCounts> {
  const { signal } = new AbortController();
  return load.run({ pausing: NEVER_PAUSING, signal, ...options });
}

function load(
  world: MemoryWorld,
  parts: Partial<OwnerLoadParts> = {},
): Promise<LoadCounts> {
  return run(createLoad(world, parts));
}

async function everything(world: MemoryWorld) {
  const [vector] = await world.embedder.embedTexts(["tea"]);
  if (vector === undefined) throw new TypeError("there is no vector");
  const search = (query: Pick<IndexQuery, "namespace" | "filter">) =>
    finish(
      world.index.searchSteps({ ...query, owner: OWNER, vector, limit: 100 }),
    );
  return [
    search({ namespace: "n" }),
    search({ namespace: "m" }),
    search({ namespace: "m", filter: { number: 7 } }),
  ];
}
