import { leaseHolder } from "../../engine/leases.ts";
import { assertEquals } from "@std/assert";
import { openTasksApi, type TasksApi } from "./testing/tasks_api.ts";

/** Makes a task in each status, through the API and its worker. */
const MAKERS: Readonly<Record<string, (api: TasksApi) => Promise<string>>> = {
  scheduled: async (api) => (await api.create({ delay: "60s" })).textAt("id"),
  waiting: async (api) => (await api.create()).textAt("id"),
  blocked: async (api) => {
    const first = await api.create({ delay: "60s" });
    return (await api.create({ dependencies: [first.textAt("id")] }))
      .textAt("id");
  },
  running: async (api) => {
    await api.create();
    return await api.take();
  },
  retry: async (api) => {
    await api.create({ retry: { limit: 1, interval: "60s" } });
    return await api.work("fail");
  },
  done: async (api) => {
    await api.create({ repeat: { interval: "P1D" } });
    return await api.work("complete");
  },
  paused: async (api) => (await api.create({ status: "paused" })).textAt("id"),
  complete: async (api) => {
    await api.create();
    return await api.work("complete");
  },
  failed: async (api) => {
    await api.create({ retry: null });
    return await api.work("fail");
  },
  canceled: async (api) => {
    const id = (await api.create()).textAt("id");
    await api.call("POST", `/v1/tasks/${id}/cancel`);
    return id;
  },
  expired: async (api) =>
    (await api.create({
      date: "2020-01-01T00:00:00Z",
      expires: "2020-01-02T00:00:00Z",
    })).textAt("id"),
};

/** The status after each verb, or 409 where the verb is refused. */
const AFTER: readonly (readonly [
  string,
  Readonly<Record<string, string | number>>,
])[] = [
  ["scheduled", {
    cancel: "canceled",
    retry: 409,
    run: "waiting",
    pause: "paused",
    resume: "scheduled",
  }],
  ["waiting", {
    cancel: "canceled",
    retry: 409,
    run: "waiting",
    pause: "paused",
    resume: "waiting",
  }],
  ["blocked", {
    cancel: "canceled",
    retry: 409,
    run: "waiting",
    pause: "paused",
    resume: "blocked",
  }],
  ["running", {
    cancel: "canceled",
    retry: 409,
    run: 409,
    pause: 409,
    resume: "running",
  }],
  ["retry", {
    cancel: "canceled",
    retry: "waiting",
    run: "retry",
    pause: "paused",
    resume: "retry",
  }],
  ["done", {
    cancel: "canceled",
    retry: 409,
    run: "done",
    pause: "paused",
    resume: "done",
  }],
  ["paused", {
    cancel: "canceled",
    retry: 409,
    run: 409,
    pause: "paused",
    resume: "waiting",
  }],
  ["complete", {
    cancel: 409,
    retry: "waiting",
    run: 409,
    pause: 409,
    resume: 409,
  }],
  ["failed", {
    cancel: 409,
    retry: "waiting",
    run: 409,
    pause: 409,
    resume: 409,
  }],
  ["canceled", {
    cancel: "canceled",
    retry: "waiting",
    run: 409,
    pause: 409,
    resume: 409,
  }],
  ["expired", {
    cancel: 409,
    retry: "waiting",
    run: 409,
    pause: 409,
    resume: 409,
  }],
];

for (const [status, verbs] of AFTER) {
  for (const [verb, after] of Object.entries(verbs)) {
    Deno.test(`POST /v1/tasks/:id/${verb} of a task that is ${status} comes to ${after}`, async () => {
      const api = await openTasksApi();
      const id = await MAKERS[status]?.(api) ?? "";
      const before = await api.call("GET", `/v1/tasks/${id}`);
      assertEquals(before.at("status"), status);
      const answer = await api.call("POST", `/v1/tasks/${id}/${verb}`);
      if (after === 409) {
        assertEquals([answer.status, answer.at("code")], [409, "wrong_state"]);
        assertEquals(answer.at("state"), status);
      } else {
        assertEquals([answer.status, answer.at("status")], [200, after]);
      }
      const now = await api.call("GET", `/v1/tasks/${id}`);
      assertEquals(now.at("status"), after === 409 ? status : after);
      assertEquals(now.headers.etag, `"${now.at("version")}"`);
      await api.close();
    });
  }
}

Deno.test("POST /v1/tasks/:id/cancel keeps the reason in the history", async () => {
  const api = await openTasksApi();
  const id = (await api.create()).textAt("id");
  await api.send("POST", `/v1/tasks/${id}/cancel`, { reason: "no need" });
  const history = await api.call(
    "GET",
    `/v1/tasks/${id}/history?type=canceled`,
  );
  assertEquals(history.at("data", 0, "message"), "no need");
  const wrong = await api.send("POST", `/v1/tasks/${id}/retry`, { reason: "" });
  assertEquals(wrong.status, 422);
  await api.close();
});

