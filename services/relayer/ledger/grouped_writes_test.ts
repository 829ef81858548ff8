import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { FileErrors } from "../store/sqlite/database_file.ts";
import { GroupedWrites, type GroupedWritesOptions } from "./grouped_writes.ts";

Deno.test("add() puts the writes of a turn into one transaction", async () => {
  const { writes, log, clock } = setUp();
  const added = [1, 2, 3].map((n) => writes.add(() => void log.push(`${n}`)));
  assertEquals(log, []);
  await clock.advanceAsync(0);
  await Promise.all(added);
  assertEquals(log, ["BEGIN IMMEDIATE", "1", "2", "3", "COMMIT"]);
});

Deno.test("add() keeps the order and the bound of a group", async () => {
  const { writes, log, clock } = setUp({ maxGroup: 2 });
  const added = [1, 2, 3].map((n) => writes.add(() => void log.push(`${n}`)));
  await clock.advanceAsync(0);
  await Promise.all(added);
  assertEquals(log.filter((line) => line === "COMMIT").length, 2);
  assertEquals(log.filter((line) => /\d/.test(line)), ["1", "2", "3"]);
});

Deno.test("add() leaves the thread to others after a transaction", async () => {
  const { writes, log, clock } = setUp({ writeMs: 5 });
  const first = writes.add(() => void log.push("1"));
  await clock.advanceAsync(0);
  await first;
  const second = writes.add(() => void log.push("2"));
  await clock.advanceAsync(9);
  assertEquals(log.includes("2"), false);
  await clock.advanceAsync(1);
  await second;
  assert(log.includes("2"));
});

Deno.test("add() rejects the write that fails, and no other", async () => {
  const { writes, log, clock } = setUp();
  const outcomes = Promise.allSettled([
    writes.add(() => void log.push("1")),
    writes.add(() => {
      throw new Error("constraint failed");
    }),
    writes.add(() => void log.push("3")),
  ]);
  await clock.advanceAsync(0);
  assertEquals((await outcomes).map(({ status }) => status), [
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
  assertEquals(log.at(-1), "COMMIT");
});

Deno.test("add() rejects all writes of a transaction that was not committed", async () => {
  const { writes, log, clock, db } = setUp();
  db.fails = "COMMIT";
  const outcomes = Promise.allSettled([
    writes.add(() => void log.push("1")),
    writes.add(() => void log.push("2")),
  ]);
  await clock.advanceAsync(0);
  assertEquals((await outcomes).map(({ status }) => status), [
    "rejected",
    "rejected",
  ]);
  assertEquals(log.at(-1), "ROLLBACK");
  db.fails = undefined;
  const later = writes.add(() => void log.push("3"));
  await clock.advanceAsync(50);
  await later;
  assertEquals(log.at(-1), "COMMIT");
});

Deno.test("add() refuses what is too much, idle() waits for what is there", async () => {
  const { writes, log, clock } = setUp({ maxWaiting: 1 });
  await writes.idle();
  const added = writes.add(() => void log.push("1"));
  await assertRejects(() => writes.add(() => {}), Error, "too much waits");
  let isIdle = false;
  const idle = writes.idle().then(() => isIdle = true);
  await Promise.resolve();
  assertEquals(isIdle, false);
  await clock.advanceAsync(0);
  await Promise.all([added, idle]);
});

/** Time goes on while something works, too. */
class SlowClock extends FakeClock {
  workedMs = 0;

  monotonicMs(): number {
    return this.nowMs() + this.workedMs;
  }
}

interface FakeDatabase {
  isTransaction: boolean;
  fails: string | undefined;
  exec(sql: string): void;
}

function setUp(
  options: Partial<GroupedWritesOptions> & { readonly writeMs?: number } = {},
): {
  readonly writes: GroupedWrites;
  readonly log: string[];
  readonly clock: SlowClock;
  readonly db: FakeDatabase;
} {
  const clock = new SlowClock();
  const log: string[] = [];
  const db: FakeDatabase = {
    isTransaction: false,
    fails: undefined,
    exec(sql) {
      if (sql === "COMMIT") clock.workedMs += options.writeMs ?? 0;
      if (sql === this.fails) throw new Error("disk full");
      this.isTransaction = sql.startsWith("BEGIN");
      log.push(sql);
    },
  };
  return {
    writes: new GroupedWrites({
      db,
      clock,
      errors: new FileErrors({ path: "x.db", whenDamaged: "mend it" }),
      ...options,
    }),
    log,
    clock,
    db,
  };
}
