import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { mintToken } from "../../services/tasks/access/credential_token.ts";
import { runSteps } from "../support/data_service_process.ts";
import { startTasks, type TasksProcess } from "../support/tasks_process.ts";
import { DataFolder } from "./data_folder.ts";
import type { TaskJson } from "./tasks_client.ts";
import { hostClient, makeTenant, SERVICE_HOST } from "./tenant_client.ts";

const OPERATOR_TOKEN = "operator-token-of-the-tests-0123456789abcdef";

interface Problem {
  readonly code: string;
  readonly type: string;
}

interface Page {
  readonly data: readonly TaskJson[];
}

Deno.test("tasks tells tenants by hosts", { timeout: 240_000 }, async (t) => {
  await using folder = await DataFolder.make();
  await using service = await startTasks({
    dataDir: folder.path,
    env: { OPERATOR_TOKEN },
  });
  // Each step has tenants of its own.
  await runSteps(t, service, {
    "tasks tells tenants by the Host header": tellsByHost,
    "tasks ignores what names a tenant in development unless told to":
      ignoresDevelopment,
    "tasks keeps two tenants apart": keepsApart,
    "tasks takes a key at the tenant it belongs to only": takesKeyAtItsTenant,
    "tasks answers on its own hosts without a tenant": answersOnItsHosts,
    "tasks answers HEAD wherever it answers GET, without a body": answersHead,
  });
});

async function tellsByHost(service: TasksProcess): Promise<void> {
  using acme = await makeTenant(service, "acme");
  for (
    const host of [
      "acme.tasks.test",
      "ACME.Tasks.Test:8070",
      "acme.tasks.test.",
    ]
  ) {
    const { status } = await acme.call("GET", "/api/v1/tasks", {
      headers: { host },
    });
    assertEquals(status, 200, host);
  }
  for (
    const host of [
      "nobody.tasks.test",
      "a.acme.tasks.test",
      "acme.tasks.example",
      "tasks.test.acme",
      "127.0.0.1",
      "xn--acme.tasks.test",
    ]
  ) {
    const { status, json } = await acme.call<Problem>("GET", "/api/v1/tasks", {
      headers: { host },
    });
    assertEquals([status, json.code], [404, "tenant_not_found"], host);
  }
  for (
    const host of ["acme tasks.test", "", "acme.tasks.test, other.tasks.test"]
  ) {
    const { status, json } = await acme.call<Problem>("GET", "/api/v1/tasks", {
      headers: { host },
    });
    assertEquals([status, json.code], [400, "bad_host"], host);
  }
}

async function ignoresDevelopment(service: TasksProcess): Promise<void> {
  using acme = await makeTenant(service, "ada");
  const byHeader = await acme.call("GET", "/api/v1/tasks", {
    headers: { host: "127.0.0.1", "x-tenant": "ada" },
  });
  assertEquals(byHeader.status, 404);
  const byPath = await acme.call("GET", "/t/ada/api/v1/tasks", {
    headers: { host: SERVICE_HOST },
  });
  assertEquals(byPath.status, 404);
  const forwarded = await acme.call("GET", "/api/v1/tasks", {
    headers: {
      host: "nobody.tasks.test",
      "x-forwarded-host": "ada.tasks.test",
    },
  });
  assertEquals(forwarded.status, 404);
}

