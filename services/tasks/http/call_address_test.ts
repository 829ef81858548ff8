import { assertEquals } from "@std/assert";
import type { Scope } from "../access/scope.ts";
import { openOperations } from "../routes/tasks/bulk_routes.ts";
import { taskRoutes } from "../routes/tasks/task_routes.ts";
import { workerRoutes } from "../routes/workers/worker_routes.ts";
import { openTestApi, type TestApi } from "../routes/testing/test_api.ts";

const EVIL = "https://evil.example.com/";
const PUSH = {
  name: "mailer",
  url: "https://mailer.example.com/?key={{secrets.KEY}}",
  headers: { "x-key": "{{secrets.KEY}}" },
  jobs: { welcome: { url: "https://mailer.example.com/welcome" }, other: {} },
} as const;

/** Requests that set a URL or send more data to one: method, path and body. */
const REDIRECTIONS: readonly (readonly [string, string, unknown])[] = [
  ["PATCH", "/v1/workers/mailer", { url: EVIL }],
  ["PUT", "/v1/workers/mailer", { url: EVIL }],
  ["PUT", "/v1/workers/mailer", { ...PUSH, url: EVIL }],
  ["PATCH", "/v1/workers/mailer", { jobs: { welcome: { url: EVIL } } }],
  ["PATCH", "/v1/workers/mailer", { jobs: { other: { url: EVIL } } }],
  ["PATCH", "/v1/workers/mailer", { jobs: { fresh: { url: EVIL } } }],
  // A job without a URL of its own is called at the worker's.
  ["PATCH", "/v1/workers/mailer", { jobs: { welcome: { url: null } } }],
  ["PUT", "/v1/workers/mailer", { jobs: null }],
  ["PATCH", "/v1/workers/mailer", { headers: { "x-b": "{{secrets.KEY}}" } }],
  ["PATCH", "/v1/workers/mailer", { headers: { "x-key": null } }],
  ["PUT", "/v1/workers/mailer", { headers: null }],
  // When the worker is called no longer, other programs can lease its tasks.
  ["PUT", "/v1/workers/mailer", { url: null, headers: null, jobs: null }],
  ["PATCH", "/v1/workers/puller", { url: EVIL }],
  // Tasks sent to a name go to the worker that took the name over.
  ["PATCH", "/v1/workers/mailer", { name: "moved" }],
  ["PATCH", "/v1/workers/puller", { name: "taken-over" }],
  ["POST", "/v1/workers", { name: "fresh", url: EVIL }],
];

Deno.test("routes of workers refuse to say where one is called when the caller lacks secrets:write or sight of payloads", async (t) => {
  const api = await openAll();
  const createKey = (scopes: readonly Scope[], payloads: boolean) =>
    api.addKey({ tenantId: api.tenant.id, scopes, payloads });
  const writer = await createKey(["workers:write", "tasks:write"], true);
  const blind = await createKey(["workers:write", "secrets:write"], false);
  const neither = await createKey(["workers:write"], false);
  const both = await createKey(["workers:write", "secrets:write"], true);
  for (const [method, path, body] of REDIRECTIONS) {
    await t.step(`${method} ${path} ${JSON.stringify(body)}`, async () => {
      const call = async (key: string) => {
        const answer = await api.call(method, path, { body, key });
        return [answer.status, answer.at("scope"), answer.at("detail")];
      };
      const start = "Cannot say where the worker is called, which gets its " +
        "tasks and secrets: you lack ";
      const scope = 'the scope "secrets:write"';
      const sight = 'sight of the data of tasks ("payloads")';
      assertEquals(await call(writer), [403, "secrets:write", start + scope]);
      assertEquals(await call(blind), [403, undefined, start + sight]);
      assertEquals(await call(neither), [
        403,
        "secrets:write",
        `${start}${scope} and ${sight}`,
      ]);
    });
  }
  // Nothing was changed, and a caller with all rights may make the change.
  const told = await api.call("GET", "/v1/workers/mailer");
  assertEquals([told.at("url"), told.at("headers"), told.at("version")], [
    PUSH.url,
    PUSH.headers,
    2,
  ]);
  const done = await api.call("PATCH", "/v1/workers/mailer", {
    body: { url: EVIL },
    key: both,
  });
  assertEquals([done.status, done.at("url")], [200, EVIL]);
  await api.close();
});

