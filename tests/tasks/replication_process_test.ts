import { assertEquals, assertStringIncludes } from "@std/assert";
import { PostgresGroup } from "../support/postgres_group.ts";
import { serviceTest } from "../support/services.ts";
import {
  findSeries,
  metricsUrl,
  readMetrics,
} from "../support/read_metrics.ts";
import { pause } from "../support/chaos/chaos_service.ts";
import { startTasks } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { hostClient, makeTenant, SERVICE_HOST } from "./tenant_client.ts";

/** More than there are connections. */
const WRITES = 20;
/** Longer than the service waits for a commit. */
const WRITE_MS = 90_000;
/** Shorter than that. */
const READ_MS = 10_000;
/** The time between two reads while commits wait, in milliseconds. */
const BETWEEN_READS_MS = 100;

interface Readiness {
  readonly durability: string;
  readonly checks: {
    readonly store: { readonly ready: boolean; readonly detail?: string };
  };
}

serviceTest(["postgres"], {
  name:
    "tasks with DURABILITY=replicated refuses to write while no standby would have it",
  async fn() {
    await using folder = await DataFolder.make();
    const group = await PostgresGroup.start({ servers: 2 });
    try {
      await using service = await startTasks({
        dataDir: folder.path,
        env: {
          STORE: "postgres",
          DATABASE_URL: group.url,
          DURABILITY: "replicated",
        },
      });
      using client = await makeTenant(service);
      using plain = hostClient(service, SERVICE_HOST);
      const ready = async () =>
        (await plain.call<Readiness>("GET", "/readyz")).json;
      const asWell = await ready();
      assertEquals(asWell.durability, "replicated");
      assertEquals(asWell.checks.store, { ready: true });
      const metrics = await metricsUrl(service);
      let families = await readMetrics(metrics);
      await waitUntil(async () => {
        families = await readMetrics(metrics);
        return families.get("tasks_database_standbys")?.metrics[0] !==
          undefined;
      }, { what: "the service to look at the database" });
      assertEquals({
        standbys: findSeries(families, "tasks_database_standbys", {
          mode: "synchronous",
        }),
        table: (findSeries(families, "tasks_database_table_bytes", {
          table: "task_state",
          part: "indexes",
        }) ?? 0) > 0,
        misses: findSeries(families, "tasks_store_floor_misses_total"),
      }, { standbys: 1, table: true, misses: 0 });
      await group.killStandby();
      await waitUntil(async () => !(await ready()).checks.store.ready, {
        what: "the service to notice",
      });
      const { checks: { store } } = await ready();
      assertStringIncludes(store.detail ?? "", "no synchronous standby");
      const worker = { name: "mailer" };
      const refused = await client.call("POST", "/api/v1/workers", {
        body: worker,
      });
      assertEquals(refused.status, 503);
      await group.heal();
      await waitUntil(async () => (await ready()).checks.store.ready, {
        what: "the standby to be seen",
      });
      await client.expect(201, ["POST", "/api/v1/workers", worker]);
    } finally {
      await group.stop();
    }
  },
});

serviceTest(["postgres"], {
  name:
    "tasks go on reading while commits wait for a standby that is gone, and refuse writes in time",
  async fn() {
    await using folder = await DataFolder.make();
    const group = await PostgresGroup.start({ servers: 2 });
    try {
      await using service = await startTasks({
        dataDir: folder.path,
        env: { STORE: "postgres", DATABASE_URL: group.url },
      });
      using client = await makeTenant(service);
      await client.expect(201, ["POST", "/api/v1/workers", { name: "first" }]);
      await group.loseStandby();
      let answered = 0;
      const writes = Array.from({ length: WRITES }, async (_, at) => {
        const body = { name: `other-${at}` };
        const { status } = await client.call("POST", "/api/v1/workers", {
          body,
          timeoutMs: WRITE_MS,
        });
        answered++;
        return status;
      });
      await waitUntil(async () => await group.countWaitingCommits() > 0, {
        what: "a commit to wait for the standby",
      });
      // Beats, sweeps and folded counts come meanwhile, and wait for nothing.
      const timeoutMs = READ_MS;
      while (answered === 0) {
        for (const path of ["/api/v1/workers/first", "/api/v1/tasks"]) {
          const { status } = await client.call("GET", path, { timeoutMs });
          assertEquals(status, 200);
        }
        await pause(BETWEEN_READS_MS);
      }
      assertEquals(new Set(await Promise.all(writes)), new Set([503]));
      const families = await readMetrics(await metricsUrl(service));
      assertEquals(findSeries(families, "tasks_instance_fenced"), 0);
      await group.restoreStandby();
      await waitUntil(async () => {
        const body = { name: "last" };
        const { status } = await client.call("POST", "/api/v1/workers", {
          body,
        });
        return status === 201 || status === 409;
      }, { what: "writes to go on" });
      await client.expect(200, ["GET", "/api/v1/workers/first"]);
    } finally {
      await group.stop();
    }
  },
});