async function keepsApart(service: TasksProcess): Promise<void> {
  using acme = await makeTenant(service, "ann");
  using other = await makeTenant(service, "ben");
  const worker = { name: "mailer" };
  await acme.expect(201, ["POST", "/api/v1/workers", worker]);
  // Another tenant can use the same name.
  await other.expect(201, ["POST", "/api/v1/workers", worker]);
  const task = await acme.expect<TaskJson>(201, [
    "POST",
    "/api/v1/tasks",
    { worker: "mailer", data: { secret: "of acme" } },
  ]);
  const never = task.id.slice(0, -4) + "0000";
  const calls: readonly (readonly [string, string, unknown?])[] = [
    ["GET", ""],
    ["PUT", "", { priority: 1 }],
    ["PATCH", "", { priority: 1 }],
    ["DELETE", ""],
    ["GET", "/history"],
    ["GET", "/attempts"],
    ["GET", "/explain"],
    ["POST", "/cancel"],
    ["POST", "/retry"],
    ["POST", "/run"],
    ["POST", "/pause"],
    ["POST", "/resume"],
  ];
  for (const [method, path, body] of calls) {
    const options = body === undefined ? {} : { body };
    const theirs = await other.call<Problem>(
      method,
      `/api/v1/tasks/${task.id}${path}`,
      options,
    );
    const nobodys = await other.call<Problem>(
      method,
      `/api/v1/tasks/${never}${path}`,
      options,
    );
    assertEquals(theirs.status, 404, `${method} ${path}`);
    assertEquals(comparable(theirs.json), comparable(nobodys.json));
  }
  // A task of tenant acme cannot be a dependency, be counted or be leased by
  // the other tenant, either.
  const dependent = await other.call("POST", "/api/v1/tasks", {
    body: { worker: "mailer", dependencies: [task.id] },
  });
  assertEquals(dependent.status, 422);
  const list = await other.expect<Page>(200, ["GET", "/api/v1/tasks"]);
  assertEquals(list.data, []);
  const { leases } = await other.expect<
    { readonly leases: readonly unknown[] }
  >(
    200,
    ["POST", "/api/v1/workers/mailer/lease", { max: 10 }],
  );
  assertEquals(leases, []);
  const still = await acme.expect<TaskJson>(200, [
    "GET",
    `/api/v1/tasks/${task.id}`,
  ]);
  assertEquals([still.status, still.version], ["waiting", 1]);
}

async function takesKeyAtItsTenant(service: TasksProcess): Promise<void> {
  using acme = await makeTenant(service, "amy");
  using other = await makeTenant(service, "bob");
  const foreign = await acme.call<Problem>("GET", "/api/v1/tasks", {
    headers: { host: "bob.tasks.test" },
  });
  const madeUp = await acme.call<Problem>("GET", "/api/v1/tasks", {
    headers: { host: "bob.tasks.test" },
    token: mintToken("dk").text,
  });
  assertEquals(foreign.status, 401);
  assertEquals(comparable(foreign.json), comparable(madeUp.json));
  assertEquals(
    foreign.headers["www-authenticate"],
    madeUp.headers["www-authenticate"],
  );
  assertEquals((await other.call("GET", "/api/v1/tasks")).status, 200);
}

async function answersOnItsHosts(service: TasksProcess): Promise<void> {
  using apex = hostClient(service, SERVICE_HOST);
  for (const path of ["/healthz", "/readyz", "/plans", "/prices"]) {
    assertEquals((await apex.call("GET", path)).status, 200, path);
  }
  const openApi = await apex.expect<
    {
      readonly openapi: string;
      readonly paths: Readonly<Record<string, unknown>>;
    }
  >(200, ["GET", "/openapi.json"]);
  assert(openApi.openapi.startsWith("3.1"));
  const page = await fetch(new URL("/docs", service.url));
  assertEquals(page.headers.get("content-type"), "text/html; charset=utf-8");
  // `fetch` asks for compression by default.
  assertEquals(page.headers.get("content-encoding"), "gzip");
  assert((await page.text()).includes('id="op-createTask"'));
  // Paths that this host does not serve are answered with 404, and the document
  // does not list them.
  for (const path of ["/metrics", "/"]) {
    assertEquals((await apex.call("GET", path)).status, 404, path);
    assertEquals(openApi.paths[path] === undefined || path === "/", true);
  }
  using admin = hostClient(service, `accounts.admin.${SERVICE_HOST}`);
  assertEquals((await admin.call("GET", "/")).status, 401);
  const allowed = await admin.call("GET", "/", {
    token: OPERATOR_TOKEN,
  });
  assertEquals(allowed.status, 200);
  assertNotEquals((await admin.call("GET", "/", { token: "no" })).status, 200);
}

async function answersHead(service: TasksProcess): Promise<void> {
  using acme = await makeTenant(service, "art");
  using apex = hostClient(service, SERVICE_HOST);
  for (
    const [client, paths] of [
      [apex, ["/healthz", "/readyz", "/openapi.json", "/plans"]],
      [acme, ["/api/v1/me", "/api/v1/tasks", "/api/v1/workers"]],
    ] as const
  ) {
    for (const path of paths) {
      const got = await client.call("GET", path);
      const head = await client.call("HEAD", path);
      assertEquals([head.status, head.json], [200, undefined], path);
      assertEquals(
        head.headers["content-type"],
        got.headers["content-type"],
      );
    }
  }
}

/** Returns a problem without the members that differ from call to call. */
function comparable(problem: unknown): unknown {
  const { instance: _, request_id: __, ...rest } = problem as Record<
    string,
    unknown
  >;
  return rest;
}
