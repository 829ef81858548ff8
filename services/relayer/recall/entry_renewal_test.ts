import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreFailedError } from "../../shared/store_failed.ts";
import { EntryRenewal } from "./entry_renewal.ts";
import { OWNER } from "./testing/memory_world.ts";
import { VectorIndex } from "./vector_index.ts";
import {
  AWAY,
  createRenewal,
  createWorld,
  openEntry,
  OTHER,
  run,
} from "./testing/renewal_world.ts";

const STEPS = [
  ...["scan", "openIndex", "get", "open", "embed", "seal", "commit", "rows"],
] as const;

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
