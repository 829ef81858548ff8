import { assertEquals } from "@std/assert";
import { taskOfLease } from "./lease_id.ts";
import { openTestEngine } from "./testing/test_engine.ts";

Deno.test("taskOfLease() gives the task of a lease, and of nothing else", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const made = await world.task(mailer);
  const [grant] = await world.lease(mailer);
  assertEquals(taskOfLease(grant?.task.attempt?.id ?? ""), made.id);
  const id = made.id.slice(4);
  for (
    const bad of [
      "",
      id,
      `lse_${id}`,
      `lse_${id}_0`,
      `lse_${id}_01`,
      `lse_${id}_1x`,
      `lse_${id}_99999999999999999`,
      `lse_${id.toUpperCase()}_1`,
      `lse_${id}_1\n`,
    ]
  ) assertEquals(taskOfLease(bad), undefined, JSON.stringify(bad));
});
