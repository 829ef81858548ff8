import { assertEquals } from "@std/assert";
import {
  listFaults,
  openTasksApi,
  type TasksApi,
} from "./testing/tasks_api.ts";

/** Makes a task that failed, was retried and succeeded. */
async function withStory(api: TasksApi): Promise<string> {
  await api.create({ retry: { limit: 1, interval: "5s" }, data: 1 });
  const id = await api.work("fail");
  await api.call("POST", `/v1/tasks/${id}/retry`);
  await api.work("complete");
  return id;
}

Deno.test("GET /v1/tasks/:id/history tells all of it, the oldest first", async () => {
  const api = await openTasksApi();
  const id = await withStory(api);
  const answer = await api.call("GET", `/v1/tasks/${id}/history`);
  assertEquals(answer.status, 200);
  const data = Object(answer.json).data;
  const types = data.map(({ type }: { type: string }) => type);
  assertEquals(types[0], "created");
  assertEquals(types.filter((type: string) => type === "started").length, 2);
  assertEquals(types.at(-1), "completed");
  assertEquals(data[0].actor, { type: "key", id: api.ownerKey.slice(0, 19) });
  const failed = data.find(({ type }: { type: string }) => type === "failed");
  assertEquals(failed.error.code, "boom");
  assertEquals(failed.status, "retry");
  const succeeded = data.find(({ type }: { type: string }) =>
    type === "succeeded"
  );
  assertEquals(succeeded.result, '{"sent":1}');
  await api.close();
});

Deno.test("GET /v1/tasks/:id/history filters, orders and pages", async () => {
  const api = await openTasksApi();
  const id = await withStory(api);
  const read = async (query: string) => {
    const answer = await api.call("GET", `/v1/tasks/${id}/history?${query}`);
    return { ...Object(answer.json), answer };
  };
  const all = (await read("")).data;
  assertEquals((await read("order=desc")).data, all.toReversed());
  const two = (await read("type=started,failed")).data;
  assertEquals(two.map(({ type }: { type: string }) => type), [
    "started",
    "failed",
    "started",
  ]);
  assertEquals((await read("run=1")).data, []);
  const pages = [];
  let cursor = "";
  for (let page = 0; page < 20; page++) {
    const { data, next } = await read(`limit=2${cursor}`);
    pages.push(...data);
    if (next === null) break;
    cursor = `&cursor=${next}`;
  }
  assertEquals(pages, all);
  const wrong = await read(`limit=2&order=desc${cursor}`);
  assertEquals(listFaults(wrong.answer), [["cursor", "bad_cursor"]]);
  const unknown = await read("type=nope");
  assertEquals(listFaults(unknown.answer), [["type", "unknown_choice"]]);
  await api.close();
});

Deno.test("GET /v1/tasks/:id/history hides what tasks carry from who may not see it", async () => {
  const api = await openTasksApi();
  const id = (await api.create({ data: "secret-1" })).textAt("id");
  await api.send("PUT", `/v1/tasks/${id}`, { data: "secret-2" });
  await api.work("complete");
  const key = await api.addKey({ payloads: false });
  const blind = await api.call("GET", `/v1/tasks/${id}/history`, { key });
  assertEquals([blind.text.includes("secret"), blind.text.includes("sent")], [
    false,
    false,
  ]);
  assertEquals(blind.at("data", 1, "changes"), [{ field: "data" }]);
  const seeing = await api.call("GET", `/v1/tasks/${id}/history`);
  assertEquals(
    [seeing.text.includes("secret-2"), seeing.text.includes("sent")],
    [true, true],
  );
  await api.close();
});

Deno.test("GET /v1/tasks/:id/attempts lists attempts with their ends", async () => {
  const api = await openTasksApi();
  await api.create({ retry: { limit: 9, interval: "1s" } });
  const id = await api.work("fail");
  for (const _ of [1, 2]) {
    await api.call("POST", `/v1/tasks/${id}/retry`);
    await api.work("fail");
  }
  await api.call("POST", `/v1/tasks/${id}/retry`);
  await api.take();
  await api.call("POST", `/v1/tasks/${id}/cancel`);
  await api.call("POST", `/v1/tasks/${id}/retry`);
  await api.take();
  const read = async (query = "") =>
    Object((await api.call("GET", `/v1/tasks/${id}/attempts?${query}`)).json);
  const all = (await read()).data;
  const outcomes = all.map(({ outcome }: { outcome: string }) => outcome);
  assertEquals(outcomes, ["failed", "failed", "failed", "canceled", "running"]);
  assertEquals(all[0].error.code, "boom");
  assertEquals([all[4].ended_at, all[4].duration, all[4].run], [null, null, 1]);
  assertEquals((await read("order=desc")).data, all.toReversed());
  const first = await read("limit=2");
  assertEquals(first.data, all.slice(0, 2));
  const second = await read(`limit=2&cursor=${first.next}`);
  assertEquals(second.data, all.slice(2, 4));
  await api.close();
});

Deno.test("GET /v1/tasks/:id/attempts shows the one under way whose beginning was folded away", async () => {
  const api = await openTasksApi({ limits: { historyPerTask: 10 } });
  const id = (await api.create()).textAt("id");
  await api.take();
  const read = async (query: string) => {
    const path = `/v1/tasks/${id}/attempts?${query}`;
    return Object((await api.call("GET", path)).json).data;
  };
  const before = await read("");
  assertEquals(before.length, 1);
  for (let count = 0; count < 40; count++) {
    await api.send("PUT", `/v1/tasks/${id}`, { priority: count % 2 });
  }
  const { data: starts } = Object(
    (await api.call("GET", `/v1/tasks/${id}/history?type=started`)).json,
  );
  assertEquals(starts, []);
  for (const order of ["asc", "desc"]) {
    assertEquals(await read(`order=${order}`), before, order);
  }
  await api.call("POST", `/v1/tasks/${id}/cancel`);
  assertEquals(await read(""), []);
  await api.close();
});

Deno.test("GET /v1/tasks/:id/history tells what was folded away, and chains the rest", async () => {
  const api = await openTasksApi({ limits: { historyPerTask: 20 } });
  const id = (await api.create({ key: "k" })).textAt("id");
  for (let count = 0; count < 60; count++) {
    const changed = count % 2 === 0
      ? await api.send("PUT", `/v1/tasks/${id}`, { priority: count % 3 - 1 })
      : await api.create({
        key: "k",
        on_conflict: "replace",
        priority: count % 4 + 1,
      });
    assertEquals(changed.status, 200);
  }
  const { data } = Object(
    (await api.call("GET", `/v1/tasks/${id}/history`)).json,
  );
  assertEquals(data.length <= 20, true);
  const folded = data.findLast(({ type }: { type: string }) =>
    type === "folded"
  );
  assertEquals(folded.folded, {
    count: data[0].seq - 1,
    hash: data[0].prev,
  });
  assertEquals(folded.actor, { type: "system", id: "system" });
  assertEquals(data.at(-1).seq > 60, true);
  const links = (name: "prev" | "hash") =>
    data.map((record: Record<string, string>) => record[name]);
  assertEquals(links("prev").slice(1), links("hash").slice(0, -1));
  const only = Object(
    (await api.call("GET", `/v1/tasks/${id}/history?type=folded`)).json,
  );
  assertEquals(only.data.length >= 1, true);
  await api.close();
});