Deno.test("routes of workers let the rest of one be changed with workers:write alone", async () => {
  const api = await openAll();
  const key = await api.addKey({
    tenantId: api.tenant.id,
    scopes: ["workers:read", "workers:write"],
    payloads: false,
  });
  const path = "/v1/workers/mailer";
  const told = await api.call("GET", path, { key });
  const { signing_secret: _none, ...whole } = told.json as Record<
    string,
    unknown
  >;
  for (
    const [method, body] of [
      ["PUT", { ...whole, concurrency: 3 }],
      ["PATCH", { name: "Mailer", timeout: "PT1M" }],
      ["PATCH", { jobs: { other: { timeout: 2_000 }, one_more: {} } }],
      ["PATCH", { paused: true }],
    ] as const
  ) {
    const changed = await api.call(method, path, { body, key });
    assertEquals(changed.status, 200, changed.text);
  }
  const made = await api.call("POST", "/v1/workers", {
    body: { name: "asks", jobs: ["a"] },
    key,
  });
  assertEquals(made.status, 201, made.text);
  await api.close();
});

Deno.test("routes of tasks refuse a callback of who does not see what it holds", async () => {
  const api = await openAll();
  const key = await api.addKey({
    tenantId: api.tenant.id,
    scopes: ["tasks:write"],
    payloads: false,
  });
  const task = { worker: "puller", data: { card: 1 } };
  const made = await api.call("POST", "/v1/tasks", {
    body: { ...task, callback: "https://mine.example.com/" },
  });
  assertEquals(made.status, 201, made.text);
  const path = `/v1/tasks/${made.textAt("id")}`;
  const callForCode = async (method: string, path: string, body: unknown) => {
    const answer = await api.call(method, path, { body, key });
    return [answer.status, answer.at("code")];
  };
  const refused = [403, "forbidden"];
  const callback = EVIL;
  assertEquals(await callForCode("POST", "/v1/tasks", { ...task, callback }), [
    ...refused,
  ]);
  assertEquals(await callForCode("PUT", path, { callback }), refused);
  assertEquals(await callForCode("PATCH", path, { callback: { url: EVIL } }), [
    ...refused,
  ]);
  const batch = await api.call("POST", "/v1/tasks/batch", {
    body: { tasks: [{ ...task, callback }, task] },
    key,
  });
  assertEquals([
    batch.at("results", 0, "problem", "code"),
    batch.at("results", 0, "status"),
    batch.at("results", 1, "status"),
  ], ["forbidden", 403, 201]);
  // The callback that is set already may stay or be removed.
  const same = { callback: "https://mine.example.com/", priority: 1 };
  assertEquals(await callForCode("PUT", path, same), [200, undefined]);
  assertEquals(await callForCode("PUT", path, { callback: null }), [
    200,
    undefined,
  ]);
  await api.close();
});

async function openAll(): Promise<TestApi> {
  const api = await openTestApi({
    routes: (parts) => [
      ...workerRoutes(parts),
      ...taskRoutes(parts, { operations: openOperations(parts.engine) }),
    ],
  });
  const made = await api.call("POST", "/v1/workers", { body: PUSH });
  assertEquals(made.status, 201, made.text);
  const added = await api.call("POST", "/v1/workers/mailer/secrets", {
    body: { name: "KEY", value: "sesame-open-sesame" },
  });
  assertEquals(added.status, 201, added.text);
  await api.addWorker({ name: "puller" });
  return api;
}
