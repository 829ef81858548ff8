import { assertEquals } from "@std/assert";
import { openTestApi } from "../testing/test_api.ts";
import { workerRoutes } from "./worker_routes.ts";

Deno.test("POST /v1/workers/:id/pause and /resume take no body, or one without fields", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  for (const verb of ["pause", "resume"]) {
    const path = `/v1/workers/mailer/${verb}`;
    const statusOf = async (
      body: unknown,
      headers: Readonly<Record<string, string>> = {},
    ): Promise<number> =>
      (await api.call("POST", path, { body, headers })).status;
    assertEquals(await statusOf({ foo: 1 }), 422, verb);
    assertEquals(await statusOf("{"), 400, verb);
    assertEquals(await statusOf("x", { "content-type": "text/plain" }), 415);
    const worker = await api.call("GET", "/v1/workers/mailer");
    assertEquals(worker.at("paused"), verb === "resume");
    assertEquals(await statusOf({}), 200, verb);
    assertEquals((await api.call("POST", path)).status, 200, verb);
  }
  await api.close();
});

Deno.test("POST /v1/workers/:id/pause takes an Idempotency-Key for one body and no other", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  const pause = (body?: unknown): ReturnType<typeof api.call> =>
    api.call("POST", "/v1/workers/mailer/pause", {
      headers: { "idempotency-key": "once" },
      ...(body === undefined ? {} : { body }),
    });
  assertEquals((await pause()).status, 200);
  assertEquals((await pause()).headers["idempotency-replayed"], "true");
  const other = await pause({});
  assertEquals([other.status, other.at("code")], [
    422,
    "idempotency_key_reused",
  ]);
  await api.close();
});
