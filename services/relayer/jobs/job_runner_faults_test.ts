import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";
import { BlobStoreError } from "../blobs/blob_store.ts";
import { conflictingStore } from "../store/testing/conflicting_store.ts";
import { thrownFailure } from "./job_failure.ts";
import type { JobRunner } from "./job_runner.ts";
import { JobSteps } from "./job_steps.ts";
import {
  CALLER,
  type JobWorld,
  never,
  withWorld,
} from "./testing/job_world.ts";
import { failing, FakeWork } from "./testing/fake_work.ts";

Deno.test("JobRunner waits out a store that fails, for looks and for notes", async () => {
  const work = new FakeWork();
  work.add("j");
  work.fault = new Error("disk");
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(10_000);
  assert(work.looks <= 12, `${work.looks}`);
  work.fault = undefined;
  let isFirst = true;
  const done = work.work;
  work.work = (jobs, signal) => {
    if (!isFirst) return done(jobs, signal);
    isFirst = false;
    work.fault = new Error("disk");
    return failing(jobs);
  };
  await work.clock.advanceAsync(5_000);
  const looks = work.looks;
  work.fault = undefined;
  await work.clock.advanceAsync(2_000);
  assertEquals(work.rows.size, 0);
  assert(work.looks - looks <= 4);
  await runner.stop(0);
  assertEquals(work.clock.pendingTimers, 0);
});

Deno.test("JobRunner gives no job up while the disk is full, and goes on when it is not", async () => {
  const work = new FakeWork();
  const full = new BlobStoreError("Cannot store blob: no space left", {
    isPassing: true,
    isLocal: true,
  });
  const done = work.work;
  work.work = (jobs) =>
    Promise.resolve(
      jobs.map((job) => ({ kind: "failed", job, ...thrownFailure(full) })),
    );
  work.add("a");
  work.add("b");
  const runner = work.runner();
  runner.start();
  // Any other failure would give the job up after three attempts.
  await work.clock.advanceAsync(900_000);
  assert(work.batches.length > 30 && work.batches.length < 250);
  assertEquals(work.storage.isReady, false);
  assertEquals(
    [...work.rows.values()].map(({ status, attempts }) => [status, attempts]),
    [["pending", 0], ["pending", 0]],
  );
  assertEquals(work.logger.lines.length, 1);
  work.work = done;
  await work.clock.advanceAsync(10_000);
  assertEquals(work.rows.size, 0);
  await runner.stop(0);
});

Deno.test("JobRunner leaves a storage that failed alone for seconds, with one line in the log", async () => {
  const work = new FakeWork();
  work.fault = new StoreFailedError("Cannot use relayer.db: disk I/O error");
  const runner = work.runner();
  runner.start();
  for (let second = 0; second < 100; second++) {
    await work.clock.advanceAsync(1_000);
  }
  assert(work.looks > 10 && work.looks < 30, `${work.looks} looks`);
  assertEquals(work.logger.lines.length, 1);
  await runner.stop(0);
});

Deno.test("JobRunner brings all to their end in a store in which others are quicker", async () => {
  await withWorld(async (world) => {
    const random = new SeededRandom(11);
    const ids = await world.accept(
      Array.from({ length: 20 }, (_, at) => `Text ${at}.`),
    );
    const parts = world.parts();
    const store = conflictingStore(parts.store, {
      isBeaten: () => random.chance(0.3),
    });

    const steps = new JobSteps({ ...parts, store });
    const runner = world.runner({ store, steps, batch: 4 });
    await drain(world, runner);
    for (const id of ids) {
      assertEquals(await world.findTraces(id), [
        "blob",
        "entry",
        "index",
        "row",
      ]);
    }
    assertEquals(world.blobs.blobs.size, 20);
    assertEquals((await world.store.stats(CALLER.owner)).memories, 20);
  });
});

Deno.test("JobRunner counts attempts that fail or hang after they noted their blob", async () => {
  for (const fault of ["throws", "hangs"]) {
    await withWorld(async (world) => {
      const [id = ""] = await world.accept(["Ada has two dogs."]);
      let number = 0;
      world.vault.protect = (_owner, bytes) =>
        Promise.resolve(Uint8Array.of(...bytes, number++));
      let tries = 0;
      world.hook = (call, when) => {
        if (call !== "blobs.put" || when !== "before") return undefined;
        tries++;
        if (fault === "hangs") return never();
        throw new BlobStoreError("away", { isPassing: true });
      };
      const runner = world.runner({ batchTimeoutMs: 30_000 });
      runner.start();
      await waitUntil(async () => {
        await world.clock.advanceAsync(1_000);
        return tries >= 5;
      }, { what: "the fifth attempt" });
      const { status, attempts } = await world.job(id);
      assertEquals(status, "running", fault);
      assert(attempts >= 4, `${fault}: ${attempts}`);
      const stopped = runner.stop(0);
      await world.clock.advanceAsync(1_000);
      await stopped;
    });
  }
});

Deno.test("JobRunner goes on with what an earlier life left, failures at random", async () => {
  await withWorld(async (world) => {
    const random = new SeededRandom(23);
    const ids = await world.accept(
      Array.from({ length: 20 }, (_, at) => `Text ${at}.`),
    );
    for (let life = 0; life < 3; life++) {
      const runner = world.runner({ batch: 5 });
      let left = 12;
      world.hook = () => {
        if (left-- <= 0) return never();
        if (random.chance(0.1)) throw new Error("now and then");
        return undefined;
      };
      runner.start();
      await waitUntil(async () => {
        await world.clock.advanceAsync(1_000);
        return left <= 0;
      }, { what: "the crash" });
      const stopped = runner.stop(0);
      await world.clock.advanceAsync(1_000);
      await stopped;
      await world.restart();
    }
    await drain(world, world.runner({ maxAttempts: 10 }));
    for (const id of ids) {
      assertEquals((await world.job(id)).status, "done");
      assertEquals(await world.findTraces(id), [
        "blob",
        "entry",
        "index",
        "row",
      ]);
    }
    assertEquals(world.blobs.blobs.size, 20);
  });
});

/** Runs until no job is left. */
async function drain(world: JobWorld, runner: JobRunner): Promise<void> {
  runner.start();
  await waitUntil(async () => {
    await world.clock.advanceAsync(1_000);
    return await world.store.nextJobMs() === undefined;
  }, { what: "all jobs" });
  const stopped = runner.stop(1_000);
  await world.clock.advanceAsync(1_000);
  await stopped;
}
