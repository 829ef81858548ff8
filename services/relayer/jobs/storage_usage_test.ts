import { assertEquals, assertRejects } from "@std/assert";
import { type Reservation, StorageUsage } from "./storage_usage.ts";

/** A store whose answers a test may hold back. */
class Sums {
  bytes = 100;
  open = { jobs: 2, bytes: 30 };
  reads = 0;
  hasOwnTime = false;
  fault: Error | undefined;
  /** What the next answers wait for. */
  held: Promise<void> = Promise.resolve();

  async stats(): Promise<
    { readonly memories: number; readonly bytes: number }
  > {
    this.reads++;
    const { bytes, fault } = this;
    await this.held;
    if (fault !== undefined) throw fault;
    return { memories: 1, bytes };
  }

  openJobs(): Promise<{ readonly jobs: number; readonly bytes: number }> {
    return Promise.resolve(this.open);
  }
}

const OWNER = "0xa";
/** What fits beside the 130 bytes and 2 jobs that the store begins with. */
const LIMITS = { quotaBytes: 200, maxOpenJobs: 5 };

function setUp() {
  const store = new Sums();
  const time = { nowMs: 1_000_000 };
  const usage = new StorageUsage(store, () => time.nowMs);
  const ask = (bytes: number, openJobs = 0, owner = OWNER) =>
    usage.reserve(owner, { bytes, openJobs }, LIMITS);
  const askKind = async (...asked: Parameters<typeof ask>) => {
    const outcome = await ask(...asked);
    if (outcome.kind === "ok") outcome.reservation.release();
    return outcome.kind;
  };
  const take = async (
    ...asked: Parameters<typeof ask>
  ): Promise<Reservation> => {
    const outcome = await ask(...asked);
    if (outcome.kind !== "ok") throw new Error(`refused: ${outcome.kind}`);
    return outcome.reservation;
  };
  return { store, time, usage, ask, askKind, take };
}

Deno.test("StorageUsage.reserve() refuses what goes over a limit, with what is stored and on its way", async () => {
  const { askKind } = setUp();
  assertEquals(
    [await askKind(70), await askKind(71)],
    ["ok", "over_quota"],
  );
  assertEquals(
    [await askKind(0, 3), await askKind(0, 4)],
    ["ok", "too_many_jobs"],
  );
});

Deno.test("StorageUsage.reserve() counts what others have reserved, and frees it when it is released", async () => {
  const { store, ask, take, askKind } = setUp();
  const kinds = await Promise.all(
    Array.from({ length: 10 }, async () => (await ask(10)).kind),
  );
  assertEquals(kinds, [
    ...Array.from({ length: 7 }, () => "ok"),
    ...Array.from({ length: 3 }, () => "over_quota"),
  ]);
  assertEquals(store.reads, 1);
  const other = setUp();
  const reservation = await other.take(70);
  assertEquals(await other.askKind(1), "over_quota");
  reservation.release();
  assertEquals(await other.askKind(70), "ok");
  await assertRejects(() => take(1));
  assertEquals(await askKind(0), "ok");
});

Deno.test("StorageUsage.reserve() reads the store once a second", async () => {
  const { store, time, askKind } = setUp();
  await askKind(1);
  time.nowMs += 999;
  await askKind(1);
  assertEquals(store.reads, 1);
  time.nowMs += 1;
  await askKind(1);
  assertEquals(store.reads, 2);
  // The clock was set back by a day: a reading from the future does not count.
  time.nowMs -= 86_400_000;
  await askKind(1);
  assertEquals(store.reads, 3);
});

Deno.test("StorageUsage.reserve() counts a write that is under way while a newer reading replaces the older one", async () => {
  const { time, take, askKind } = setUp();
  const reservation = await take(70);
  time.nowMs += 1_000;
  assertEquals(await askKind(1), "over_quota");
  reservation.release();
  assertEquals(await askKind(1), "ok");
});

