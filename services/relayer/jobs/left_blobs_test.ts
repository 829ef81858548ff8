import { assertEquals } from "@std/assert";
import { LEFT_BLOB_MS, removeLeftBlobs } from "./left_blobs.ts";
import { JobWorld } from "./testing/job_world.ts";

const { signal } = new AbortController();

/**
 * Accepts a memory that is deleted before its blob is put; the relayer dies
 * before it notices.
 */
async function leaveBlob(world: JobWorld, text: string): Promise<void> {
  const [id = ""] = await world.accept([text]);
  const put = Promise.withResolvers<void>();
  world.hook = async (call, when) => {
    if (call !== "blobs.put") return;
    if (when === "before") return void await world.remove(id);
    put.resolve();
    await new Promise(() => {});
  };
  void world.runDue();
  await put.promise;
  await world.restart();
}

async function withWorld(use: (world: JobWorld) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "relayer_left_" });
  const world = new JobWorld(folder);
  await world.start();
  try {
    await use(world);
  } finally {
    await world.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

for (const isSealedOnceMore of [false, true]) {
  const what = isSealedOnceMore ? "a blob that is sealed once more" : "a blob";
  Deno.test(`removeLeftBlobs() removes ${what} that was put after its memory was deleted, once no attempt can put it`, async () => {
    await withWorld(async (world) => {
      const { blobs, clock } = world;
      const sweep = () =>
        removeLeftBlobs(world, { nowMs: clock.nowMs(), signal });
      const [kept = ""] = await world.accept(["Ada lives in Ghent."]);
      await world.runDue();
      if (isSealedOnceMore) {
        world.vault.protect = (_owner, bytes) =>
          Promise.resolve(Uint8Array.of(...bytes, 1));
      }
      await leaveBlob(world, "Ada lives in Bruges.");
      assertEquals(blobs.blobs.size, 2);
      clock.advance(LEFT_BLOB_MS - 1);
      await sweep();
      assertEquals(blobs.blobs.size, 2);
      clock.advance(1);
      await sweep();
      assertEquals([...blobs.blobs.keys()], [(await world.job(kept)).blobId]);
      clock.advance(10 * LEFT_BLOB_MS);
      const due = { nowMs: clock.nowMs(), limit: 9 };
      assertEquals(await world.store.deletedJobs(due), []);
    });
  });
}

Deno.test("removeLeftBlobs() goes on with other blobs, and comes back to those that it cannot remove", async () => {
  await withWorld(async (world) => {
    const { store, clock } = world;
    const texts = Array.from({ length: 230 }, (_, at) => `Text ${at}.`);
    const ids = await world.accept(texts);
    for (const id of ids) await world.remove(id);
    clock.advance(LEFT_BLOB_MS);
    const asked: string[] = [];
    const blobs = {
      hasHashIds: true,
      remove: (id: string) => Promise.resolve(asked.push(id) % 2 === 0),
    };
    const sweep = () =>
      removeLeftBlobs({ store, blobs }, { nowMs: clock.nowMs(), signal });
    await sweep();
    assertEquals(new Set(asked).size, 230);
    await sweep();
    assertEquals(asked.length, 230);
    clock.advance(LEFT_BLOB_MS);
    await sweep();
    assertEquals(asked.length, 345);
    // Where only the blob store knows ids, there is nothing to ask for.
    clock.advance(LEFT_BLOB_MS);
    blobs.hasHashIds = false;
    await sweep();
    assertEquals(asked.length, 345);
  });
});
