import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { scriptedFetch } from "../memory/testing/scripted_fetch.ts";
import { TasksClient } from "./tasks_client.ts";
import { timeText } from "./times.ts";

const DATE = new Date("2027-01-31T08:00:00Z");
const TEXT = "2027-01-31T08:00:00.000Z";
const NONE = new Date(NaN);

Deno.test("timeText() writes a Date as the service reads it, and refuses one that is invalid", () => {
  assertEquals(timeText("2027-01", "start"), "2027-01");
  assertEquals(timeText(DATE, "start"), TEXT);
  assertThrows(
    () => timeText(NONE, "start"),
    TypeError,
    'Cannot use "start": it is an invalid Date',
  );
});

Deno.test("TasksClient takes a Date wherever it takes an instant", async () => {
  const { fetch, seen } = scriptedFetch(() =>
    Response.json({ results: [], data: [], next: null })
  );
  const tasks = new TasksClient({
    ...{ url: "http://tasks.test", key: "dk_1" },
    fetch: fetch as typeof globalThis.fetch,
  });
  const calls: readonly ((time: Date) => Promise<unknown>)[] = [
    (time) => tasks.create({ worker: "w", date: time }),
    (time) => tasks.create({ worker: "w", expires: time }),
    (time) => tasks.create({ worker: "w", repeat: { until: time } }),
    (time) => tasks.createBatch([{ worker: "w", date: time }]),
    (time) => tasks.update("tsk_1", { date: time }),
    (time) => tasks.patch("tsk_1", { date: time }),
    (time) => tasks.previewSchedule({ repeat: {}, from: time }),
    (time) => tasks.apply({ action: "retry", filter: { end: time } }),
    (time) => tasks.list({ start: time }).take(1),
    (time) => tasks.workers.createCredential("w", { expiresAt: time }),
    (time) => tasks.keys.create({ expires_at: time }),
  ];
  for (const call of calls) {
    await call(DATE);
    const { path, body } = seen.at(-1)!;
    const sent = decodeURIComponent(path) + new TextDecoder().decode(body);
    assertEquals(sent.includes(TEXT), true, sent);
    const before = seen.length;
    await assertRejects(
      async () => await call(NONE),
      TypeError,
      "invalid Date",
    );
    assertEquals(seen.length, before);
  }
});
