import { assert, assertEquals, assertRejects } from "@std/assert";
import { finish } from "../concurrency/testing/finish.ts";
import { withStore } from "../store/sqlite/testing/open_store.ts";
import { ALICE } from "../store/testing/sample_rows.ts";
import { memoryWordsSteps } from "./ranking/memory_words.ts";
import { FollowedWorld, VECTOR } from "./testing/followed_world.ts";

const LOOK_MS = 5_000;

Deno.test("OwnerIndex.search() asks the store for one number and no more when nothing has changed", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    await world.remember("a");
    assertEquals(await world.found(one), ["a"]);
    world.calls.length = 0;
    for (let round = 0; round < 3; round++) {
      assertEquals(await world.found(one), ["a"]);
    }
    assertEquals(world.calls, ["head", "head", "head"]);
  });
});

Deno.test("OwnerIndex.search() of one instance asks the store for nothing", async () => {
  await withWorld(async (world) => {
    await world.remember("a");
    const alone = world.start({ isShared: false });
    assertEquals(await world.found(alone), ["a"]);
    world.calls.length = 0;
    assertEquals(await world.found(alone), ["a"]);
    assertEquals(world.calls, []);
  });
});

Deno.test("OwnerIndex opens no entry of what its own instance has written", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    const other = world.start();
    for (const index of [one, other]) await world.found(index);
    const memory = await world.remember("a");
    one.add(memory);
    world.opened = 0;
    assertEquals(await world.found(one), ["a"]);
    assertEquals(world.opened, 0);
    assertEquals(await world.found(other), ["a"]);
    assertEquals(world.opened, 1);
  });
});

Deno.test("OwnerIndex does not find a memory that another instance has removed before its own one told of it", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    await world.found(one);
    const memory = await world.remember("a");
    await world.remove("a");
    assertEquals(await world.found(one), []);
    one.add(memory);
    assertEquals(await world.found(one), []);
    one.remove(ALICE, "a");
    await world.remember("a");
    assertEquals(await world.found(one), ["a"]);
    one.remove(ALICE, "a");
    one.removeNamespace(ALICE, "default");
    assertEquals(await world.found(one), ["a"]);
  });
});

Deno.test("OwnerIndex finds the words of its instance alone where the store has none", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    await world.remember("a", {});
    assertEquals(await world.found(one, { text: "harbour" }), []);
    const [row] = await world.store.memories(ALICE, ["a"]);
    assert(row !== undefined);
    const words = finish(memoryWordsSteps("the harbour of yesterday"));
    one.add({ ...row, metadata: {}, vector: VECTOR, words });
    assertEquals(await world.found(one, { text: "harbour" }), ["a"]);
  });
});

Deno.test("OwnerIndex follows at once what it has written a lot of, before anybody asks", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    await world.found(one);
    for (let count = 0; count < 64; count++) {
      one.add(await world.remember(`m${count}`));
    }
    await world.settle();
    assertEquals(one.size, 64);
  });
});

Deno.test("OwnerIndex reads an owner anew when removals are no longer known, and while a search runs it does not", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    await world.rememberAll(2_000);
    assertEquals((await world.found(one)).length, 2_000);
    await world.remove("m0");
    await world.store.sweep({
      ...{ nowMs: 0, finishedJobsBeforeMs: 0, limit: 9 },
      tombstonesBeforeMs: Number.MAX_SAFE_INTEGER,
    });
    const gate = Promise.withResolvers<void>();
    const pausing = { pause: () => gate.promise };
    const slow = one.search(
      { owner: ALICE, namespace: "default", vector: VECTOR, limit: 9_999 },
      { pausing, look: { head: Promise.resolve(0), least: 0 } },
    );
    world.calls.length = 0;
    const asked = world.found(one);
    await world.settle();
    assertEquals(world.calls, ["head", "feed"]);
    gate.resolve();
    assertEquals((await slow).length, 2_000);
    assertEquals((await asked).length, 1_999);
    assert(world.calls.includes("scan"));
  });
});

