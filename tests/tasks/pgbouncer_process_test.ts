import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { startPgBouncer } from "../support/pgbouncer.ts";
import { sharedPostgres } from "../support/postgres_server.ts";
import { serviceTest } from "../support/services.ts";
import {
  runTasks,
  startTasks,
  type TasksProcess,
} from "../support/tasks_process.ts";
import { DataFolder } from "./data_folder.ts";
import { TasksClient } from "./tasks_client.ts";
import { createOwnerKey, getTarget, SERVICE_HOST } from "./tenant_client.ts";

const server = sharedPostgres({ settings: { fsync: "off" } });

interface Leases {
  readonly leases: readonly { readonly task: { readonly id: string } }[];
}

serviceTest(["postgres", "pgbouncer"], {
  name:
    "tasks works behind PgBouncer in transaction mode, where instances find each other's tasks by looking",
  async fn() {
    await using folder = await DataFolder.make();
    const bouncer = await startPgBouncer(server, { poolSize: 5 });
    const [host] = bouncer.connection.hosts;
    const env = {
      STORE: "postgres",
      DATABASE_URL: `postgres://postgres@127.0.0.1:${host?.port}/postgres`,
      DATABASE_SCHEMA: server.nextSchema(),
      DATABASE_PREPARE: "false",
      MASTER_KEYS: `one:${btoa("0123456789abcdef0123456789abcdef")}`,
    };
    const dataDir = folder.path;
    try {
      await using first = await startTasks({ dataDir, env });
      await using second = await startTasks({ dataDir, env });
      const token = await createOwnerKey(first, "acme");
      const clientOf = (service: TasksProcess) =>
        new TasksClient({
          target: () => getTarget(service),
          host: `acme.${SERVICE_HOST}`,
          token,
        });
      using here = clientOf(first);
      using there = clientOf(second);
      await here.expect(201, ["POST", "/api/v1/workers", { name: "mailer" }]);
      const lease = there.expect<Leases>(200, [
        "POST",
        "/api/v1/workers/mailer/lease",
        { wait: "PT20S" },
      ]);
      const { id } = await here.expect<{ readonly id: string }>(201, [
        "POST",
        "/api/v1/tasks",
        { worker: "mailer" },
      ]);
      assertEquals((await lease).leases.map(({ task }) => task.id), [id]);
      for (const service of [first, second]) {
        await service.waitForLine("Cannot hear other instances");
      }
      const check = await runTasks({ dataDir, env, args: ["check"] });
      assertEquals([check.code, check.stderr], [0, ""]);
      assertStringIncludes(check.stdout, "The database is whole");
      assert(await first.stop() === 0 && await second.stop() === 0);
    } finally {
      await bouncer.stop();
    }
  },
});