Deno.test("POST /v1/tasks/:id/run gives the first answer again to the same Idempotency-Key", async () => {
  const api = await openTasksApi();
  const id = (await api.create({ delay: "60s" })).textAt("id");
  const call = { headers: { "idempotency-key": "r" } };
  const first = await api.call("POST", `/v1/tasks/${id}/run`, call);
  await api.work("complete");
  const again = await api.call("POST", `/v1/tasks/${id}/run`, call);
  assertEquals(again.json, first.json);
  assertEquals(again.headers["idempotency-replayed"], "true");
  const other = await api.call("POST", `/v1/tasks/${id}/pause`, call);
  assertEquals(other.status, 409);
  await api.close();
});

Deno.test("POST /v1/tasks/:id/retry refuses a task whose key another one has by now", async () => {
  const api = await openTasksApi();
  await api.create({ key: "k" });
  const id = await api.work("complete");
  await api.create({ key: "k" });
  const answer = await api.call("POST", `/v1/tasks/${id}/retry`);
  assertEquals([answer.status, answer.at("code")], [409, "wrong_state"]);
  await api.close();
});

for (const verb of ["cancel", "retry", "run", "pause", "resume"]) {
  Deno.test(`POST /v1/tasks/:id/${verb} heeds If-Match`, async () => {
    const api = await openTasksApi();
    const makers: Readonly<Record<string, string>> = {
      retry: "failed",
      resume: "paused",
    };
    const id = await MAKERS[makers[verb] ?? "scheduled"]?.(api) ?? "";
    const { etag = "" } = (await api.call("GET", `/v1/tasks/${id}`)).headers;
    const call = (tag: string) =>
      api.call("POST", `/v1/tasks/${id}/${verb}`, {
        headers: { "if-match": tag },
      });
    const other = await call('"99"');
    assertEquals([other.status, other.at("code")], [
      412,
      "precondition_failed",
    ]);
    assertEquals((await call("99")).status, 400);
    const now = await api.call("GET", `/v1/tasks/${id}`);
    assertEquals(now.headers.etag, etag);
    assertEquals((await call(etag)).status, 200);
    assertEquals((await call(etag)).status, 412);
    await api.close();
  });
}

for (const [status, make] of Object.entries(MAKERS)) {
  Deno.test(`DELETE /v1/tasks/:id removes a task that is ${status}`, async () => {
    const api = await openTasksApi();
    const id = await make(api);
    const answer = await api.call("DELETE", `/v1/tasks/${id}`);
    assertEquals([answer.status, answer.text], [204, ""]);
    for (const path of ["", "/history", "/attempts", "/explain"]) {
      const gone = await api.call("GET", `/v1/tasks/${id}${path}`);
      assertEquals([gone.status, gone.at("code")], [404, "not_found"]);
    }
    assertEquals((await api.call("DELETE", `/v1/tasks/${id}`)).status, 404);
    const [entry] = await api.store.audit({
      tenantId: api.tenant.id,
      limit: 1,
    });
    assertEquals(entry?.action, "task.removed");
    assertEquals(JSON.parse(entry?.text ?? "").target, id);
    await api.close();
  });
}

Deno.test("DELETE /v1/tasks/:id ends the lease of a task that runs", async () => {
  const api = await openTasksApi();
  await api.create();
  const [grant] = await api.engine.leases.lease({
    tenantId: api.tenant.id,
    workerId: api.worker.id,
    max: 1,
    waitMs: 0,
  });
  await api.call("DELETE", `/v1/tasks/${grant?.task.id}`);
  const said = await api.engine.leases.report({
    holder: leaseHolder({
      tenantId: api.tenant.id,
      leaseId: grant?.task.attempt?.id ?? "",
      token: grant?.token ?? "",
    }),
    event: (lease) => ({ kind: "complete", lease }),
  });
  assertEquals(said.kind === "ok", false);
  await api.close();
});

Deno.test("DELETE /v1/tasks/:id heeds If-Match", async () => {
  const api = await openTasksApi();
  const id = (await api.create()).textAt("id");
  const call = (tag: string) =>
    api.call("DELETE", `/v1/tasks/${id}`, { headers: { "if-match": tag } });
  assertEquals((await call('"2"')).status, 412);
  assertEquals((await call('"1"')).status, 204);
  await api.close();
});

Deno.test("POST /v1/tasks/:id/retry refuses a task whose worker was removed", async () => {
  const api = await openTasksApi();
  await api.create();
  const id = await api.work("complete");
  await api.write(api.engine.parts.repositories.workers.remove(api.worker));
  const answer = await api.call("POST", `/v1/tasks/${id}/retry`);
  assertEquals([answer.status, answer.at("code")], [422, "unknown_worker"]);
  const now = await api.call("GET", `/v1/tasks/${id}`);
  assertEquals([now.at("status"), now.at("version")], ["complete", 3]);
  await api.close();
});
