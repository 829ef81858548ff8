import { assertEquals } from "@std/assert";
import { openTasksApi } from "./testing/tasks_api.ts";

Deno.test("nextDates() tells the slots ahead, within limit and end", async () => {
  const api = await openTasksApi();
  const now = api.clock.nowMs();
  const at = (days: number) => new Date(now + days * 86_400_000).toISOString();
  const next = async (body: Record<string, unknown>) =>
    (await api.create(body)).at("next");
  const repeat = { interval: "PT24H" };
  assertEquals(await next({ repeat }), [at(1), at(2), at(3)]);
  assertEquals(await next({ repeat, delay: "PT24H" }), [at(1), at(2), at(3)]);
  assertEquals(await next({ repeat: { ...repeat, limit: 1 } }), [at(1)]);
  assertEquals(await next({ repeat: { ...repeat, limit: 0 } }), []);
  assertEquals(await next({ repeat: { ...repeat, until: at(2) } }), [
    at(1),
    at(2),
  ]);
  assertEquals(await next({}), []);
  await api.close();
});

Deno.test("nextDates() follows a task through its runs", async () => {
  const api = await openTasksApi();
  const now = api.clock.nowMs();
  const at = (days: number) => new Date(now + days * 86_400_000).toISOString();
  await api.create({
    repeat: { interval: "PT24H", limit: 2 },
    retry: { limit: 1, interval: "60s" },
  });
  const next = async (id: string) =>
    (await api.call("GET", `/v1/tasks/${id}`)).at("next");
  const id = await api.work("fail");
  assertEquals(await next(id), [at(1), at(2)]);
  await api.call("POST", `/v1/tasks/${id}/retry`);
  await api.work("complete");
  assertEquals(await next(id), [at(1), at(2)]);
  await api.call("POST", `/v1/tasks/${id}/cancel`);
  assertEquals(await next(id), []);
  await api.close();
});

Deno.test("nextDates() tells the slot that stays ahead of a run by hand", async () => {
  const api = await openTasksApi();
  const now = api.clock.nowMs();
  const at = (days: number) => new Date(now + days * 86_400_000).toISOString();
  await api.create({ repeat: { interval: "PT24H", limit: 1 } });
  const id = await api.work("complete");
  const next = async () =>
    (await api.call("GET", `/v1/tasks/${id}`)).at("next");
  assertEquals(await next(), [at(1)]);
  await api.call("POST", `/v1/tasks/${id}/run`);
  assertEquals(await next(), [at(1)]);
  await api.take();
  assertEquals(await next(), [at(1)]);
  await api.close();
});

Deno.test("nextDates() counts slots that are still to be caught up for the limit", async () => {
  const api = await openTasksApi();
  const now = api.clock.nowMs();
  const at = (hours: number) => new Date(now + hours * 3_600_000).toISOString();
  const next = async (catch_up: string, limit: number, more = {}) =>
    (await api.create({
      date: at(-5),
      repeat: { interval: "PT1H", catch_up, limit },
      ...more,
    })).at("next");
  assertEquals(await next("all", 2), []);
  assertEquals(await next("all", 5), []);
  assertEquals(await next("all", 7), [at(1), at(2)]);
  // With "one", a single run makes up for all that were missed.
  assertEquals(await next("one", 2), [at(1), at(2)]);
  // An occurrence at this very moment is on time.
  assertEquals(await next("none", 2), [at(1), at(2)]);
  assertEquals(await next("all", 7, { status: "paused" }), [at(1), at(2)]);
  await api.close();
});
