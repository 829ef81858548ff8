import { countRounds } from "../../../tests/support/rounds.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";
import type { EmbedOutcome } from "../embed/embedder.ts";
import type { IndexEntry } from "../vault/vault.ts";
import { EntryRenewal } from "./entry_renewal.ts";
import type { RenewalProgress } from "./renewal_report.ts";
import { OwnerLoad } from "./owner_load.ts";
import { MemoryWorld, OWNER } from "./testing/memory_world.ts";
import { VectorIndex } from "./vector_index.ts";

const OTHER = "0x0b";
const AWAY = {
  kind: "unavailable",
  reason: "away",
  isPassing: true,
} as const;
const STEPS = [
  ...["scan", "openIndex", "get", "open", "embed", "seal", "commit", "rows"],
] as const;

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

Deno.test("EntryRenewal.run() asks for as many texts at once as one call takes, and no faster than it may", async () => {
  const texts = Array.from({ length: 150 }, (_, number) => `text ${number}`);
  const world = await createWorld(texts);
  world.embedder.model = "newer";
  const { renewal, asked } = createRenewal(world, { perSecond: 32 });
  const running = run(renewal);
  await world.clock.advanceAsync(0);
  assertEquals(asked.map(({ length }) => length), [64]);
  await world.clock.advanceAsync(1_999);
  assertEquals(asked.length, 1);
  await world.clock.advanceAsync(1);
  assertEquals(asked.map(({ length }) => length), [64, 64]);
  await world.clock.advanceAsync(2_000);
  await world.clock.advanceAsync(1_000);
  assertEquals((await running).renewed, 150);
  assertEquals(asked.map(({ length }) => length), [64, 64, 22]);
});

Deno.test("EntryRenewal.run() gives an owner of few memories a turn before it is through with one of many", async () => {
  const texts = Array.from({ length: 2_500 }, (_, number) => `text ${number}`);
  const world = await createWorld(texts);
  await world.remember({ id: "x", text: "a key", owner: OTHER });
  world.embedder.model = "newer";
  world.blobs.outcomes.set("blob-m10", {
    ...{ kind: "unavailable", reason: "away" },
  });
  world.blobs.outcomes.set("blob-m999", { kind: "missing" });
  const { renewal, asked } = createRenewal(world);
  const { checked, renewed, failed, waiting } = await run(renewal);
  assertEquals([checked, renewed, failed, waiting], [2_501, 2_499, 1, 1]);
  const all = asked.flat();
  assertEquals([all.length, new Set(all).size], [2_499, 2_499]);
  const at = all.indexOf("a key");
  assert(at >= 900 && at < 1_100, `${at}`);
});

Deno.test("EntryRenewal.run() waits for an embedder that is away, longer each time or as it says", async () => {
  const world = await createWorld(["green tea"]);
  world.embedder.model = "newer";
  world.embedder.failure = AWAY;
  const { renewal, asked } = createRenewal(world);
  const running = run(renewal);
  const callsAfter = async (ms: number): Promise<number> => {
    await world.clock.advanceAsync(ms);
    // Not counting calls that only ask whether the embedder works at all.
    return asked.filter(([text]) => text !== "memory").length;
  };
  assertEquals(await callsAfter(0), 1);
  assertEquals(renewal.progress.waiting, 1);
  assertEquals([await callsAfter(1_999), await callsAfter(1)], [1, 2]);
  assertEquals([await callsAfter(3_999), await callsAfter(1)], [2, 3]);
  world.embedder.failure = { ...AWAY, retryAfterMs: 60_000 };
  assertEquals([await callsAfter(7_999), await callsAfter(1)], [3, 4]);
  world.embedder.failure = undefined;
  assertEquals([await callsAfter(59_999), await callsAfter(1)], [4, 5]);
  const { renewed, waiting } = await running;
  assertEquals([renewed, waiting], [1, 0]);
});

