import { countRounds } from "../../../tests/support/rounds.ts";
import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import { type MemoryWorld, OWNER } from "./testing/memory_world.ts";
import { VectorIndex } from "./vector_index.ts";
import {
  AWAY,
  createRenewal,
  createWorld,
  loaded,
  openEntry,
  run,
} from "./testing/renewal_world.ts";

Deno.test("EntryRenewal.run() makes vectors of another embedder again, of the texts", async () => {
  const world = await createWorld(["green tea", "black tea", "a key"]);
  await world.reseal("m1", {
    vector: Float32Array.of(1, 2),
    model: "client",
  });
  world.embedder.model = "newer";
  await world.remember({ id: "new", text: "by the newer one" });
  world.index = new VectorIndex(world.embedder.width);
  const { renewal, asked } = createRenewal(world);
  const progress = await run(renewal);
  assertEquals(progress, {
    ...{ checked: 4, unchecked: 0, renewed: 3, failed: 0, waiting: 0 },
  });
  // The memory with a vector of a client keeps it.
  assertEquals(asked, [["green tea", "a key"]]);
  const [green] = await world.embedder.embedTexts(["green tea"]);
  const m0 = await openEntry(world, "m0");
  assertEquals(m0.model, "newer");
  assertEquals(m0.vector, green);
  assertEquals(m0.words?.terms.has("tea"), true);
  assertEquals(m0.metadata, { number: 0 });
  const m1 = await openEntry(world, "m1");
  assertEquals([m1.model, [...m1.vector]], ["client", [1, 2]]);
  assertEquals(m1.words?.terms.has("tea"), true);
  const { memories } = await found(world, "green tea");
  assertEquals(memories?.map(({ id }) => id), ["m0", "m2"]);
  const again = createRenewal(world);
  assertEquals((await run(again.renewal)).renewed, 0);
  assertEquals(again.asked, []);
});

Deno.test("EntryRenewal.run() makes words again without the embedder where the vector fits", async () => {
  const world = await createWorld(["green tea"]);
  const entry = await openEntry(world, "m0");
  const { vector, model } = entry;
  await world.reseal("m0", { vector, model });
  assertEquals((await openEntry(world, "m0")).words, undefined);
  const { renewal, asked } = createRenewal(world);
  assertEquals((await run(renewal)).renewed, 1);
  assertEquals(asked, []);
  const renewed = await openEntry(world, "m0");
  assertEquals(renewed.words?.terms.get("tea"), 1);
  assertEquals([renewed.model, renewed.vector], [entry.model, entry.vector]);
});

Deno.test("EntryRenewal.run() writes words, once, while the embedder is away, and where it refuses the text", async () => {
  const world = await createWorld(["green tea", "poisoned tea"]);
  const older = world.embedder.model;
  for (const id of ["m0", "m1"]) {
    const { vector, model } = await openEntry(world, id);
    await world.reseal(id, { vector, model });
  }
  world.embedder.model = "newer";
  world.index = new VectorIndex(world.embedder.width);
  world.embedder.failure = AWAY;
  let commits = 0;
  world.store.afterCommit = () => commits++;
  const { renewal } = createRenewal(world, {
    refuses: (texts) =>
      world.embedder.failure === undefined && texts.includes("poisoned tea"),
  });
  const running = run(renewal);
  await world.clock.advanceAsync(30_000);
  const { renewed, waiting } = renewal.progress;
  assertEquals([renewed, waiting, commits], [0, 2, 1]);
  for (const id of ["m0", "m1"]) {
    const { words, model } = await openEntry(world, id);
    assertEquals([words?.terms.get("tea"), model], [1, older]);
  }
  assertEquals(await idsByWords(world, "tea"), ["m0", "m1"]);
  world.embedder.failure = undefined;
  await world.clock.advanceAsync(600_000);
  const end = await running;
  assertEquals([end.renewed, end.failed, end.waiting], [1, 1, 0]);
  assertEquals(commits, 2);
  assertEquals((await openEntry(world, "m0")).model, "newer");
  assertEquals(await idsByWords(world, "tea"), ["m0", "m1"]);
});

Deno.test("EntryRenewal.run() reads one blob of an owner whose key cannot be had", async () => {
  const texts = Array.from({ length: 300 }, (_, number) => `text ${number}`);
  const world = await createWorld(texts);
  world.embedder.model = "newer";
  for (const at of texts.keys()) {
    world.vault.failures.set(`m${at}`, "session_required");
  }
  const read: string[] = [];
  world.blobs.onGet = (blobId) => void read.push(blobId);
  const { renewal } = createRenewal(world);
  const { checked, waiting } = await run(renewal);
  assertEquals([checked, waiting, read], [300, 300, ["blob-m0"]]);
});

Deno.test("EntryRenewal.run() leaves alone what only the client reads, and what was replaced", async () => {
  const world = await createWorld(["green tea", "black tea"]);
  await world.remember({ id: "last", text: "no tea", supersedes: "m1" });
  const row = world.store.rows.get(`${OWNER}/m0`);
  assert(row !== undefined);
  world.store.rows.set(`${OWNER}/m0`, { ...row, keyId: undefined });
  world.embedder.model = "newer";
  const { renewal, asked } = createRenewal(world);
  const { checked, renewed } = await run(renewal);
  assertEquals([checked, renewed], [2, 1]);
  assertEquals(asked, [["no tea"]]);
});

