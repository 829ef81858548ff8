import { assert, assertEquals } from "@std/assert";
import { createAllowList } from "../delivery/testing/create_allow_list.ts";
import { startWorker } from "../delivery/testing/worker_server.ts";
import { PushCaller } from "../delivery/push_call.ts";
import { MAX_RECORD_AGE_MS } from "../engine/record_cache.ts";
import { REGISTRY } from "../engine/repositories.ts";
import { createRing } from "../secrets/testing/keys.ts";
import type { RecordKind, Store } from "../store/store.ts";
import { allRoutes } from "./all_routes.ts";
import { openOperations } from "./tasks/bulk_routes.ts";
import {
  openTestApi,
  SERVICE_HOST,
  type TestApi,
  type TestApiOptions,
} from "./testing/test_api.ts";
import type { TestAnswer, TestCall } from "./testing/test_caller.ts";

/** Opens the API of an instance. */
function open(options: Partial<TestApiOptions> = {}): Promise<TestApi> {
  const targets = { allowHttp: true, allowList: createAllowList("127.0.0.1") };
  return openTestApi({
    targets,
    caller: new PushCaller(targets),
    operatorDigests: [],
    routes: (parts) =>
      allRoutes(parts, { operations: openOperations(parts.engine) }),
    ...options,
  });
}

/** Opens two instances on one store. */
async function openBoth(
  options: Partial<TestApiOptions> = {},
): Promise<readonly [TestApi, TestApi]> {
  const shared = { masterKeys: createRing("k1"), ...options };
  const one = await open(shared);
  return [one, await open({ ...shared, besides: one })];
}

/** A request with an Idempotency-Key, of each kind that the API has. */
interface Keyed {
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
  readonly host?: string;
}

const KEYED: readonly Keyed[] = [
  { path: "/v1/tasks", body: { worker: "puller" } },
  { path: "/v1/tasks", body: { worker: "puller", key: "k" } },
  {
    path: "/v1/tasks",
    body: { worker: "puller", key: "here", on_conflict: "replace" },
  },
  {
    path: "/v1/tasks/batch",
    body: { tasks: [{ worker: "puller" }, { worker: "puller" }] },
  },
  {
    path: "/v1/tasks/batch",
    body: { atomic: true, tasks: [{ worker: "puller" }, { worker: "puller" }] },
  },
  {
    path: "/v1/tasks/actions",
    body: { action: "pause", filter: { status: "active" } },
  },
  { path: "/v1/tasks/:task/cancel" },
  { path: "/v1/tasks/:task/run" },
  { path: "/v1/tasks/:task/pause" },
  { path: "/v1/tasks/:ended/retry" },
  { path: "/v1/workers", body: { name: "other" } },
  { path: "/v1/workers/puller/pause" },
  {
    path: "/v1/workers/puller/secrets",
    body: { secrets: { TOKEN: "sesame open" } },
  },
  { path: "/v1/workers/mailer/test" },
  { path: "/v1/users", body: { email: "a@example.com", role: "member" } },
  { path: "/v1/keys", body: { name: "new", role: "member" } },
  { path: "/v1/keys/:key/rotate" },
  {
    path: "/",
    body: { domain: "globex" },
    host: `accounts.${SERVICE_HOST}`,
  },
];

const KINDS: readonly RecordKind[] = [
  "worker",
  "user",
  "key",
  "secret",
  "operation",
];

/** What a test counts of the effects of requests. */
async function effects(store: Store, tenantId: string): Promise<unknown> {
  const records = KINDS.map(async (kind) => {
    const page = await store.records({ kind, tenantId, limit: 100 });
    return page.records.map(({ version }) => version).sort();
  });
  const tenants = await store.records({
    ...{ kind: "tenant" as const, tenantId: REGISTRY, limit: 100 },
  });
  const tasks = await store.listTasks({
    ...{ tenantId, limit: 100, by: "date", sort: "created_at", order: "asc" },
  });
  return {
    records: await Promise.all(records),
    tenants: tenants.records.length,
    tasks: tasks.tasks.map(({ status, historyCount }) => [
      ...[status, historyCount],
    ]),
    audit: (await store.audit({ tenantId, limit: 100 })).length,
  };
}

