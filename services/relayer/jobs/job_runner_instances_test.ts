import { assert, assertEquals } from "@std/assert";
import { FakeInstances, FakeWork, START_MS } from "./testing/fake_work.ts";

Deno.test("JobRunner takes no jobs while others may count its instance as dead, and goes on after that", async () => {
  const work = new FakeWork();
  work.hasOwnTime = true;
  const instances = new FakeInstances();
  instances.isFenced = true;
  instances.answers = false;
  const runner = work.runner({ instances });
  work.add("a");
  runner.start();
  await work.clock.advanceAsync(5_000);
  assertEquals([work.looks, work.batches], [0, []]);
  instances.isFenced = false;
  instances.tell([], true);
  await work.clock.advanceAsync(0);
  assertEquals(work.batches, [["a"]]);
  // A process that only stood still asks, and goes on at once.
  instances.isFenced = true;
  instances.answers = true;
  work.add("b");
  runner.wake();
  await work.clock.advanceAsync(0);
  assertEquals(work.batches, [["a"], ["b"]]);
  await runner.stop(0);
  assertEquals(work.clock.pendingTimers, 0);
});

Deno.test("JobRunner looks at once when an instance has gone, and each second for what nobody tells", async () => {
  const work = new FakeWork();
  work.hasOwnTime = true;
  const instances = new FakeInstances();
  const runner = work.runner({ instances });
  runner.start();
  await work.clock.advanceAsync(100);
  // Of an instance that is alive.
  const leasedUntilMs = START_MS + 30_000;
  work.add("a", { leasedBy: "boot_2", leasedUntilMs });
  await work.clock.advanceAsync(5_000);
  assertEquals(work.batches, []);
  instances.tell([], false);
  await work.clock.advanceAsync(0);
  assertEquals(work.batches, []);
  work.add("a", { leasedBy: undefined, leasedUntilMs: undefined });
  instances.tell(["boot_2"], false);
  await work.clock.advanceAsync(0);
  assertEquals(work.batches, [["a"]]);
  // Another instance took it in, and has more than it can do.
  work.add("b");
  await work.clock.advanceAsync(1_000);
  assertEquals(work.batches, [["a"], ["b"]]);
  await runner.stop(0);
});

Deno.test("JobRunner of an instance that has the store for itself rests until a job is due", async () => {
  const work = new FakeWork();
  const runner = work.runner({ instances: new FakeInstances() });
  runner.start();
  await work.clock.advanceAsync(0);
  const { looks } = work;
  await work.clock.advanceAsync(300_000);
  assertEquals(work.looks, looks);
  await runner.stop(0);
});

Deno.test("JobRunner gives way the longer the more instances share the store", async () => {
  for (const [count, least, most] of [[1, 300, 330], [3, 100, 120]] as const) {
    const work = new FakeWork();
    for (let at = 0; at < 600; at++) work.add(`j${at}`);
    const instances = new FakeInstances();
    instances.members = Array(count).fill(instances);
    const runner = work.runner({ instances, givesWay: () => true });
    runner.start();
    for (let ms = 0; ms < 10_000; ms += 25) {
      runner.wake();
      await work.clock.advanceAsync(25);
    }
    const done = 600 - work.rows.size;
    assert(done >= least && done <= most, `${done}`);
    await runner.stop(0);
  }
});
