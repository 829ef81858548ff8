import { assert, assertEquals } from "@std/assert";
import { MAX_BATCH_BYTES } from "./job_leases.ts";
import { never } from "./testing/job_world.ts";
import {
  failing,
  FakeWork,
  START_MS,
  untilAborted,
} from "./testing/fake_work.ts";

Deno.test("JobRunner does all jobs and rests", async () => {
  const work = new FakeWork();
  for (let at = 0; at < 500; at++) work.add(`j${at}`);
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(0);
  assertEquals(work.rows.size, 0);
  assertEquals(new Set(work.batches.flat()).size, 500);
  assertEquals(work.batches.flat().length, 500);
  assertEquals(work.clock.pendingTimers, 0);
  await runner.stop(1_000);
  assertEquals(work.clock.pendingTimers, 0);
});

Deno.test("JobRunner tries a failing job a few times, with waits, and then gives it up", async () => {
  const work = new FakeWork();
  work.add("poison");
  work.work = failing;
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(0);
  assertEquals([work.batches.length, work.rows.get("poison")?.attempts], [
    1,
    1,
  ]);
  await work.clock.advanceAsync(1_999);
  assertEquals(work.batches.length, 1);
  await work.clock.advanceAsync(1);
  assertEquals(work.batches.length, 2);
  assertEquals(work.settled, []);
  await work.clock.advanceAsync(60_000);
  const { status, error, attempts } = work.rows.get("poison") ?? {};
  assertEquals([status, attempts], ["failed", 3]);
  assertEquals(error, "Cannot store memory: test");
  assertEquals([work.batches.length, work.settled], [3, ["poison"]]);
  await runner.stop(0);
});

Deno.test("JobRunner does others while a poisoned job comes again and again", async () => {
  const work = new FakeWork();
  work.add("poison");
  const done = work.work;
  work.work = async (jobs, signal) => {
    const bad = jobs.filter(({ id }) => id === "poison");
    const good = jobs.filter(({ id }) => id !== "poison");
    return [...await failing(bad), ...await done(good, signal)];
  };
  const runner = work.runner({ maxAttempts: 100 });
  runner.start();
  for (let at = 0; at < 50; at++) {
    work.add(`j${at}`);
    runner.wake();
    await work.clock.advanceAsync(1_000);
    assert(!work.rows.has(`j${at}`));
  }
  // Waits of 2, 4, 8, 16 and 32 seconds: the runner did not retry without a
  // pause.
  assertEquals(work.rows.get("poison")?.attempts, 5);
  await runner.stop(0);
});

Deno.test("JobRunner never gives up what is found already", async () => {
  const work = new FakeWork();
  work.add("j", { status: "uploaded", attempts: 50 });
  work.work = failing;
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(600_000);
  assertEquals(work.rows.get("j")?.status, "uploaded");
  assertEquals(work.settled, []);
  assertEquals(work.batches.length, 11);
  await runner.stop(0);
});

Deno.test("JobRunner.stop() ends within its grace though a batch hangs for ever", async () => {
  const work = new FakeWork();
  work.add("j");
  work.work = never;
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(0);
  let isStopped = false;
  const stopped = runner.stop(5_000).then(() => isStopped = true);
  await work.clock.advanceAsync(4_999);
  assertEquals(isStopped, false);
  await work.clock.advanceAsync(251);
  await stopped;
  assertEquals([work.rows.get("j")?.version, work.rows.get("j")?.attempts], [
    1,
    0,
  ]);
});

Deno.test("JobRunner.stop() ends what listens and counts it as no attempt", async () => {
  const work = new FakeWork();
  work.add("j");
  work.work = untilAborted;
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(0);
  const stopped = runner.stop(5_000);
  await work.clock.advanceAsync(5_000);
  await stopped;
  assertEquals(work.rows.get("j")?.version, 1);
  assertEquals(work.clock.pendingTimers, 0);
  assertEquals(work.logger.lines, []);
});

Deno.test("JobRunner.stop() begins nothing that a look finds meanwhile", async () => {
  const work = new FakeWork();
  const held = Promise.withResolvers<void>();
  const runner = work.runner({
    store: {
      hasOwnTime: false,
      leaseJobs: async (leases) => {
        await held.promise;
        return await work.leaseJobs(leases);
      },
      renewLeases: (leases) => work.renewLeases(leases),
      nextJobMs: () => work.nextJobMs(),
      commit: (changes) => work.commit(changes),
      jobs: (owner, ids) => work.jobs(owner, ids),
    },
  });
  work.add("j");
  runner.start();
  await runner.stop(1_000);
  held.resolve();
  await work.clock.advanceAsync(120_000);
  assertEquals([work.batches, work.clock.pendingTimers], [[], 0]);
});

