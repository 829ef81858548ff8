import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  parseVerifyingKey,
  verifyWebhook,
} from "../../delivery/testing/verify_webhook.ts";
import { PushCaller } from "../../delivery/push_call.ts";
import { createAllowList } from "../../delivery/testing/create_allow_list.ts";
import {
  startWorker,
  type WorkerServer,
} from "../../delivery/testing/worker_server.ts";
import { openTestApi, type TestApi } from "../testing/test_api.ts";
import { workerRoutes } from "./worker_routes.ts";

const PATH = "/v1/workers/mailer/test";
const SECRET = "sesame-open-sesame";

interface Received {
  readonly request: IncomingMessage;
  readonly body: string;
}

Deno.test("POST /v1/workers/:id/test makes the call of a real attempt and stores nothing", async () => {
  const calls: Received[] = [];
  await using server = await answering(calls, (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ said: SECRET }));
  });
  const api = await openCalling();
  const made = await api.call("POST", "/v1/workers", {
    body: {
      name: "mailer",
      url: `http://127.0.0.1:${server.port}/t?key={{secrets.KEY}}`,
      headers: { "x-token": "{{secrets.KEY}}" },
      asymmetric: true,
    },
  });
  assertEquals(made.status, 201, made.text);
  const secrets = "/v1/workers/mailer/secrets";
  await api.call("POST", secrets, { body: { name: "KEY", value: SECRET } });
  const rotated = await api.call("POST", secrets, {
    body: { type: "signing" },
  });
  const answer = await api.call("POST", PATH, {
    body: { job: "welcome", data: { to: 1 } },
  });
  assertEquals(answer.status, 200, answer.text);
  assertEquals(answer.at("outcome"), "succeeded");
  assertEquals(answer.at("error"), null);
  assertEquals(answer.at("answer", "status"), 200);
  assertEquals(answer.at("answer", "body"), '{"said":"[secret KEY]"}');
  assertEquals(answer.at("call", "signatures"), 3);
  assertEquals(
    answer.at("call", "url"),
    `http://127.0.0.1:${server.port}/t?key={{secrets.KEY}}`,
  );
  assertEquals(answer.text.includes(SECRET), false);

  const [received] = calls;
  if (received === undefined) throw new Error("not called");
  const { request, body } = received;
  assertEquals(request.url, `/t?key=${SECRET}`);
  assertEquals(request.headers["x-token"], SECRET);
  const sent = JSON.parse(body);
  assertEquals(sent.type, "task.run");
  assertEquals(sent.data.test, true);
  assertEquals(sent.data.task.job, "welcome");
  assertEquals(sent.data.task.data, { to: 1 });
  assertEquals(request.headers["webhook-id"], answer.at("call", "id"));
  for (
    const text of [
      made.textAt("signing_secret"),
      rotated.textAt("secret"),
      made.textAt("public_key"),
    ]
  ) {
    const key = parseVerifyingKey(text);
    if (key.kind !== "ok") throw new Error(text);
    const verdict = verifyWebhook({
      headers: readHeaders(request),
      body,
    }, { keys: [key.key], nowMs: api.clock.nowMs() });
    assertEquals(verdict.kind, "ok", text);
  }
  const tasks = await api.store.listTasks({
    tenantId: api.tenant.id,
    by: "date",
    sort: "date",
    order: "asc",
    limit: 10,
  });
  assertEquals(tasks.tasks, []);
  await api.close();
});

Deno.test("POST /v1/workers/:id/test tells of failures as they would be for a task", async () => {
  await using server = await answering([], (response) => {
    response.writeHead(302, { location: "https://elsewhere.example.com/" });
    response.end();
  });
  const api = await openCalling();
  await api.call("POST", "/v1/workers", {
    body: { name: "mailer", url: `http://127.0.0.1:${server.port}/` },
  });
  const answer = await api.call("POST", PATH);
  assertEquals(answer.at("outcome"), "failed");
  assertEquals(answer.at("answer", "status"), 302);
  assertEquals(answer.at("error", "code"), "redirected");
  await api.close();
});