/** Sends a request with a key to each of the instances at once. */
async function sendToEach(
  apis: readonly TestApi[],
  { method = "POST", path, body, host }: Keyed,
): Promise<{
  readonly answers: readonly TestAnswer[];
  readonly again: TestAnswer;
  readonly effects: unknown;
  readonly calls: number;
}> {
  const [api] = apis;
  assert(api !== undefined);
  let calls = 0;
  await using server = await startWorker((_request, response) => {
    calls++;
    response.end("{}");
  });
  const make = async (place: string, body: unknown): Promise<string> => {
    const answer = await api.call("POST", place, { body });
    assertEquals(answer.status, 201, answer.text);
    return answer.textAt("id");
  };
  await make("/v1/workers", { name: "puller" });
  await make("/v1/workers", {
    name: "mailer",
    url: `http://127.0.0.1:${server.port}/`,
  });
  const later = { worker: "puller", date: "2030-01-01T00:00:00Z" };
  const task = await make("/v1/tasks", { ...later, key: "here" });
  const ended = await make("/v1/tasks", later);
  await api.call("POST", `/v1/tasks/${ended}/cancel`);
  const key = await make("/v1/keys", { name: "old", role: "member" });
  const call: TestCall = {
    ...(body === undefined ? {} : { body }),
    headers: { "idempotency-key": "once" },
    ...(host === undefined ? {} : { host, key: null }),
  };
  const full = path.replace(":task", task).replace(":ended", ended)
    .replace(":key", key);
  const answers: TestAnswer[] = [];
  const asking = apis.map(async (one) => {
    answers.push(await one.call(method, full, call));
  });
  // One may look again and again for the answer of the other.
  while (answers.length < apis.length) await api.clock.advanceAsync(1);
  await Promise.all(asking);
  return {
    answers,
    again: await api.call(method, full, call),
    effects: await effects(api.store, api.tenant.id),
    calls,
  };
}

Deno.test("of two requests with one Idempotency-Key at two instances at once, one has an effect and the other waits for its answer", async () => {
  for (const keyed of KEYED) {
    const title = `${keyed.path} ${JSON.stringify(keyed.body)}`;
    const alone = await open();
    const expected = await sendToEach([alone], keyed);
    const [first] = expected.answers;
    assert(first !== undefined && first.status < 300, first?.text);
    const both = await openBoth();
    const seen = await sendToEach(both, keyed);
    assertEquals(seen.effects, expected.effects, title);
    assertEquals(seen.calls, expected.calls, title);
    const given = seen.answers.filter(({ status }) => status < 300);
    const others = seen.answers.filter(({ status }) => status >= 300);
    for (const other of others) {
      assertEquals(other.at("code"), "idempotency_in_progress", title);
      assertEquals(other.headers["retry-after"], "1", title);
    }
    assertEquals(given[0]?.status, first.status, title);
    const [own, ...same] = given.filter(({ headers }) =>
      headers["idempotency-replayed"] !== "true"
    );
    assert(own !== undefined, title);
    for (const one of same) assertEquals(one.text, own.text, title);
    for (const one of given) {
      if (one !== own) assertEquals(one.text, seen.again.text, title);
    }
    assertEquals(seen.again.status, first.status, title);
    assertEquals(seen.again.headers["idempotency-replayed"], "true", title);
    for (const api of [alone, ...both]) await api.close();
  }
});

Deno.test("a call whose answer is kept can be made again when the first instance died in it", async () => {
  const [one, other] = await openBoth();
  await one.call("POST", "/v1/workers", { body: { name: "puller" } });
  // The worker has no url, so the answer is a problem, and is kept.
  const call = { headers: { "idempotency-key": "once" } };
  const path = "/v1/workers/puller/test";
  const commit = one.store.commit;
  Object.assign(one.store, {
    commit: (...of: Parameters<Store["commit"]>) => {
      const isAnswer = of[0].some(({ writes }) =>
        writes.some((write) => write.kind === "idempotency" && write.replaces)
      );
      return isAnswer ? Promise.reject(new Error("died")) : commit(...of);
    },
  });
  assertEquals((await one.call("POST", path, call)).status, 500);
  const early = other.call("POST", path, call);
  await one.clock.advanceAsync(11_000);
  assertEquals((await early).at("code"), "idempotency_in_progress");
  await one.clock.advanceAsync(120_000);
  assertEquals(
    (await other.call("POST", path, call)).at("code"),
    "wrong_state",
  );
  for (const api of [one, other]) await api.close();
});

for (const losesNotices of [false, true]) {
  const when = losesNotices
    ? "within its age where notices are lost"
    : "at once";
  Deno.test(`what one instance revokes, pauses or changes holds at another ${when}`, async () => {
    const [one] = await openBoth();
    const other = await open({ besides: one, losesNotices });
    const made = await one.call("POST", "/v1/keys", {
      body: { name: "short", role: "member" },
    });
    const key = made.textAt("key");
    await one.call("POST", "/v1/workers", { body: { name: "puller" } });
    await one.call("POST", "/v1/tasks", { body: { worker: "puller" } });
    const ask = (path = "/v1/tasks"): Promise<TestAnswer> =>
      other.call("GET", path, { key });
    const lease = (): Promise<TestAnswer> =>
      other.call("POST", "/v1/workers/puller/lease", { body: { max: 1 } });
    assertEquals((await ask()).status, 200);
    await one.call("POST", "/v1/workers/puller/pause");
    await pass(one, losesNotices);
    assertEquals((await lease()).at("leases"), []);
    await one.call("POST", "/v1/workers/puller/resume");
    await pass(one, losesNotices);
    assertEquals((await lease()).at("leases", 0, "attempt"), 1);

    assertEquals(
      (await one.call("DELETE", `/v1/keys/${made.textAt("id")}`)).status,
      204,
    );
    await pass(one, losesNotices);
    assertEquals((await ask()).status, 401);

    const { tenants } = one.engine.parts.repositories;
    const tenant = await tenants.get(REGISTRY, one.tenant.id);
    assert(tenant !== undefined);
    await one.write(tenants.update(tenant, {
      ...tenant,
      ...{ status: "suspended", version: tenant.version + 1 },
    }));
    await pass(one, losesNotices);
    assertEquals(
      (await other.call("GET", "/v1/tasks")).at("code"),
      "tenant_suspended",
    );
    for (const api of [one, other]) await api.close();
  });
}