Deno.test("JobRunner begins a hanging batch again, and the first attempt changes nothing", async () => {
  const work = new FakeWork();
  work.add("j");
  const done = work.work;
  work.work = never;
  const runner = work.runner({ batchTimeoutMs: 30_000 });
  runner.start();
  await work.clock.advanceAsync(29_999);
  work.work = done;
  assertEquals(work.rows.get("j")?.attempts, 0);
  await work.clock.advanceAsync(1);
  assertEquals(work.rows.get("j")?.attempts, 1);
  assertEquals(
    work.rows.get("j")?.error,
    "Cannot store memory: it took too long",
  );
  await work.clock.advanceAsync(2_000);
  assertEquals(work.rows.size, 0);
  await runner.stop(0);
});

Deno.test("JobRunner does not let what waits for another attempt wait for a hanging batch", async () => {
  const work = new FakeWork();
  work.add("hangs");
  const done = work.work;
  work.work = (jobs, signal) =>
    jobs.some(({ id }) => id === "hangs") ? never() : done(jobs, signal);
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(0);
  work.add("later", { nextAttemptAtMs: work.clock.nowMs() + 3_000 });
  const looks = work.looks;
  await work.clock.advanceAsync(10_000);
  assert(!work.rows.has("later"));
  assert(work.looks - looks <= 12, `${work.looks - looks}`);
  const stopped = runner.stop(0);
  await work.clock.advanceAsync(250);
  await stopped;
});

Deno.test("JobRunner looks no more often than it must in a storm of wakes", async () => {
  const work = new FakeWork();
  const runner = work.runner();
  runner.start();
  for (let at = 0; at < 10_000; at++) runner.wake();
  await work.clock.advanceAsync(0);
  assert(work.looks <= 3, `${work.looks}`);
  await runner.stop(0);
  for (let at = 0; at < 10; at++) runner.wake();
  await work.clock.advanceAsync(60_000);
  assert(work.looks <= 3);
});

Deno.test("JobRunner finds jobs beside thousands that are put off and those under way", async () => {
  const work = new FakeWork();
  for (let at = 0; at < 5_000; at++) {
    work.add(`later${at}`, { nextAttemptAtMs: START_MS + 3_000_000 });
  }
  for (let at = 0; at < 96; at++) work.add(`hangs${at}`);
  const done = work.work;
  work.work = (jobs, signal) =>
    jobs.some(({ id }) => id.startsWith("hangs"))
      ? untilAborted(jobs, signal)
      : done(jobs, signal);
  const runner = work.runner({ maxBatches: 4 });
  runner.start();
  await work.clock.advanceAsync(0);
  assertEquals(work.batches.length, 3);
  work.add("new");
  runner.wake();
  await work.clock.advanceAsync(0);
  assert(!work.rows.has("new"));
  const stopped = runner.stop(0);
  await work.clock.advanceAsync(0);
  await stopped;
});

Deno.test("JobRunner does jobs of a time to come when the clock was set back", async () => {
  const work = new FakeWork();
  work.add("tomorrow", { nextAttemptAtMs: START_MS + 86_400_000 });
  work.add("put off", { nextAttemptAtMs: START_MS + 300_000 });
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(299_999);
  assertEquals(work.rows.size, 2);
  await work.clock.advanceAsync(120_000);
  assertEquals(work.rows.size, 0);
  await runner.stop(0);
});

Deno.test("JobRunner holds batches to their bytes", async () => {
  const work = new FakeWork();
  const payload = new Uint8Array(1_048_576);
  for (let at = 0; at < 50; at++) work.add(`j${at}`, { payload });
  work.work = never;
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(0);
  const most = MAX_BATCH_BYTES / payload.length;
  assertEquals(work.batches.map(({ length }) => length), [most, most, most]);
  const stopped = runner.stop(0);
  await work.clock.advanceAsync(250);
  await stopped;
});

Deno.test("JobRunner gives way, goes on all the same, and is fast again at once", async () => {
  const work = new FakeWork();
  for (let at = 0; at < 600; at++) work.add(`j${at}`);
  let isPressed = true;
  const runner = work.runner({ givesWay: () => isPressed });
  runner.start();
  for (let ms = 0; ms < 10_000; ms += 25) {
    runner.wake();
    await work.clock.advanceAsync(25);
  }
  const slow = 600 - work.rows.size;
  assert(slow >= 300 && slow <= 330, `${slow}`);
  assertEquals(work.clock.pendingTimers, 1);
  isPressed = false;
  await work.clock.advanceAsync(250);
  assertEquals(work.rows.size, 0);
  await runner.stop(0);
  assertEquals(work.clock.pendingTimers, 0);
});

Deno.test("JobRunner does not give way for ever", async () => {
  const work = new FakeWork();
  for (let at = 0; at < 2_000; at++) work.add(`j${at}`);
  const runner = work.runner({ givesWay: () => true });
  runner.start();
  await work.clock.advanceAsync(20_000);
  assert(work.rows.size > 1_000);
  await work.clock.advanceAsync(1_000);
  assertEquals(work.rows.size, 0);
  await runner.stop(0);
});
