import { assertEquals } from "@std/assert";
import { openTasksApi, type TasksApi } from "./testing/tasks_api.ts";

Deno.test("POST /v1/tasks gives the first answer again to the same Idempotency-Key", async () => {
  const api = await openTasksApi();
  const headers = { "idempotency-key": "k-1" };
  const body = { worker: "mailer", data: 1 };
  const first = await api.send("POST", "/v1/tasks", body, { headers });
  const again = await api.send("POST", "/v1/tasks", body, { headers });
  assertEquals(again.status, 201);
  assertEquals(again.json, first.json);
  assertEquals(again.headers.location, first.headers.location);
  assertEquals(again.headers["idempotency-replayed"], "true");
  assertEquals(await fetchCount(api), 1);
  const other = await api.send("POST", "/v1/tasks", { worker: "mailer" }, {
    headers,
  });
  assertEquals([other.status, other.at("code")], [
    422,
    "idempotency_key_reused",
  ]);
  assertEquals(other.headers["retry-after"], "86400");
  const [left, right] = await Promise.all(
    [1, 2].map(() =>
      api.send("POST", "/v1/tasks", body, {
        headers: { "idempotency-key": "k-2" },
      })
    ),
  );
  assertEquals([left?.status, right?.status], [201, 409]);
  assertEquals(right?.at("code"), "idempotency_in_progress");
  assertEquals(await fetchCount(api), 2);
  await api.close();
});

Deno.test("POST /v1/tasks keeps a refusal for the same Idempotency-Key too", async () => {
  const api = await openTasksApi();
  const headers = { "idempotency-key": "k-1" };
  const body = { worker: "later" };
  const first = await api.send("POST", "/v1/tasks", body, { headers });
  await api.addWorker({ name: "later" });
  const again = await api.send("POST", "/v1/tasks", body, { headers });
  assertEquals([first.status, again.status], [422, 422]);
  assertEquals(again.headers["idempotency-replayed"], "true");
  await api.close();
});

async function fetchCount(api: TasksApi): Promise<unknown> {
  return (await api.call("GET", "/v1/tasks?count=true")).at("count");
}
