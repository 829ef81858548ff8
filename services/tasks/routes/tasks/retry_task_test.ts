import { assertEquals, assertStringIncludes } from "@std/assert";
import { openTasksApi, type TasksApi } from "./testing/tasks_api.ts";

/** A failed task, one that failed by it, and one that failed by that one. */
async function openFailedChain(
  options: Parameters<typeof openTasksApi>[0] = {},
) {
  const api = await openTasksApi(options);
  const first = (await api.create({ retry: null })).textAt("id");
  const second = (await api.create({ dependencies: [first], key: "k" }))
    .textAt("id");
  const third = (await api.create({ dependencies: [second] })).textAt("id");
  await api.work("fail");
  assertEquals(await statuses(api, [first, second, third]), [
    "failed",
    "failed",
    "failed",
  ]);
  return { api, first, second, third };
}

async function statuses(
  api: TasksApi,
  ids: readonly string[],
): Promise<readonly unknown[]> {
  await api.clock.advanceAsync(0);
  const answers = await Promise.all(
    ids.map((id) => api.call("GET", `/v1/tasks/${id}`)),
  );
  return answers.map((answer) => answer.at("status"));
}

Deno.test("POST /v1/tasks/:id/retry revives all that failed by the task, and tells it", async () => {
  const { api, first, second, third } = await openFailedChain();
  const read = await api.call("GET", `/v1/tasks/${second}`);
  assertEquals(read.at("error", "code"), "dependency_failed");
  assertEquals(read.at("error", "dependency"), first);
  const answer = await api.call("POST", `/v1/tasks/${first}/retry`);
  assertEquals(answer.status, 200);
  assertEquals(answer.at("revived_dependents"), {
    count: 2,
    ids: [second, third],
    is_complete: true,
  });
  const all = [first, second, third];
  assertEquals(await statuses(api, all), ["waiting", "blocked", "blocked"]);
  await api.work("complete");
  await api.clock.advanceAsync(0);
  assertEquals(await api.work("complete"), second);
  await api.clock.advanceAsync(0);
  assertEquals(await api.work("complete"), third);
  await api.close();
});

Deno.test("POST /v1/tasks/:id/retry revives none when it is not to, or the task has not ended", async () => {
  const { api, first, second } = await openFailedChain();
  const path = `/v1/tasks/${first}/retry`;
  const body = { revive_dependents: false };
  const answer = await api.send("POST", path, body);
  assertEquals(answer.at("revived_dependents"), undefined);
  assertEquals(await statuses(api, [first, second]), ["waiting", "failed"]);
  await api.work("complete");
  // What failed by it stays so until it is retried again.
  assertEquals(
    (await api.call("POST", path)).at("revived_dependents", "count"),
    2,
  );
  await api.close();
});

Deno.test("POST /v1/tasks/:id/retry leaves dependents that cannot live again", async () => {
  const { api, first, second, third } = await openFailedChain();
  await api.create({ key: "k" });
  const answer = await api.call("POST", `/v1/tasks/${first}/retry`);
  assertEquals(answer.at("revived_dependents", "count"), 0);
  assertEquals(await statuses(api, [first, second, third]), [
    "waiting",
    "failed",
    "failed",
  ]);
  await api.close();
});

Deno.test("POST /v1/tasks/:id/retry needs room in the plan for all, and takes none when refused", async () => {
  const { api, first, second } = await openFailedChain({
    limits: { activeTasks: 3 },
  });
  await api.create();
  const path = `/v1/tasks/${first}/retry`;
  for (let count = 0; count < 2; count++) {
    const answer = await api.call("POST", path);
    assertEquals([answer.status, answer.at("code")], [403, "quota_exceeded"]);
    assertStringIncludes(answer.textAt("detail"), "revive_dependents");
  }
  assertEquals(await statuses(api, [first, second]), ["failed", "failed"]);
  const alone = await api.send("POST", path, { revive_dependents: false });
  assertEquals(alone.status, 200);
  await api.close();
});

Deno.test("POST /v1/tasks/:id/retry keeps a revived task from being waited for in a circle", async () => {
  const { api, second, third } = await openFailedChain();
  const other = (await api.create({ dependencies: [], delay: "60s" }))
    .textAt("id");
  const older = (await api.create({ dependencies: [other] })).textAt("id");
  const broken = (await api.create({ retry: null })).textAt("id");
  const newer = (await api.create({ dependencies: [broken, older] }))
    .textAt("id");
  await api.work("fail");
  assertEquals(await statuses(api, [older, newer]), ["blocked", "failed"]);
  const answer = await api.send("PUT", `/v1/tasks/${older}`, {
    dependencies: [newer],
  });
  assertEquals(answer.status, 422);
  assertEquals(answer.at("errors", 0, "code"), "circular");
  // Older tasks can be depended on in any state.
  const fine = await api.create({ dependencies: [second, third] });
  assertEquals(fine.status, 201);
  await api.close();
});
