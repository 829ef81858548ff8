import { assert, assertEquals } from "@std/assert";
import { lockMemory, SharedLock } from "./shared_lock.ts";

Deno.test("SharedLock.isHeld tells whose the lock is", () => {
  const memory = lockMemory();
  const [first, second] = [
    new SharedLock(memory, 0),
    new SharedLock(memory, 1),
  ];
  assertEquals([first.isHeld, second.isHeld], [false, false]);
  second.acquire();
  assertEquals([first.isHeld, second.isHeld], [false, true]);
  second.release();
  assertEquals([first.isHeld, second.isHeld], [false, false]);
  first.acquire();
  assertEquals([first.isHeld, second.isHeld], [true, false]);
  first.release();
});

/**
 * A thread that adds to a number without an atomic operation, under the lock.
 */
const THREAD = `
import { SharedLock } from "${import.meta.resolve("./shared_lock.ts")}";
self.onmessage = ({ data: { lock, total, thread, rounds } }) => {
  const own = new SharedLock(lock, thread);
  const numbers = new Float64Array(total);
  for (let round = 0; round < rounds; round++) {
    own.acquire();
    const before = numbers[0];
    // A while, so that the others come meanwhile.
    for (let i = 0; i < round % 64; i++) numbers[1] += 1;
    numbers[0] = before + 1;
    own.release();
  }
  self.postMessage("done");
};`;

Deno.test("SharedLock.acquire() lets one thread at a time through, and wakes those that sleep", async () => {
  const [threads, rounds] = [4, 5_000];
  const lock = lockMemory();
  const total = new SharedArrayBuffer(16);
  const program = URL.createObjectURL(
    new Blob([THREAD], { type: "application/javascript" }),
  );
  const workers = Array.from(
    { length: threads },
    () => new Worker(program, { type: "module" }),
  );
  const done = workers.map((worker, thread) => {
    const ended = Promise.withResolvers<void>();
    worker.onmessage = () => ended.resolve();
    worker.onerror = (event) => ended.reject(new Error(event.message));
    worker.postMessage({ lock, total, thread, rounds });
    return ended.promise;
  });
  await Promise.all(done);
  for (const worker of workers) worker.terminate();
  URL.revokeObjectURL(program);
  assertEquals(new Float64Array(total)[0], threads * rounds);
  assert(!new SharedLock(lock, 0).isHeld);
});
