import { assertEquals, assertRejects } from "@std/assert";
import { StorageUsage } from "./storage_usage.ts";

/** A store that counts its calls. */
class Sums {
  bytes = 100;
  open = { jobs: 2, bytes: 30 };
  reads = 0;
  fault: Error | undefined;

  stats(): Promise<{ readonly memories: number; readonly bytes: number }> {
    this.reads++;
    if (this.fault !== undefined) return Promise.reject(this.fault);
    return Promise.resolve({ memories: 1, bytes: this.bytes });
  }

  openJobs(): Promise<{ readonly jobs: number; readonly bytes: number }> {
    return Promise.resolve(this.open);
  }
}

function setUp() {
  const store = new Sums();
  const time = { nowMs: 1_000_000 };
  const usage = new StorageUsage(store, () => time.nowMs);
  const of = async (owner = "0xa") => {
    const { bytes, openJobs } = await usage.of(owner);
    return [bytes, openJobs];
  };
  return { store, time, usage, of };
}

Deno.test("StorageUsage counts what is stored and what is on its way", async () => {
  const { of } = setUp();
  assertEquals(await of(), [130, 2]);
});

Deno.test("StorageUsage reads once a second, and adds what it is told meanwhile", async () => {
  const { store, time, usage, of } = setUp();
  usage.add("0xa", { bytes: 5, openJobs: 1 });
  assertEquals(await of(), [130, 2]);
  usage.add("0xa", { bytes: 5, openJobs: 1 });
  time.nowMs += 999;
  assertEquals(await of(), [135, 3]);
  assertEquals(store.reads, 1);
  time.nowMs += 1;
  assertEquals(await of(), [130, 2]);
  // The clock was set back by a day: a reading from the future does not count.
  time.nowMs -= 86_400_000;
  store.bytes = 0;
  assertEquals(await of(), [30, 2]);
});

Deno.test("StorageUsage takes away what was deleted, and is never below 0", async () => {
  const { usage, of } = setUp();
  await of();
  usage.add("0xa", { bytes: -50, openJobs: -1 });
  assertEquals(await of(), [80, 1]);
  usage.add("0xa", { bytes: -500, openJobs: -5 });
  assertEquals(await of(), [0, 0]);
});

Deno.test("StorageUsage shows each of many at once what those before it added", async () => {
  const { store, usage } = setUp();
  const seen = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const { bytes } = await usage.of("0xa");
      usage.add("0xa", { bytes: 10, openJobs: 1 });
      return bytes;
    }),
  );
  assertEquals(seen, seen.map((_, at) => 130 + 10 * at));
  assertEquals(store.reads, 1);
});

Deno.test("StorageUsage asks again after the store failed", async () => {
  const { store, of } = setUp();
  store.fault = new Error("disk");
  await assertRejects(() => of(), Error, "disk");
  store.fault = undefined;
  assertEquals(await of(), [130, 2]);
});

Deno.test("StorageUsage keeps owners apart", async () => {
  const { usage, of } = setUp();
  await of("0xa");
  await of("0xb");
  usage.add("0xa", { bytes: 1, openJobs: 0 });
  assertEquals([await of("0xa"), await of("0xb")], [[131, 2], [130, 2]]);
});
