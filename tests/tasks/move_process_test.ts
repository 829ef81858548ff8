import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { sharedPostgres } from "../support/postgres_server.ts";
import { serviceTest } from "../support/services.ts";
import { runTasks, startTasks } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { type LeaseJson, type TaskJson, TasksClient } from "./tasks_client.ts";
import {
  createOwnerKey,
  getTarget,
  hostClient,
  SERVICE_HOST,
} from "./tenant_client.ts";

interface Leases {
  readonly leases: readonly (LeaseJson & { readonly secrets?: unknown })[];
}

const PASSWORD = "not-to-be-shown";
const POSTGRES = sharedPostgres({ password: PASSWORD });
const HOST = `acme.${SERVICE_HOST}`;
const WRITERS = 4;

serviceTest(["postgres"], {
  name:
    "tasks moves to PostgreSQL under load, and nothing acknowledged is lost",
  async fn() {
    await using folder = await DataFolder.make();
    const dataDir = folder.path;
    const schema = POSTGRES.nextSchema();
    const { port } = POSTGRES;
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    const env = { DATABASE_SCHEMA: schema, PGPASSWORD: PASSWORD };
    const created: string[] = [];
    const completed: string[] = [];
    let token = "";
    {
      await using service = await startTasks({ dataDir });
      token = await createOwnerKey(service, "acme");
      const target = () => getTarget(service);
      using client = new TasksClient({ target, host: HOST, token });
      await client.expect(201, ["POST", "/api/v1/workers", { name: "mailer" }]);
      await client.expect(201, [
        "POST",
        "/api/v1/workers/mailer/secrets",
        { name: "KEY", value: "a secret" },
      ]);
      const writing = [
        ...Array.from({ length: WRITERS }, () => write(client, created)),
        work(client, completed),
      ];
      await waitUntil(() => created.length >= 100, { what: "some tasks" });
      const moved = await runTasks({
        dataDir,
        env,
        args: ["move", "--json", "--to", url],
      });
      assertEquals([moved.code, moved.stderr], [0, ""]);
      const outcome = JSON.parse(moved.stdout);
      assertEquals(outcome.kind, "moved");
      assert(outcome.frozenMs < 5_000, moved.stdout);
      const refusals = await Promise.all(writing);
      for (const refusal of refusals) {
        assertStringIncludes(refusal, "has moved to another store");
      }
      using host = hostClient(service, SERVICE_HOST);
      await host.expect(503, ["GET", "/readyz"]);
      await client.expect(503, ["GET", `/api/v1/tasks/${created[0]}`]);
      assertEquals(await service.stop(), 0);
      assert(!service.stderr.includes(PASSWORD));
    }
    const again = await runTasks({ dataDir, env: {} });
    assertEquals(again.code, 1);
    assertStringIncludes(again.stderr, `postgres@127.0.0.1:${port}/postgres`);
    assertStringIncludes(again.stderr, `schema ${schema}`);

    await using service = await startTasks({
      dataDir,
      env: { ...env, STORE: "postgres", DATABASE_URL: url },
    });
    const target = () => getTarget(service);
    using client = new TasksClient({ target, host: HOST, token });
    const done = new Set(completed);
    const left = created.values();
    // Several readers share what is left.
    await Promise.all(Array.from({ length: 20 }, async () => {
      for (const id of left) {
        const path = `/api/v1/tasks/${id}`;
        const { status } = await client.expect<TaskJson>(200, ["GET", path]);
        if (done.has(id)) assertEquals(status, "complete");
      }
    }));
    const task = { worker: "mailer" };
    await client.expect(201, ["POST", "/api/v1/tasks", task]);
    await client.expect(201, ["POST", "/api/v1/tasks", task]);
    // The master key is that of the folder, so sealed secrets can be opened.
    const { leases: [lease] } = await client.expect<Leases>(200, [
      "POST",
      "/api/v1/workers/mailer/lease",
      { max: 1, secrets: true },
    ]);
    assertEquals(lease?.secrets, { KEY: "a secret" });
    const more: string[] = [];
    assertEquals(await workOnce(client, more), true);
    assert(more.length > 0);
    assertEquals(await service.stop(), 0);
  },
});

/** Creates tasks until the service refuses; returns what it says then. */
async function write(client: TasksClient, created: string[]): Promise<string> {
  while (true) {
    const { status, json } = await client.call<TaskJson>(
      "POST",
      "/api/v1/tasks",
      { body: { worker: "mailer" } },
    );
    if (status !== 201) return JSON.stringify(json);
    created.push(json.id);
  }
}

/** Works on tasks until the service refuses; returns what it says then. */
async function work(client: TasksClient, done: string[]): Promise<string> {
  while (true) {
    const refusal = await workOnce(client, done);
    if (typeof refusal === "string") return refusal;
  }
}

async function workOnce(
  client: TasksClient,
  done: string[],
): Promise<string | true> {
  const leased = await client.call<Leases>(
    "POST",
    "/api/v1/workers/mailer/lease",
    { body: { max: 5 } },
  );
  if (leased.status !== 200) return JSON.stringify(leased.json);
  for (const lease of leased.json.leases) {
    const { status, json } = await client.call(
      "POST",
      `/api/v1/leases/${lease.id}/complete`,
      { token: lease.token },
    );
    if (status === 503) return JSON.stringify(json);
    assertEquals(status, 200, JSON.stringify(json));
    done.push(lease.task.id);
  }
  return true;
}