Deno.test("EntryRenewal.run() leaves texts that the embedder refuses, even one that is alone", async () => {
  const world = await createWorld(["green tea", "poison", "a key"]);
  await world.remember({ id: "alone", text: "poison", owner: OTHER });
  world.embedder.model = "newer";
  const { renewal } = createRenewal(world, {
    refuses: (texts) => texts.some((text) => text === "poison"),
  });
  const { renewed, failed, waiting } = await run(renewal);
  assertEquals([renewed, failed, waiting], [2, 2, 0]);
});

Deno.test("EntryRenewal.run() waits where the embedder takes nothing, since its settings are to blame", async () => {
  const world = await createWorld(["green tea", "a key"]);
  world.embedder.model = "newer";
  let isBroken = true;
  const { renewal } = createRenewal(world, { refuses: () => isBroken });
  const running = run(renewal);
  await world.clock.advanceAsync(1_000_000);
  const { renewed, failed, waiting } = renewal.progress;
  assertEquals([renewed, failed, waiting], [0, 0, 2]);
  isBroken = false;
  await world.clock.advanceAsync(300_000);
  assertEquals((await running).renewed, 2);
});

Deno.test("EntryRenewal.run() asks a slow embedder for fewer texts, and goes on without one that is always late", async () => {
  const texts = Array.from({ length: 32 }, (_, number) => `text ${number}`);
  const world = await createWorld([...texts, "endless"]);
  world.embedder.model = "newer";
  const { renewal, asked } = createRenewal(world);
  const late = {
    kind: "unavailable",
    reason: "late",
    isPassing: true,
  } as const;
  world.embedder.onEmbed = () => {
    const last = asked.at(-1) ?? [];
    const isLate = last.length > 10 || last.includes("endless");
    world.embedder.failure = isLate ? late : undefined;
  };
  const running = run(renewal);
  await world.clock.advanceAsync(120_000);
  const { renewed, failed, waiting } = await running;
  assertEquals([renewed, failed, waiting], [32, 0, 1]);
  const most = asked.map(({ length }) => length);
  assertEquals(most.slice(0, 4), [33, 17, 9, 9]);
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

Deno.test("EntryRenewal.run() goes on after an end in the middle, and asks for no text twice", async () => {
  const texts = Array.from({ length: 200 }, (_, number) => `text ${number}`);
  const world = await createWorld(texts);
  world.embedder.model = "newer";
  const first = createRenewal(world);
  const ending = new AbortController();
  world.store.afterCommit = () => ending.abort(new Error("the end"));
  await assertRejects(
    () => run(first.renewal, ending.signal),
    Error,
    "the end",
  );
  const done = first.renewal.progress.renewed;
  world.store.afterCommit = () => {};
  const second = createRenewal(world);
  const { renewed } = await run(second.renewal);
  const asked = [...first.asked, ...second.asked].flat();
  assertEquals(asked.length, 200);
  assertEquals(new Set(asked), new Set(texts));
  assertEquals([done, renewed], [64, 136]);
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

Deno.test("EntryRenewal.run() fails when the storage does", async () => {
  const world = await createWorld(["green tea"]);
  world.embedder.model = "newer";
  world.store.beforeCommit = () => {
    throw new StoreFailedError("the disk is full");
  };
  await assertRejects(
    () => run(createRenewal(world).renewal),
    StoreFailedError,
  );
});

Deno.test("EntryRenewal.start() reads no owner again who was read and has nothing due", async () => {
  const world = await createWorld(["green tea"]);
  await world.remember({ id: "x", text: "a key", owner: OTHER });
  const { renewal } = createRenewal(world);
  renewal.noteRead(OTHER, { memories: 1, due: 0 });
  renewal.noteRead(OWNER, { memories: 1, due: 1 });
  const scanned: (string | undefined)[] = [];
  const scan = world.store.scanMemories.bind(world.store);
  world.store.scanMemories = (query) => {
    scanned.push(query.owner);
    return scan(query);
  };
  renewal.start(Promise.resolve());
  await world.clock.advanceAsync(0);
  assertEquals(scanned, [OWNER]);
  const { checked, unchecked } = renewal.progress;
  assertEquals([checked, unchecked], [2, 0]);
  // Nothing was renewed, so nothing is logged.
  assertEquals(world.logger.lines.length, 0);
  await renewal.stop();
});

Deno.test("EntryRenewal.start() waits for the owner where it takes a session, and for nothing else", async () => {
  for (const why of ["session_required", "refused"] as const) {
    const world = await createWorld(["green tea", "black tea"]);
    world.embedder.model = "newer";
    world.vault.failures.set("m0", why);
    const opened: string[] = [];
    world.vault.beforeOpen = (id) => void opened.push(id);
    const { renewal } = createRenewal(world);
    renewal.start(Promise.resolve());
    await world.clock.advanceAsync(3_600_000);
    assertEquals([opened, renewal.progress.waiting], [["m0"], 2]);
    world.vault.failures.clear();
    renewal.noteRecall(OWNER);
    await world.clock.advanceAsync(1_000);
    assertEquals(opened, ["m0", "m0", "m1"]);
    const { renewed, waiting } = renewal.progress;
    assertEquals([renewed, waiting], [2, 0]);
    await renewal.stop();
    assertEquals(world.clock.pendingTimers, 0);
  }
});

Deno.test("EntryRenewal.start() makes words that are kept in memory alone when their owner recalls, and again when they left it", async () => {
  const world = new MemoryWorld();
  world.vault.keepsWords = false;
  await world.remember({ id: "m0", text: "green tea" });
  assertEquals((await openEntry(world, "m0")).words, undefined);
  world.index = await loaded(world);
  world.vault.failures.set("m0", "session_required");
  world.store.beforeCommit = () => {
    throw new StoreFailedError("nothing is to be written");
  };
  const matched = async (): Promise<readonly string[] | undefined> => {
    const [hit] = await world.index.search({
      ...{ owner: OWNER, namespace: "n", limit: 1, vector: undefined },
      fused: { text: "tea", explain: true, vectorWeight: 0 },
    }, { pausing: NEVER_PAUSING });
    return hit?.fused?.explanation?.matched;
  };
  const { renewal } = createRenewal(world);
  const alone = createRenewal(world, { isAlone: true });
  assertEquals((await run(alone.renewal)).waiting, 0);
  renewal.start(Promise.resolve());
  await world.clock.advanceAsync(3_600_000);
  assertEquals([await matched(), renewal.progress.waiting], [undefined, 1]);
  world.vault.failures.clear();
  for (let round = 0; round < 2; round++) {
    renewal.noteRecall(OWNER);
    await world.clock.advanceAsync(1_000);
    assertEquals([await matched(), renewal.progress.waiting], [["tea"], 0]);
    // As when the owner is evicted and loaded again.
    const row = world.store.rows.get(`${OWNER}/m0`);
    assert(row !== undefined);
    const entry = await openEntry(world, "m0");
    world.index.add({ ...row, ...entry });
    assertEquals(await matched(), undefined);
    renewal.noteRead(OWNER, { memories: 1, due: 1 });
    assertEquals(renewal.progress.waiting, 1);
  }
  await renewal.stop();
  assertEquals(world.logger.lines.filter(({ level }) => level === "error"), []);
});

Deno.test("EntryRenewal.start() hears of a recall of the owner that is at hand", async () => {
  const world = await createWorld(["green tea", "black tea"]);
  world.embedder.model = "newer";
  world.vault.failures.set("m0", "session_required");
  const { renewal } = createRenewal(world);
  world.vault.beforeOpen = () => renewal.noteRecall(OWNER);
  renewal.start(Promise.resolve());
  await world.clock.advanceAsync(0);
  world.vault.beforeOpen = () => {};
  assertEquals(renewal.progress.waiting, 2);
  world.vault.failures.clear();
  await world.clock.advanceAsync(1_000);
  const { checked, renewed, waiting } = renewal.progress;
  assertEquals([checked, renewed, waiting], [2, 2, 0]);
  await renewal.stop();
});

Deno.test("EntryRenewal.start() tries again each minute what had to wait, and when its owner recalls", async () => {
  const world = await createWorld(["green tea", "black tea"]);
  await world.remember({ id: "x", text: "a key", owner: OTHER });
  world.embedder.model = "newer";
  world.vault.failures.set("m0", "key_servers_away");
  const opened: string[] = [];
  world.vault.beforeOpen = (id) => void opened.push(id);
  const { renewal } = createRenewal(world);
  renewal.start(Promise.resolve());
  await world.clock.advanceAsync(0);
  const { renewed, waiting } = renewal.progress;
  assertEquals([renewed, waiting], [1, 2]);
  assertEquals(opened, ["m0", "x"]);
  await world.clock.advanceAsync(60_000);
  // One of them is enough to see that the key cannot be had.
  assertEquals(opened, ["m0", "x", "m0"]);
  renewal.noteRecall(OWNER);
  await world.clock.advanceAsync(999);
  assertEquals(opened.length, 3);
  await world.clock.advanceAsync(1);
  assertEquals(opened.length, 4);
  await world.clock.advanceAsync(5_000);
  world.vault.failures.clear();
  renewal.noteRecall(OTHER);
  await world.clock.advanceAsync(0);
  assertEquals(opened.length, 4);
  renewal.noteRecall(OWNER);
  await world.clock.advanceAsync(0);
  assertEquals([renewal.progress.renewed, renewal.progress.waiting], [3, 0]);
  const told = world.logger.lines.map(({ message, fields }) => ({
    message,
    waiting: fields?.["waiting"],
  }));
  const message = "Renewed entries of the index";
  assertEquals(told, [{ message, waiting: 2 }, { message, waiting: 0 }]);
  await renewal.stop();
});

Deno.test("EntryRenewal.start() lets an owner who recalls all the time keep no other waiting", async () => {
  const world = await createWorld(["green tea"]);
  await world.remember({ id: "x", text: "a key", owner: OTHER });
  world.embedder.model = "newer";
  world.vault.failures.set("m0", "session_required");
  world.blobs.outcomes.set("blob-x", {
    ...{ kind: "unavailable", reason: "away" },
  });
  const { renewal } = createRenewal(world);
  const asked: string[] = [];
  world.blobs.onGet = (blobId) => void asked.push(blobId);
  renewal.start(Promise.resolve());
  for (let second = 0; second < 180; second++) {
    await world.clock.advanceAsync(1_000);
    renewal.noteRecall(OWNER);
  }
  assertEquals(asked.filter((blobId) => blobId === "blob-x").length, 4);
  const { length } = asked.filter((blobId) => blobId === "blob-m0");
  assert(length > 100 && length <= 182, `${length}`);
  await renewal.stop();
});

Deno.test("EntryRenewal.start() goes on when the storage works again, and tells of it once", async () => {
  const world = await createWorld(["green tea"]);
  world.embedder.model = "newer";
  world.store.beforeCommit = () => {
    throw new StoreFailedError("the disk is full");
  };
  const { renewal } = createRenewal(world);
  renewal.start(Promise.resolve());
  await world.clock.advanceAsync(130_000);
  assertEquals(world.logger.lines.length, 1);
  world.store.beforeCommit = () => {};
  await world.clock.advanceAsync(60_000);
  assertEquals(renewal.progress, {
    ...{ checked: 1, unchecked: 0, renewed: 1, failed: 0, waiting: 0 },
  });
  await renewal.stop();
});

Deno.test("EntryRenewal.start() counts what can never be made again once, though the storage fails meanwhile", async () => {
  const world = await createWorld(["green tea", "black tea"]);
  await world.remember({ id: "x", text: "a lock", owner: OTHER });
  world.embedder.model = "newer";
  world.blobs.outcomes.set("blob-m0", { kind: "missing" });
  let failures = 0;
  const scan = world.store.scanMemories.bind(world.store);
  world.store.scanMemories = (query) =>
    query.owner === OTHER && failures++ === 0
      ? Promise.reject(new StoreFailedError("the disk is full"))
      : scan(query);
  const { renewal } = createRenewal(world);
  renewal.start(Promise.resolve());
  await world.clock.advanceAsync(30_000);
  assertEquals([failures, renewal.progress.failed], [1, 1]);
  await world.clock.advanceAsync(60_000);
  assertEquals(renewal.progress, {
    ...{ checked: 3, unchecked: 0, renewed: 2, failed: 1, waiting: 0 },
  });
  await renewal.stop();
});

Deno.test("EntryRenewal.start() makes all entries again though each step fails once", async () => {
  for (const step of STEPS) {
    const world = await createWorld(["green tea", "black tea", "a key"]);
    await world.remember({ id: "x", text: "a lock", owner: OTHER });
    world.embedder.model = "newer";
    world.index = new VectorIndex(world.embedder.width);
    let failures = 0;
    const failingOnce = <Arguments extends readonly unknown[], Result>(
      name: string,
      call: (...args: Arguments) => Promise<Result>,
    ) =>
    (...args: Arguments): Promise<Result> =>
      name !== step || failures++ > 0
        ? call(...args)
        : Promise.reject(new Error(`Cannot go on: ${name} failed`));
    const { store, vault, blobs } = world;
    const renewal = new EntryRenewal({
      ...{ ...world, index: world.index, perSecond: Infinity },
      store: {
        memoryCount: () => store.memoryCount(),
        memoryOwners: (query) => store.memoryOwners(query),
        scanMemories: failingOnce("scan", store.scanMemories.bind(store)),
        memories: failingOnce("rows", store.memories.bind(store)),
        commit: failingOnce("commit", store.commit.bind(store)),
      },
      vault: {
        keepsWords: true,
        open: failingOnce("open", vault.open.bind(vault)),
        openIndex: failingOnce("openIndex", vault.openIndex.bind(vault)),
        sealIndex: failingOnce("seal", vault.sealIndex.bind(vault)),
      },
      blobs: { get: failingOnce("get", blobs.get.bind(blobs)) },
      embedder: {
        width: world.embedder.width,
        model: world.embedder.model,
        embed: failingOnce(
          "embed",
          (texts: readonly string[]) => world.embedder.embed(texts),
        ),
      },
    });
    renewal.start(Promise.resolve());
    await world.clock.advanceAsync(120_000);
    assert(failures > 0, step);
    const { unchecked, failed, waiting } = renewal.progress;
    assertEquals([unchecked, failed, waiting], [0, 0, 0], step);
    for (const { owner, id } of world.store.rows.values()) {
      const { model } = await openEntry(world, id, owner);
      assertEquals(model, "newer", `${id} when ${step} fails`);
      // Entries that were written and not added to the index yet are found
      // after the next start.
      if (step !== "rows") assert(world.index.has(owner, id), step);
    }
    await renewal.stop();
  }
});

Deno.test("EntryRenewal.start() goes through all owners on the instance whose part it is, and on the next one after that", async () => {
  const world = await createWorld(["green tea", "black tea"]);
  const mine = { one: false, other: true };
  const one = createRenewal(world, { isMine: () => mine.one });
  const other = createRenewal(world, { isMine: () => mine.other });
  world.embedder.model = "newer";
  for (const { renewal } of [one, other]) renewal.start(Promise.resolve());
  await world.clock.advanceAsync(0);
  assertEquals([one.asked, other.asked.flat().length], [[], 2]);
  assertEquals(
    [one.renewal.progress.unchecked, other.renewal.progress.unchecked],
    [0, 0],
  );
  await world.remember({ id: "x", text: "a key", owner: OTHER });
  world.embedder.model = "newest";
  await world.clock.advanceAsync(3_600_000);
  assertEquals([one.asked, other.asked.flat().length], [[], 2]);
  [mine.one, mine.other] = [true, false];
  await world.clock.advanceAsync(61_000);
  assertEquals([one.asked.flat().length, other.asked.flat().length], [3, 2]);
  // An instance that gets the duty back looks at all memories again.
  [mine.one, mine.other] = [false, true];
  world.embedder.model = "last";
  await world.clock.advanceAsync(61_000);
  assertEquals([one.asked.flat().length, other.asked.flat().length], [3, 5]);
  for (const { renewal } of [one, other]) await renewal.stop();
});

Deno.test("EntryRenewal.start() makes what its instance noted, whosever part the rest is, and what one that is gone left", async () => {
  const world = await createWorld(["green tea"]);
  await world.remember({ id: "x1", text: "black tea" });
  const one = createRenewal(world, { isMine: () => false });
  const other = createRenewal(world, { isMine: () => true });
  for (const { renewal } of [one, other]) renewal.start(Promise.resolve());
  await world.clock.advanceAsync(0);
  world.embedder.model = "newer";
  one.renewal.noteDue({ owner: OWNER, id: "x1" });
  await world.clock.advanceAsync(1_000);
  assertEquals([one.asked, other.asked], [[["black tea"]], []]);
  other.renewal.noteGone();
  await world.clock.advanceAsync(1_000);
  assertEquals([one.asked, other.asked], [[["black tea"]], [["green tea"]]]);
  for (const { renewal } of [one, other]) await renewal.stop();
});

Deno.test("EntryRenewal.stop() ends what waits", async () => {
  const world = await createWorld(["green tea"]);
  world.embedder.model = "newer";
  world.embedder.failure = AWAY;
  const { renewal } = createRenewal(world);
  renewal.start(Promise.resolve());
  await world.clock.advanceAsync(0);
  assertEquals(renewal.progress.waiting, 1);
  await renewal.stop();
  assertEquals(world.clock.pendingTimers, 0);
});

async function loaded(world: MemoryWorld): Promise<VectorIndex> {
  const { store, vault, embedder } = world;
  const index = new VectorIndex(embedder.width);
  const wanted = { width: embedder.width, model: embedder.model };
  await new OwnerLoad(OWNER, { store, vault, index, wanted }).run({
    pausing: NEVER_PAUSING,
    signal: new AbortController().signal,
  });
  return index;
}

async function createWorld(texts: readonly string[]): Promise<MemoryWorld> {
  const world = new MemoryWorld();
  for (const [number, text] of texts.entries()) {
    await world.remember({ id: `m${number}`, text, metadata: { number } });
  }
  return world;
}

function createRenewal(
  world: MemoryWorld,
  { perSecond = Infinity, refuses = () => false, isAlone = false, isMine }: {
    readonly isMine?: () => boolean;
    readonly perSecond?: number;
    readonly refuses?: (texts: readonly string[]) => boolean;
    /** Whether there is no index, as in the command. */
    readonly isAlone?: boolean;
  } = {},
): {
  readonly renewal: EntryRenewal;
  readonly asked: (readonly string[])[];
} {
  const asked: (readonly string[])[] = [];
  const { embedder } = world;
  const renewal = new EntryRenewal({
    ...{ ...world, index: isAlone ? undefined : world.index, perSecond },
    isMine,
    embedder: {
      width: embedder.width,
      get model() {
        return embedder.model;
      },
      embed(texts, options): Promise<EmbedOutcome> {
        asked.push(texts);
        return refuses(texts)
          ? Promise.resolve({
            ...{ kind: "unavailable", reason: "refused", isPassing: false },
          })
          : embedder.embed(texts, options);
      },
    },
  });
  return { renewal, asked };
}

async function run(
  renewal: EntryRenewal,
  signal = new AbortController().signal,
): Promise<RenewalProgress> {
  return await renewal.run(signal);
}

async function openEntry(
  world: MemoryWorld,
  id: string,
  owner = OWNER,
): Promise<IndexEntry> {
  const row = world.store.rows.get(`${owner}/${id}`);
  assert(row !== undefined);
  const opened = await world.vault.openIndex(owner, row.sealedIndex);
  assert(opened.kind === "ok");
  return opened.value;
}

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
