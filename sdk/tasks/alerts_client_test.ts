import { assertEquals } from "@std/assert";
import { AlertsClient } from "./alerts_client.ts";
import { createScriptedCalls } from "./testing/scripted_calls.ts";

Deno.test("AlertsClient calls the routes of alerts", async () => {
  const { calls, seen } = createScriptedCalls(() =>
    Response.json({ id: "alr_1", data: [{ id: "alr_1" }], next: null })
  );
  const alerts = new AlertsClient(calls);
  const when = { count: "failed", within: "PT5M" } as const;
  const made = await alerts.create({
    when,
    send: { url: "https://example.com/", template: "slack" },
  });
  assertEquals(made.id, "alr_1");
  await alerts.get("alr_1");
  await alerts.update("alr_1", { enabled: false }, { ifVersion: 2 });
  await alerts.test("alr_1");
  await alerts.remove("alr_1");
  for await (const { id } of alerts.list()) assertEquals(id, "alr_1");
  assertEquals(
    seen.map(({ path, init }) =>
      `${init.method} ${path.replace("/api/v1/", "")}`
    ),
    [
      "POST alerts",
      "GET alerts/alr_1",
      "PUT alerts/alr_1",
      "POST alerts/alr_1/test",
      "DELETE alerts/alr_1",
      "GET alerts",
    ],
  );
});
