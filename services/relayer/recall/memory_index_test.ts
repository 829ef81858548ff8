import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { loadIndex, vectorFits } from "./memory_index.ts";
import type { IndexQuery } from "./memory_index.ts";
import { MemoryWorld, OWNER } from "./testing/memory_world.ts";
import { VectorIndex } from "./vector_index.ts";
import { finish } from "../concurrency/testing/finish.ts";

type LoadedIndex = Awaited<ReturnType<typeof loadIndex>>;

type LoadIndexOptions = Parameters<typeof loadIndex>[0];

Deno.test("loadIndex() makes the index what it was", async () => {
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
    ...NONE,
    loaded: 25,
    superseded: 1,
  });
  assertEquals(await everything(world), before);
  assertEquals(world.logger.messages, ["Loaded the index"]);
});

Deno.test("loadIndex() loads whole last pages and empty stores", async () => {
  const world = new MemoryWorld();
  assertEquals(await load(world), NONE);
  for (const id of ["a", "b", "c", "d"]) await world.remember({ id, text: id });
  assertEquals(await load(world, { pageRows: 2 }), { ...NONE, loaded: 4 });
});

Deno.test("loadIndex() leaves out and tells of vectors of another width", async () => {
  const world = new MemoryWorld();
  await world.remember({ id: "a", text: "tea" });
  const index = new VectorIndex(3);
  const loaded = await load(world, { index, width: 3 });
  assertEquals(loaded, { ...NONE, otherEmbedder: 1 });
  assertEquals(index.size, 0);
  assertEquals(world.logger.messagesOf("warning").length, 1);
});

Deno.test("loadIndex() leaves out and tells once of what other embedders made", async () => {
  const world = new MemoryWorld();
  for (const id of ["a", "b", "c"]) await world.remember({ id, text: "tea" });
  const { width } = world.embedder;
  await world.reseal("a", { vector: new Float32Array(width), model: "older" });
  // A client's vectors count whatever the embedder is, if they are as wide.
  const vector = Float32Array.from({ length: width }, () => 1);
  await world.reseal("b", { vector, model: "client" });
  await world.reseal("c", { vector: vector.slice(1), model: "client" });
  const index = new VectorIndex(width);
  const loaded = await load(world, { index, pageRows: 1 });
  assertEquals(loaded, {
    ...NONE,
    loaded: 1,
    otherEmbedder: 2,
    misfitOfClients: 1,
  });
  const held = ["a", "b", "c"].filter((id) => index.has(OWNER, id));
  assertEquals(held, ["b"]);
  const warnings = world.logger.lines.filter(({ level }) =>
    level === "warning"
  );
  assertEquals(warnings.length, 1);
  assertStringIncludes(warnings[0]?.message ?? "", "restore their namespaces");
  assertEquals(warnings[0]?.fields, {
    memories: 2,
    beyondRestoring: 1,
    embedder: world.embedder.model,
    width,
  });
});

Deno.test("loadIndex() leaves out and tells of vectors that do not open", async () => {
  const world = new MemoryWorld();
  await world.remember({ id: "a", text: "tea" });
  world.vault.indexFailure = "key_gone";
  const loaded = await load(world);
  assertEquals([loaded.unreadable, loaded.loaded], [1, 0]);
  assertEquals(world.logger.messagesOf("warning").length, 1);
});

Deno.test("loadIndex() tells how far it is when it takes long", async () => {
  const world = new MemoryWorld();
  for (const id of ["a", "b", "c"]) await world.remember({ id, text: id });
  const { vault, clock } = world;
  const slow: LoadIndexOptions["vault"] = {
    openIndex: (owner, bytes) => {
      clock.advance(5_000);
      return vault.openIndex(owner, bytes);
    },
  };
  await load(world, { vault: slow, pageRows: 1 });
  assertEquals(
    world.logger.lines.map((
      { message, fields },
    ) => [message, fields["loaded"]]),
    [
      ["Loading the index", 1],
      ["Loading the index", 2],
      ["Loading the index", 3],
      ["Loaded the index", 3],
    ],
  );
});

Deno.test("loadIndex() ends when told", async () => {
  const world = new MemoryWorld();
  await world.remember({ id: "a", text: "tea" });
  await assertRejects(
    () => load(world, { signal: AbortSignal.abort() }),
    DOMException,
  );
});

const NONE: LoadedIndex = {
  loaded: 0,
  superseded: 0,
  otherEmbedder: 0,
  misfitOfClients: 0,
  unreadable: 0,
};

function load(world: MemoryWorld, options: Partial<LoadIndexOptions> = {}) {
  return loadIndex({
    ...world,
    width: world.embedder.width,
    model: world.embedder.model,
    signal: new AbortController().signal,
    ...options,
  });
}

async function everything(world: MemoryWorld) {
  const [vector] = await world.embedder.vectorsOf(["tea"]);
  if (vector === undefined) throw new TypeError("there is no vector");
  const search = (query: Pick<IndexQuery, "owner" | "namespace" | "filter">) =>
    finish(world.index.searchSteps({ ...query, vector, limit: 100 }));
  return [
    search({ owner: OWNER, namespace: "n" }),
    search({ owner: OWNER, namespace: "m" }),
    search({ owner: "0x0b", namespace: "m" }),
    search({ owner: OWNER, namespace: "m", filter: { number: 7 } }),
  ];
}

Deno.test("vectorFits() takes the embedder's vectors and clients' of its width", () => {
  const vector = Float32Array.of(1, 0);
  const wanted = { width: 2, model: "new" };
  assertEquals(vectorFits({ vector, model: "new" }, wanted), true);
  assertEquals(vectorFits({ vector, model: "old" }, wanted), false);
  assertEquals(vectorFits({ vector, model: "client" }, wanted), true);
  assertEquals(vectorFits({ vector, model: "old" }, { width: 2 }), true);
  for (const model of ["new", "client"]) {
    assertEquals(vectorFits({ vector, model }, { ...wanted, width: 3 }), false);
  }
});