Deno.test("POST /v1/workers/:id/test shows no beginning of a secret that was cut off", async () => {
  const value = Array.from({ length: 1_500 }, (_, n) => `part-${n};`).join("");
  await using server = await answering([], (response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    response.end(value.repeat(5));
  });
  const api = await openCalling();
  await api.call("POST", "/v1/workers", {
    body: { name: "mailer", url: `http://127.0.0.1:${server.port}/` },
  });
  const secret = { name: "KEY", value };
  await api.call("POST", "/v1/workers/mailer/secrets", { body: secret });
  const answer = await api.call("POST", PATH);
  assertEquals(answer.at("answer", "truncated"), true);
  assertEquals(answer.at("answer", "body"), "[secret KEY]".repeat(5));
  await api.close();
});

Deno.test("POST /v1/workers/:id/test calls no address that tasks may not call", async () => {
  const calls: Received[] = [];
  await using server = await answering(calls, (response) => response.end());
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker({
    kind: "push",
    url: `http://127.0.0.1:${server.port}/secret-path`,
  });
  const answer = await api.call("POST", PATH);
  assertEquals(answer.status, 200);
  assertEquals(answer.at("outcome"), "failed");
  assertEquals(answer.at("answer"), null);
  assertMatch(answer.textAt("error", "code"), /http_not_allowed|address/);
  assertEquals(calls.length, 0);
  assertEquals(server.connections(), 0);
  await api.close();
});

Deno.test("POST /v1/workers/:id/test names a secret that is missing", async () => {
  const api = await openCalling();
  await api.call("POST", "/v1/workers", {
    body: { name: "mailer", url: "http://127.0.0.1:8000/{{secrets.GONE}}" },
  });
  const answer = await api.call("POST", PATH);
  assertEquals(answer.at("outcome"), "failed", answer.text);
  assertStringIncludes(answer.textAt("error", "message"), '"GONE"');
  assertEquals(answer.at("call", "id"), null);
  await api.close();
});

Deno.test("POST /v1/workers/:id/test needs a worker that is called", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  const answer = await api.call("POST", PATH);
  assertEquals(answer.status, 409);
  assertEquals(answer.at("code"), "wrong_state");
  const long = await api.call("POST", PATH, { body: { timeout: "PT31S" } });
  assertEquals(long.status, 422);
  assertEquals((await api.call("POST", "/v1/workers/x/test")).status, 404);
  await api.close();
});

Deno.test("POST /v1/workers/:id/test ends the call when the client goes away", async () => {
  const reached = Promise.withResolvers<void>();
  const broken = Promise.withResolvers<void>();
  await using server = await startWorker((request) => {
    request.on("close", () => broken.resolve());
    reached.resolve();
  });
  const api = await openCalling();
  await api.call("POST", "/v1/workers", {
    body: { name: "mailer", url: `http://127.0.0.1:${server.port}/` },
  });
  const client = new AbortController();
  const answering = api.call("POST", PATH, { signal: client.signal });
  await reached.promise;
  client.abort();
  await broken.promise;
  assertEquals((await answering).at("error", "code"), "canceled");
  await api.close();
});

function openCalling(): Promise<TestApi> {
  const targets = { allowHttp: true, allowList: createAllowList("127.0.0.1") };
  return openTestApi({
    routes: workerRoutes,
    targets,
    caller: new PushCaller(targets),
  });
}

function answering(
  calls: Received[],
  answer: (response: ServerResponse) => void,
): Promise<WorkerServer> {
  return startWorker(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = new TextDecoder().decode(
      Uint8Array.from(chunks.flatMap((chunk) => [...chunk])),
    );
    calls.push({ request, body });
    answer(response);
  });
}

function readHeaders(
  request: IncomingMessage,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : value,
    ]),
  );
}