Deno.test("EntryRenewal.run() counts what is lost, and what may be there another time", async () => {
  const world = await createWorld(["a", "b", "c", "d", "e"]);
  world.embedder.model = "newer";
  world.blobs.outcomes.set("blob-m0", { kind: "missing" });
  world.blobs.outcomes.set("blob-m1", {
    ...{ kind: "unavailable", reason: "away" },
  });
  world.vault.failures.set("m2", "key_gone");
  const other = world.blobs.outcomes.get("blob-m4");
  assert(other !== undefined);
  world.blobs.outcomes.set("blob-m3", other);
  const { renewal } = createRenewal(world);
  const { renewed, failed, waiting } = await run(renewal);
  assertEquals([renewed, failed, waiting], [1, 3, 1]);
});

Deno.test("EntryRenewal.run() counts nothing as lost that was deleted or replaced meanwhile", async () => {
  const world = await createWorld([
    "green tea",
    "black tea",
    "white tea",
    "a key",
  ]);
  world.embedder.model = "newer";
  world.blobs.onGet = async (blobId) => {
    if (blobId !== "blob-m0") return;
    world.blobs.onGet = () => {};
    world.blobs.outcomes.set("blob-m0", { kind: "missing" });
    world.store.rows.delete(`${OWNER}/m0`);
    await world.vault.destroy(OWNER, "key-m1");
    world.store.rows.delete(`${OWNER}/m1`);
    await world.vault.destroy(OWNER, "key-m2");
    await world.remember({ id: "new", text: "no tea", supersedes: "m2" });
    world.blobs.outcomes.set("blob-m3", { kind: "missing" });
  };
  const { renewal } = createRenewal(world);
  const { renewed, failed, waiting } = await run(renewal);
  assertEquals([renewed, failed, waiting], [0, 1, 0]);
});

Deno.test("EntryRenewal.run() gives a deleted or replaced memory no place in the index", async () => {
  const world = await createWorld(["green tea", "black tea", "a key"]);
  world.embedder.model = "newer";
  world.index = new VectorIndex(world.embedder.width);
  world.store.beforeCommit = () => {
    world.store.beforeCommit = () => {};
    world.store.rows.delete(`${OWNER}/m0`);
    const row = world.store.rows.get(`${OWNER}/m1`);
    assert(row !== undefined);
    world.store.rows.set(`${OWNER}/m1`, { ...row, supersededBy: "m2" });
  };
  await run(createRenewal(world).renewal);
  const held = ["m0", "m1", "m2"].filter((id) => world.index.has(OWNER, id));
  assertEquals(held, ["m2"]);
  assertEquals(world.store.rows.has(`${OWNER}/m0`), false);
});

Deno.test("EntryRenewal.run() leaves an index as a fresh load makes it, whatever changes meanwhile", async () => {
  for (let seed = 1; seed <= countRounds(7); seed++) {
    const random = new SeededRandom(seed);
    const world = await createWorld(
      Array.from({ length: 150 }, (_, number) => `text ${number}`),
    );
    world.embedder.model = "newer";
    world.index = await loaded(world);
    let added = 0;
    let isChanging = false;
    const change = async (): Promise<void> => {
      // A change may call the hooks that call this function.
      if (isChanging) return;
      isChanging = true;
      for (let left = random.below(8); left > 0; left--) {
        const id = `m${random.below(150)}`;
        const isThere = world.store.rows.has(`${OWNER}/${id}`);
        if (random.chance(0.5)) {
          await world.store.commit([
            { kind: "remove_memory", owner: OWNER, id },
          ]);
          world.index.remove(OWNER, id);
          continue;
        }
        const text = `new text ${added}`;
        const supersedes = isThere && random.chance(0.5) ? id : undefined;
        await world.remember({
          ...{ id: `n${added++}`, text },
          ...(supersedes === undefined ? {} : { supersedes }),
        });
      }
      isChanging = false;
    };
    world.vault.beforeOpen = change;
    world.embedder.onEmbed = change;
    await run(createRenewal(world).renewal);
    const fresh = await loaded(world);
    assertEquals(world.index.size, fresh.size, `seed ${seed}`);
    for (const { id, supersededBy } of world.store.rows.values()) {
      const isCurrent = supersededBy === undefined;
      const held = [fresh.has(OWNER, id), world.index.has(OWNER, id)];
      assertEquals(held, [isCurrent, isCurrent], `${id}, seed ${seed}`);
    }
  }
});

/** The ids of the memories that words alone find. */
async function idsByWords(
  { index }: MemoryWorld,
  text: string,
): Promise<readonly string[]> {
  const hits = await index.search({
    ...{ owner: OWNER, namespace: "n", vector: undefined, limit: 9 },
    fused: { text, explain: false, vectorWeight: 1 },
  }, { pausing: NEVER_PAUSING });
  return hits.map(({ id }) => id).toSorted();
}

async function found(world: MemoryWorld, query: string) {
  const outcome = await world.recall().recall({
    ...{ owner: OWNER, namespace: "n", query, limit: 2 },
    ordering: { kind: "relevance" },
  });
  assert(outcome.kind === "ok");
  return outcome;
}