async function pass({ clock }: TestApi, losesNotices: boolean): Promise<void> {
  if (losesNotices) await clock.advanceAsync(MAX_RECORD_AGE_MS);
}

Deno.test("two instances never let a tenant have more live tasks than its plan allows", async () => {
  const limits = { activeTasks: 25, batchSize: 10 };
  const [one, other] = await openBoth({ limits });
  await one.call("POST", "/v1/workers", { body: { name: "puller" } });
  const live = async (): Promise<number> => {
    const page = await one.store.listTasks({
      ...{ tenantId: one.tenant.id, limit: 100, by: "date" },
      ...{ sort: "created_at", order: "asc" },
    });
    return page.tasks.filter(({ status }) => status === "waiting").length;
  };
  const task = { worker: "puller" };
  const answers: TestAnswer[] = [];
  for (let round = 0; round < 6; round++) {
    answers.push(
      ...await Promise.all(
        [one, other, one, other].map((api, index) =>
          index < 2 && round % 2 === 0
            ? api.call("POST", "/v1/tasks/batch", {
              body: { tasks: [task, task, task] },
            })
            : api.call("POST", "/v1/tasks", { body: task })
        ),
      ),
    );
  }
  assertEquals(await live(), 25);
  assert(answers.some((answer) => answer.at("code") === "quota_exceeded"));
  // Room that one instance makes can be used at the other within a second.
  const { tasks: [first] } = await one.store.listTasks({
    ...{ tenantId: one.tenant.id, limit: 1, by: "date" },
    ...{ sort: "created_at", order: "asc" },
  });
  await one.call("POST", `/v1/tasks/${first?.id}/cancel`);
  await one.clock.advanceAsync(1_000);
  const fits = await other.call("POST", "/v1/tasks", { body: task });
  assertEquals(fits.status, 201);
  const over = await one.call("POST", "/v1/tasks", { body: task });
  assertEquals(over.at("code"), "quota_exceeded");
  // The task that has ended lives again only where there is room.
  for (const api of [one, other]) {
    const again = await api.call("POST", `/v1/tasks/${first?.id}/retry`);
    assertEquals(again.at("code"), "quota_exceeded");
  }
  assertEquals(await live(), 25);
  for (const api of [one, other]) await api.close();
});

Deno.test("of events and decisions at two instances at once, one resumes the task, and a worker at the other is given it", async () => {
  for (const wish of [{ event: "go" }, { approval: {} }]) {
    const [one, other] = await openBoth();
    await one.call("POST", "/v1/workers", { body: { name: "puller" } });
    const made = await one.call("POST", "/v1/tasks", {
      body: { worker: "puller" },
    });
    const path = `/v1/tasks/${made.textAt("id")}`;
    const lease = (api: TestApi, body = {}): Promise<TestAnswer> =>
      api.call("POST", "/v1/workers/puller/lease", { body });
    const first = await lease(one);
    const said = await one.call(
      "POST",
      `/v1/leases/${first.textAt("leases", 0, "id")}/wait`,
      { key: first.textAt("leases", 0, "token"), body: { wait_for: wish } },
    );
    assertEquals(said.at("status"), "scheduled");
    const send = async (api: TestApi, data: number): Promise<number> =>
      "event" in wish
        ? (await api.call("POST", `${path}/events`, {
          body: { event: "go", data },
        })).status
        : (await api.call("POST", `${path}/approval`, {
          body: { decision: "approve", comment: String(data) },
        })).status;
    const statuses = await Promise.all(
      [0, 1, 2, 3, 4, 5].map((n) => send(n % 2 === 0 ? one : other, n)),
    );
    assertEquals(
      statuses.filter((status) => status === 200).length,
      "event" in wish ? 6 : 1,
    );
    const history = await one.call("GET", `${path}/history?type=resumed`);
    assertEquals((history.at("data") as unknown[]).length, 1);
    const again = await lease(other);
    assertEquals(again.at("leases", 0, "resumed", "timed_out"), false);
    assertEquals((await lease(one)).at("leases"), []);
    for (const api of [one, other]) await api.close();
  }
});
