import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { BLANK_TASK, type Task } from "../domain/task.ts";
import type { Store } from "../store/store.ts";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import { ActivityCounter } from "./activity.ts";
import { interceptStore } from "./testing/intercepted_store.ts";

const MINUTE_MS = 60_000;
const NOON_MS = Date.UTC(2030, 0, 1, 12);
const WAITING: Task = {
  ...BLANK_TASK,
  tenantId: "tnt_a",
  workerId: "wrk_a",
  job: "mail",
  status: "waiting",
  updatedAtMs: NOON_MS,
};
const RUNNING: Task = {
  ...WAITING,
  status: "running",
  lagMs: 400,
  attempt: {
    id: "lse_1",
    tokenHash: "",
    startedAtMs: NOON_MS,
    expiresAtMs: NOON_MS + 9_000,
    deadlineMs: NOON_MS + 9_000,
    leaseMs: 8_000,
  },
};

function ended(
  outcome: "completed" | "failed" | "lost",
  over: Partial<Task> = {},
): Task {
  return {
    ...RUNNING,
    attempt: undefined,
    settled: { id: "lse_1", tokenHash: "", outcome },
    updatedAtMs: NOON_MS + 3_000,
    ...over,
  };
}

function open(wrap: (store: Store) => Store = (store) => store) {
  const clock = new FakeClock(NOON_MS + 5 * MINUTE_MS);
  const store = createMemoryStore({ clock });
  const logger = new RecordingLogger();
  const counter = new ActivityCounter({ store: wrap(store), clock, logger });
  const read = async (
    { workerId = "", job = "", stepMs = MINUTE_MS, tenantId = "tnt_a" } = {},
  ): Promise<Readonly<Record<string, number>>> => {
    const [point] = await store.activity({
      ...{ tenantId, series: { workerId, job }, stepMs },
      fromMs: NOON_MS,
      toMs: NOON_MS + 1,
    });
    return Object.fromEntries(
      Object.entries(point ?? {}).filter(([name, count]) =>
        name !== "atMs" && count !== 0
      ),
    );
  };
  return { clock, counter, read, logger };
}

Deno.test("ActivityCounter counts what tasks do, of all, by worker and by job, in spans of each length", async () => {
  const { counter, read, clock } = open();
  const done = ended("completed", { status: "complete" });
  for (
    const [previous, next] of [
      [undefined, WAITING],
      [WAITING, RUNNING],
      [RUNNING, { ...RUNNING, version: 4 }],
      [RUNNING, done],
      [WAITING, { ...RUNNING, job: "other", lagMs: 900 }],
      [RUNNING, ended("failed", { status: "retry", job: "other" })],
      [RUNNING, ended("lost", { workerId: "wrk_b" })],
      [WAITING, { ...WAITING, missed: 3 }],
      [undefined, { ...WAITING, tenantId: "internal:tnt_a" }],
      [done, undefined],
    ] as const
  ) counter.note({ previous, next });
  assertEquals(await read(), {});
  await clock.advanceAsync(5_000);
  const all = {
    ...{ created: 1, started: 2, succeeded: 1, failed: 1, lost: 1 },
    ...{ completed: 1, missed: 3, lagSumMs: 1_300, lagMaxMs: 900 },
    runSumMs: 9_000,
  };
  assertEquals(await read(), all);
  assertEquals(await read({ stepMs: 5 * MINUTE_MS }), all);
  assertEquals(await read({ stepMs: 60 * MINUTE_MS }), all);
  assertEquals(await read({ workerId: "wrk_b" }), { lost: 1, runSumMs: 3_000 });
  assertEquals(await read({ workerId: "wrk_a", job: "other" }), {
    ...{ started: 1, failed: 1, lagSumMs: 900, lagMaxMs: 900 },
    runSumMs: 3_000,
  });
  assertEquals(await read({ tenantId: "internal:tnt_a" }), {});
  await counter.stop();
});

Deno.test("ActivityCounter counts jobs beyond the limit together, until the next hour", async () => {
  const { counter, read, clock } = open();
  const make = (index: number, over: Partial<Task> = {}): void =>
    counter.note({
      previous: undefined,
      next: { ...WAITING, job: `job ${index}`, ...over },
    });
  for (let index = 0; index < 600; index++) make(index);
  make(0, { workerId: "wrk_b" });
  make(3);
  await clock.advanceAsync(5_000);
  assertEquals(await read(), { created: 602 });
  assertEquals(await read({ workerId: "wrk_a" }), { created: 601 });
  assertEquals(await read({ workerId: "wrk_a", job: "job 3" }), { created: 2 });
  assertEquals(await read({ workerId: "wrk_a", job: "job 599" }), {});
  assertEquals(await read({ workerId: "wrk_a", job: "*" }), { created: 101 });
  assertEquals(await read({ workerId: "*" }), { created: 1 });
  await counter.stop();
});

Deno.test("ActivityCounter writes what it has at its stop, and what the store refused once it works again", async () => {
  let isDown = true;
  const { counter, read, clock, logger } = open((store) =>
    interceptStore(store, {
      commit(proceed) {
        if (isDown) throw new Error("The disk is full");
        return proceed();
      },
    })
  );
  counter.note({ previous: undefined, next: WAITING });
  await clock.advanceAsync(5_000);
  counter.note({ previous: undefined, next: WAITING });
  assertEquals(
    logger.messages[0],
    "Cannot store counted activity: the store failed",
  );
  assertEquals(await read(), {});
  isDown = false;
  await counter.stop();
  assertEquals(await read(), { created: 2 });
});
