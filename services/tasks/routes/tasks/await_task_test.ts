import { assertEquals } from "@std/assert";
import {
  listFaults,
  openTasksApi,
  type TasksApi,
} from "./testing/tasks_api.ts";

/** Asks for a task with a wait; `at` is undefined until it is answered. */
function ask(api: TasksApi, id: string, wait: string, signal?: AbortSignal) {
  const seen: { status?: unknown } = {};
  const answer = api.call("GET", `/v1/tasks/${id}?wait=${wait}`, {
    ...(signal === undefined ? {} : { signal }),
  }).then((answer) => {
    seen.status = answer.at("status");
    return answer;
  });
  return { seen, answer };
}

Deno.test("GET /v1/tasks/:id?wait answers once the task has ended", async () => {
  for (const end of ["complete", "fail", "cancel", "delete"] as const) {
    const api = await openTasksApi();
    const id = (await api.create({ retry: null })).textAt("id");
    const asked = [ask(api, id, "PT30S"), ask(api, id, "30s")];
    await api.clock.advanceAsync(10_000);
    assertEquals(asked.map(({ seen }) => seen), [{}, {}]);
    if (end === "cancel") await api.call("POST", `/v1/tasks/${id}/cancel`);
    else if (end === "delete") await api.call("DELETE", `/v1/tasks/${id}`);
    else await api.work(end);
    for (const { answer } of asked) {
      const { status, json } = await answer;
      const shown = end === "delete"
        ? 404
        : { complete: "complete", fail: "failed", cancel: "canceled" }[end];
      const got = status === 200
        ? (json as { readonly status: string }).status
        : status;
      assertEquals(got, shown);
    }
    await api.close();
  }
});

Deno.test("GET /v1/tasks/:id?wait answers at once when the task has ended, or there is none", async () => {
  const api = await openTasksApi();
  await api.create();
  const id = await api.work("complete");
  assertEquals((await ask(api, id, "PT30S").answer).at("status"), "complete");
  const none = `${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}`;
  assertEquals((await ask(api, none, "PT30S").answer).status, 404);
  await api.close();
});

Deno.test("GET /v1/tasks/:id?wait answers with the task as it is when the time is over, the client has gone or the service stops", async () => {
  const api = await openTasksApi();
  const id = (await api.create()).textAt("id");
  const client = new AbortController();
  const late = ask(api, id, "PT5S");
  const gone = ask(api, id, "PT30S", client.signal);
  const stopped = ask(api, id, "PT30S");
  await api.clock.advanceAsync(4_999);
  assertEquals(late.seen, {});
  await api.clock.advanceAsync(1);
  assertEquals((await late.answer).at("status"), "waiting");
  client.abort();
  assertEquals((await gone.answer).at("status"), "waiting");
  assertEquals(stopped.seen, {});
  await api.engine.stop();
  assertEquals((await stopped.answer).at("status"), "waiting");
  assertEquals((await ask(api, id, "PT30S").answer).at("status"), "waiting");
  await api.close();
});

Deno.test("GET /v1/tasks/:id?wait waits for the last run of a task that repeats", async () => {
  const api = await openTasksApi();
  const repeat = { interval: "PT1M", limit: 1 };
  const id = (await api.create({ repeat })).textAt("id");
  const asked = ask(api, id, "PT30S");
  await api.clock.advanceAsync(0);
  await api.work("complete");
  await api.clock.advanceAsync(29_999);
  assertEquals(asked.seen, {});
  await api.clock.advanceAsync(1);
  assertEquals((await asked.answer).at("status"), "done");
  await api.close();
});

Deno.test("GET /v1/tasks/:id?wait shows nothing to a key that was removed meanwhile", async () => {
  const api = await openTasksApi();
  const id = (await api.create()).textAt("id");
  const key = await api.addKey();
  const waiting = api.call("GET", `/v1/tasks/${id}?wait=PT30S`, { key });
  await api.clock.advanceAsync(1_000);
  const { keys } = api.engine.parts.repositories;
  const keyId = key.slice(0, key.lastIndexOf("_"));
  const known = await keys.get(api.tenant.id, keyId);
  await api.write(keys.remove(known!));
  await api.work("complete");
  assertEquals((await waiting).status, 401);
  await api.close();
});

Deno.test("GET /v1/tasks/:id?wait refuses a wait that is too long or none", async () => {
  const api = await openTasksApi();
  const id = (await api.create()).textAt("id");
  for (
    const [wait, code] of [
      ["PT31S", "too_large"],
      ["31s", "too_large"],
      ["30", "bad_duration"],
      ["x", "bad_duration"],
    ] as const
  ) {
    const answer = await ask(api, id, wait).answer;
    assertEquals(answer.status, 422);
    assertEquals(listFaults(answer), [["wait", code]]);
  }
  await api.close();
});
