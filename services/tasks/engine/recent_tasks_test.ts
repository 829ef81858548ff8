import { assertEquals } from "@std/assert";
import { RecentTasks } from "./recent_tasks.ts";
import { openTestEngine } from "./testing/test_engine.ts";

Deno.test("RecentTasks remembers a task as it was last written, while it runs", async () => {
  const { worker, task } = await openTestEngine();
  const made = await task(await worker());
  const recent = new RecentTasks();
  const running = { ...made, status: "running" as const };
  recent.update(running);
  assertEquals(recent.get(made.id), undefined);
  recent.add(running);
  recent.update({ ...running, version: 2 });
  assertEquals(recent.get(made.id)?.version, 2);
  recent.update({ ...made, version: 3 });
  assertEquals(recent.get(made.id), undefined);
});

Deno.test("RecentTasks keeps neither big tasks nor too many", async () => {
  const { worker, task } = await openTestEngine();
  const made = await task(await worker());
  const recent = new RecentTasks();
  recent.add({ ...made, dataJson: `"${"x".repeat(5_000)}"` });
  assertEquals(recent.get(made.id), undefined);
  for (let index = 0; index <= 20_000; index++) {
    recent.add({ ...made, id: `tsk_${index}` });
  }
  assertEquals(recent.get("tsk_0"), undefined);
  assertEquals(recent.get("tsk_1")?.id, "tsk_1");
});