Deno.test("OwnerIndex reads an owner anew when the store is that of an earlier time", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    await world.remember("a");
    assertEquals(await world.found(one), ["a"]);
    world.calls.length = 0;
    world.headIs = 1;
    assertEquals(await world.found(one), ["a"]);
    assert(world.calls.includes("scan"));
  });
});

Deno.test("OwnerIndex.search() tells of a store that fails, and the next one finds everything", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    await world.remember("a");
    await world.found(one);
    await world.remember("b");
    for (const name of ["head", "feed"]) {
      world.failing = name;
      await assertRejects(() => world.found(one), Error, "the disk is away");
    }
    world.failing = "";
    assertEquals(await world.found(one), ["a", "b"]);
  });
});

Deno.test("OwnerIndex writes no snapshot that another instance has written, and reads that one", async () => {
  await withWorld(async (world) => {
    const [one, other] = [world.start(), world.start()];
    for (let count = 0; count < 6; count++) await world.remember(`m${count}`);
    for (const index of [one, other]) {
      await world.found(index);
      index.startSnapshots();
      await world.clock.advanceAsync(LOOK_MS / 2);
    }
    for (let look = 0; look < 4; look++) {
      await world.clock.advanceAsync(LOOK_MS);
      await world.settle();
    }
    assertEquals(world.begun.length, 1);
    assertEquals(world.begun[0], await world.store.head(ALICE));
    world.calls.length = 0;
    assertEquals((await world.found(world.start())).length, 6);
    assertEquals(world.calls.includes("scan"), false);
  });
});

Deno.test("OwnerIndex reads another instance's snapshot where it has more than some thousand changes", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    await world.found(one);
    await world.rememberAll(5_100);
    const other = world.start();
    await world.found(other);
    await other.stop();
    assertEquals(world.begun.length, 1);
    world.calls.length = 0;
    world.opened = 0;
    await world.found(one);
    assertEquals(one.size, 5_100);
    assert(world.calls.includes("snapshot"));
    assert(world.opened < 5_000, `${world.opened}`);
  });
});

Deno.test("RecallService leaves out a memory that another instance removes while its blob is read", async () => {
  await withWorld(async (world) => {
    const index = world.start();
    await world.remember("a");
    await world.remember("b");
    const { blobs, recall } = world.recallBy(index);
    const ask = async () => {
      const outcome = await recall.recall({
        ...{ owner: ALICE, namespace: "default", query: VECTOR, limit: 9 },
        ordering: { kind: "relevance" },
      });
      assert(outcome.kind === "ok");
      return [outcome.memories.map(({ id }) => id).sort(), outcome.dropped];
    };
    assertEquals(await ask(), [["a", "b"], 0]);
    blobs.onGet = async () => {
      blobs.onGet = () => {};
      await world.remove("a");
    };
    assertEquals(await ask(), [["b"], 1]);
    assertEquals(await ask(), [["b"], 0]);
  });
});

Deno.test("RecallService.find() leaves out a memory that another instance removes after the search", async () => {
  await withWorld(async (world) => {
    const index = world.start();
    await world.remember("a");
    await world.remember("b");
    const { recall } = world.recallBy({
      look: (owner) => index.look(owner),
      async search(...of) {
        const hits = await index.search(...of);
        await world.remove("a");
        return hits;
      },
    });
    const outcome = await recall.find({
      ...{ owner: ALICE, namespace: "default", query: VECTOR, limit: 9 },
      ordering: { kind: "relevance" },
    });
    assert(outcome.kind === "ok");
    assertEquals(outcome.memories.map(({ id }) => id), ["b"]);
  });
});

async function withWorld(
  use: (world: FollowedWorld) => Promise<void>,
): Promise<void> {
  await withStore(async (store) => {
    const world = new FollowedWorld(store);
    try {
      await use(world);
    } finally {
      await world.stop();
    }
  });
}
