import { assertEquals } from "@std/assert";
import { createScriptedCalls } from "./testing/scripted_calls.ts";
import { WebhooksClient } from "./webhooks_client.ts";

Deno.test("WebhooksClient calls the routes of webhooks and their deliveries", async () => {
  const { calls, seen } = createScriptedCalls(() =>
    Response.json({ id: "whk_1", data: [{ id: "dlv_1" }], next: null })
  );
  const webhooks = new WebhooksClient(calls);
  await webhooks.create({ url: "https://example.com/" });
  await webhooks.get("whk_1");
  await webhooks.update("whk_1", { enabled: false }, { ifVersion: 2 });
  await webhooks.rotate("whk_1");
  await webhooks.test("whk_1");
  await webhooks.remove("whk_1");
  for await (const { id } of webhooks.list({ limit: 5 })) {
    assertEquals(id, "dlv_1");
  }
  const filter = { status: "failed", task: "tsk_1" } as const;
  for await (const { id } of webhooks.deliveries(filter)) {
    assertEquals(id, "dlv_1");
  }
  await webhooks.delivery("dlv_1");
  await webhooks.redeliver("dlv_1");
  assertEquals(
    seen.map(({ path, init }) =>
      `${init.method} ${path.replace("/api/v1/", "")}`
    ),
    [
      "POST webhooks",
      "GET webhooks/whk_1",
      "PATCH webhooks/whk_1",
      "POST webhooks/whk_1/rotate",
      "POST webhooks/whk_1/test",
      "DELETE webhooks/whk_1",
      "GET webhooks?limit=5",
      "GET deliveries?status=failed&task=tsk_1",
      "GET deliveries/dlv_1",
      "POST deliveries/dlv_1/redeliver",
    ],
  );
});
