import { assertEquals } from "@std/assert";
import { listFaults, openTasksApi } from "./testing/tasks_api.ts";

const HOUR_MS = 3_600_000;

Deno.test("POST /v1/tasks keeps an ended task as long as its retain says", async () => {
  const api = await openTasksApi();
  const made = await api.create({
    retain: { succeeded: "PT1H", failed: "P2D" },
    retry: null,
  });
  assertEquals(made.at("retain"), { succeeded: "PT1H", failed: "PT48H" });
  assertEquals(made.at("kept_until"), undefined);
  const path = `/v1/tasks/${made.textAt("id")}`;
  await api.work("complete");
  const ended = await api.call("GET", path);
  const untilMs = (text: string): number =>
    Date.parse(text) - api.clock.nowMs();
  assertEquals(untilMs(ended.textAt("kept_until")), HOUR_MS);
  const explained = await api.call("GET", `${path}/explain`);
  assertEquals(
    explained.at("hindrances", 0, "message"),
    "It is complete and does nothing more; retry it to run it again, within " +
      "1 h: then it is removed",
  );

  const longer = { retain: { succeeded: "PT3H" } };
  const changed = await api.send("PATCH", path, longer);
  assertEquals(changed.at("retain"), { succeeded: "PT3H", failed: "PT48H" });
  assertEquals(untilMs(changed.textAt("kept_until")), 3 * HOUR_MS);
  const reset = await api.send("PUT", path, { retain: null });
  assertEquals(reset.at("retain"), undefined);
  assertEquals(untilMs(reset.textAt("kept_until")), 30 * 24 * HOUR_MS);

  const failing = await api.create({ retain: { failed: "P2D" }, retry: null });
  await api.work("fail");
  const failed = await api.call("GET", `/v1/tasks/${failing.textAt("id")}`);
  assertEquals(untilMs(failed.textAt("kept_until")), 48 * HOUR_MS);
  await api.close();
});

Deno.test("POST /v1/tasks refuses to keep a task longer than the plan", async () => {
  const api = await openTasksApi({ limits: { retentionMs: HOUR_MS } });
  const answer = await api.create({ retain: { failed: "PT2H" } });
  assertEquals(answer.status, 422);
  assertEquals(listFaults(answer), [["/retain/failed", "too_large"]]);
  assertEquals(
    answer.at("detail"),
    "Cannot keep tasks so long: the plan keeps them for PT1H",
  );
  const fits = await api.create({ retain: { failed: "PT1H" } });
  assertEquals(fits.status, 201);
  await api.close();
});