Deno.test("StorageUsage.reserve() counts a write that ends while the store is read, until the next reading", async () => {
  const { store, time, take, askKind } = setUp();
  const reservation = await take(70);
  time.nowMs += 1_000;
  const held = Promise.withResolvers<void>();
  store.held = held.promise;
  // The store is read before the write, and answers after it.
  const asked = askKind(1);
  store.bytes += 70;
  reservation.settle();
  held.resolve();
  assertEquals(await asked, "over_quota");
  store.bytes -= 70;
  time.nowMs += 1_000;
  assertEquals(await askKind(70), "ok");
});

Deno.test("StorageUsage.reserve() counts a write that has ended until the store is read again", async () => {
  const { time, take, askKind } = setUp();
  (await take(70)).settle();
  assertEquals(await askKind(1), "over_quota");
  time.nowMs += 1_000;
  assertEquals(await askKind(70), "ok");
});

Deno.test("StorageUsage.changed() has the store read again, also when it is being read", async () => {
  const { store, usage, askKind, take } = setUp();
  await askKind(1);
  store.bytes = 0;
  usage.changed(OWNER);
  assertEquals(await askKind(170), "ok");
  usage.changed(OWNER);
  const held = Promise.withResolvers<void>();
  store.held = held.promise;
  store.bytes = 170;
  const asked = askKind(100);
  store.bytes = 0;
  usage.changed(OWNER);
  held.resolve();
  assertEquals(await asked, "ok");
  // Of other owners nothing has to be known.
  usage.changed("0xb");
  (await take(1)).release();
});

Deno.test("StorageUsage.reserve() asks again after the store failed", async () => {
  const { store, askKind } = setUp();
  store.fault = new Error("disk");
  await assertRejects(() => askKind(1), Error, "disk");
  store.fault = undefined;
  assertEquals(await askKind(70), "ok");
});

Deno.test("StorageUsage.reserve() keeps owners apart, however many there are", async () => {
  const { take, askKind } = setUp();
  const reservation = await take(70);
  for (let owner = 0; owner < 10_100; owner++) {
    assertEquals(await askKind(70, 0, `0x${owner}`), "ok");
  }
  assertEquals(await askKind(1), "over_quota");
  reservation.release();
  assertEquals(await askKind(70), "ok");
});

Deno.test("StorageUsage.reserve() waits for no reading of a shared store while it stores all the time", async () => {
  const { store, time, usage, askKind, take } = setUp();
  store.hasOwnTime = true;
  assertEquals(await askKind(70), "ok");
  time.nowMs += 700;
  const held = Promise.withResolvers<void>();
  store.held = held.promise;
  (await take(20)).settle();
  assertEquals(store.reads, 2);
  // The reading under way began before it was settled, and has other bytes.
  (await take(20)).settle();
  assertEquals(store.reads, 2);
  assertEquals([await askKind(30), await askKind(31)], ["ok", "over_quota"]);
  store.bytes = 120;
  held.resolve();
  await turn();
  time.nowMs += 650;
  // The sum counts the bytes that were read, and those settled since.
  assertEquals([await askKind(30), await askKind(31)], ["ok", "over_quota"]);
  assertEquals(store.reads, 2);
  time.nowMs += 350;
  assertEquals([await askKind(50), await askKind(51)], ["ok", "over_quota"]);
  assertEquals(store.reads, 3);
  // A deletion is seen at once.
  store.bytes = 100;
  usage.changed(OWNER);
  assertEquals(await askKind(70), "ok");
});

Deno.test("StorageUsage.reserve() knows within a second what another instance has stored, also when a reading fails", async () => {
  const { store, time, askKind } = setUp();
  store.hasOwnTime = true;
  assertEquals(await askKind(70), "ok");
  store.bytes = 170;
  time.nowMs += 800;
  store.fault = new Error("no answer");
  assertEquals(await askKind(70), "ok");
  await turn();
  store.fault = undefined;
  time.nowMs += 200;
  assertEquals(await askKind(1), "over_quota");
});

/** Lets everything go on that can. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
