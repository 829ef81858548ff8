import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { sharedPostgres } from "../../../tests/support/postgres_server.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { StoreFailedError } from "../store_failed.ts";
import { ServerWatch } from "./server_watch.ts";
import type { Row, Rows, Runner } from "./session.ts";
import { StoreTime, TimeOffset } from "./store_time.ts";

const BEFORE = {
  standby: false,
  system: "7",
  timeline: 1,
  started: "2027-01-15",
};

/** A database with a clock of its own, and a way there and back. */
class FakeDatabase implements Runner {
  readonly clock: FakeClock;
  aheadMs = 0;
  toMs = 0;
  fromMs = 0;
  fails: unknown;
  identity: Row = BEFORE;
  asked = 0;

  constructor(clock: FakeClock) {
    this.clock = clock;
  }

  nowMs(): number {
    return this.clock.nowMs() + this.aheadMs;
  }

  query<R extends object>(): Promise<Rows<R>> {
    this.asked++;
    if (this.fails !== undefined) return Promise.reject(this.fails);
    this.clock.advance(this.toMs);
    const row = { ...this.identity, now_ms: this.nowMs() };
    this.clock.advance(this.fromMs);
    return Promise.resolve(
      Object.assign([row], { count: 1, command: "SELECT" }) as unknown as Rows<
        R
      >,
    );
  }
}

function makeTime() {
  const clock = new FakeClock();
  const database = new FakeDatabase(clock);
  const logger = new RecordingLogger();
  const watch = new ServerWatch({ clock, logger });
  const time = new StoreTime({ runner: database, clock, watch, logger });
  return { clock, database, logger, watch, time };
}

Deno.test("StoreTime is never ahead of the database, and late by the way back at most", async () => {
  const random = new SeededRandom(7);
  const { clock, database, time } = makeTime();
  database.aheadMs = -3_600_000;
  for (let round = 0; round < 300; round++) {
    database.toMs = random.below(200);
    database.fromMs = random.below(200);
    await time.sample();
    const lateMs = database.nowMs() - time.nowMs();
    assert(lateMs >= 0 && lateMs <= database.fromMs, `${lateMs} ms late`);
    clock.advance(random.below(2_000));
    assert(database.nowMs() >= time.nowMs());
  }
});

Deno.test("StoreTime follows the database's clock when that is set", async () => {
  const { clock, database, time } = makeTime();
  database.toMs = 10;
  database.fromMs = 10;
  await time.sample();
  for (const stepMs of [3_600_000, -7_200_000, -1_500, 500]) {
    database.aheadMs += stepMs;
    clock.advance(1_000);
    await time.sample();
    const lateMs = database.nowMs() - time.nowMs();
    assert(lateMs >= 0 && lateMs <= 10, `${lateMs} ms late after ${stepMs}`);
  }
});

Deno.test("StoreTime does not change when the own time of day is set", async () => {
  const clock = new FakeClock();
  const steppedMs = { value: 0 };
  const database = new FakeDatabase(clock);
  const logger = new RecordingLogger();
  const time = new StoreTime({
    runner: database,
    watch: new ServerWatch({ clock, logger }),
    logger,
    clock: {
      nowMs: () => clock.nowMs() + steppedMs.value,
      monotonicMs: () => clock.nowMs() - 5,
      setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
    },
  });
  await time.sample();
  const beforeMs = time.nowMs();
  steppedMs.value = -86_400_000;
  clock.advance(100);
  assertEquals(time.nowMs() - beforeMs, 100);
});

Deno.test("StoreTime goes on while the database does not answer, and says so", async () => {
  const { clock, database, logger, time } = makeTime();
  await time.start();
  const beforeMs = time.nowMs();
  database.fails = new StoreFailedError("gone");
  for (let second = 0; second < 40; second++) {
    clock.advance(1_000);
    await Promise.resolve();
    await new Promise((resolve) => queueMicrotask(() => resolve(undefined)));
  }
  assertEquals(time.nowMs() - beforeMs, 40_000);
  await time.stop();
  assert(logger.lines.length >= 1);
});

Deno.test("StoreTime asks for less where the server does not tell who it is", async () => {
  const { database, time } = makeTime();
  database.fails = new Error("permission denied");
  await assertRejects(() => time.sample(), Error, "permission denied");
  assertEquals(database.asked, 2);
  database.fails = undefined;
  await time.sample();
  assertEquals(database.asked, 3);
});

Deno.test("StoreTime takes no time from a primary of before", async () => {
  const { clock, database, time } = makeTime();
  database.identity = { ...BEFORE, timeline: 2 };
  await time.sample();
  const beforeMs = time.nowMs();
  database.identity = BEFORE;
  database.aheadMs = 60_000;
  await assertRejects(() => time.sample(), StoreFailedError, "old primary");
  clock.advance(1);
  assertEquals(time.nowMs(), beforeMs + 1);
});

Deno.test("TimeOffset forgets samples after half a minute", () => {
  const offset = new TimeOffset();
  assertEquals(offset.offsetMs, undefined);
  offset.add({ sentMs: 0, receivedMs: 1, databaseMs: 1_001 });
  offset.add({ sentMs: 20_000, receivedMs: 20_100, databaseMs: 21_010 });
  assertEquals(offset.offsetMs, 1_000);
  offset.add({ sentMs: 31_000, receivedMs: 31_050, databaseMs: 32_010 });
  assertEquals(offset.offsetMs, 960);
});

const server = sharedPostgres();

serviceTest(["postgres"], {
  name: "StoreTime reads a real database's time",
  fn: async () => {
    const { clock, logger, watch } = makeTime();
    const session = await server.session();
    const time = new StoreTime({ runner: session, clock, watch, logger });
    try {
      const beforeMs = Date.now();
      await time.sample();
      const nowMs = time.nowMs();
      assert(nowMs >= beforeMs - 1 && nowMs <= Date.now(), String(nowMs));
    } finally {
      await session.close();
    }
  },
});
