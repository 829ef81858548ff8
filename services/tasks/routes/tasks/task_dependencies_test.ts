import { assertEquals } from "@std/assert";
import {
  listFaults,
  openTasksApi,
  type TasksApi,
} from "./testing/tasks_api.ts";

/** A task that waits a minute, one that depends on it, and one on that. */
async function openChain() {
  const api = await openTasksApi();
  const first = (await api.create({ delay: "60s" })).textAt("id");
  const second = (await api.create({ dependencies: [first] })).textAt("id");
  const third = (await api.create({ dependencies: [second] })).textAt("id");
  return { api, first, second, third };
}

function giveDependencies(api: TasksApi, id: string, dependencies: unknown) {
  return api.send("PUT", `/v1/tasks/${id}`, { dependencies });
}

Deno.test("PUT /v1/tasks/:id refuses dependencies that could close a circle", async () => {
  const { api, first, second, third } = await openChain();
  for (const id of [second, third]) {
    const answer = await giveDependencies(api, second, [first, id]);
    assertEquals([answer.status, answer.at("code")], [422, "invalid"]);
    assertEquals(listFaults(answer), [["/dependencies/1", "circular"]]);
  }
  await api.send("POST", `/v1/tasks/${third}/pause`, {});
  const paused = await giveDependencies(api, second, [third]);
  assertEquals(listFaults(paused), [["/dependencies/0", "circular"]]);
  const patched = await api.send("PATCH", `/v1/tasks/${second}`, {
    dependencies: [second],
  });
  assertEquals(listFaults(patched), [["/dependencies/0", "circular"]]);
  const itself = await giveDependencies(api, first, [first]);
  assertEquals(listFaults(itself), [["/dependencies/0", "circular"]]);
  await api.close();
});

Deno.test("PUT /v1/tasks/:id takes dependencies that wait for nothing or are older", async () => {
  const { api, first, second, third } = await openChain();
  const later = (await api.create({ status: "paused" })).textAt("id");
  for (
    const [id, dependencies] of [
      [second, [first, later]],
      [third, [first, later]],
      [third, [second, first]],
    ] as const
  ) {
    const answer = await giveDependencies(api, id, dependencies);
    assertEquals([answer.status, answer.at("dependencies")], [
      200,
      dependencies,
    ]);
    assertEquals(answer.at("status"), "blocked");
  }
  await api.close();
});

Deno.test("POST /v1/tasks refuses to replace a task by one that waits for it", async () => {
  const api = await openTasksApi();
  const first = (await api.create({ delay: "60s" })).textAt("id");
  const keyed = { key: "k", dependencies: [first] };
  const second = (await api.create(keyed)).textAt("id");
  const third = (await api.create({ dependencies: [second] })).textAt("id");
  for (const id of [second, third]) {
    const body = { ...keyed, dependencies: [id], on_conflict: "replace" };
    const answer = await api.create(body);
    assertEquals([answer.status, answer.at("code")], [422, "invalid"]);
    assertEquals(listFaults(answer), [["/dependencies/0", "circular"]]);
    const batch = await api.send("POST", "/v1/tasks/batch", {
      tasks: [{ worker: "mailer" }, { worker: "mailer", ...body }],
    });
    assertEquals(
      batch.at("results", 1, "problem", "errors", 0, "pointer"),
      "/tasks/1/dependencies/0",
    );
  }
  const path = `/v1/tasks/${second}`;
  assertEquals((await api.call("GET", path)).at("dependencies"), [first]);
  await api.close();
});
