import { assert, assertEquals } from "@std/assert";
import { makeTestPool } from "../../../../tests/support/postgres_server.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { serviceTest } from "../../../../tests/support/services.ts";
import { systemClock } from "../../../shared/clock.ts";
import { creation, sampleIds, sampleTask } from "../testing/sample_tasks.ts";
import { HealthWatch } from "../../../shared/postgres/database_health.ts";
import {
  readTasksHealth,
  type TasksDatabaseHealth,
} from "./database_health.ts";
import { schemaSettings } from "../../../shared/postgres/schema.ts";
import { openSubject, TEST_SERVER } from "./testing/postgres_subject.ts";

serviceTest(["postgres"], {
  name: "HealthWatch tells sizes, and warns of a transaction that is open",
  async fn() {
    const { store, schema, close } = await openSubject();
    const task = sampleTask({ id: sampleIds().next() });
    await store.commit([{ writes: [creation(task)] }]);
    const { pool } = makeTestPool(TEST_SERVER.connection(), {
      settings: schemaSettings(schema),
    });
    const logger = new RecordingLogger();
    const seen: (TasksDatabaseHealth | undefined)[] = [];
    const watch = new HealthWatch({
      runner: pool,
      clock: systemClock,
      logger,
      oldSeconds: 0.001,
      more: (runner) => readTasksHealth(runner, () => ({ count: 2, gapMs: 3 })),
      onLooked: (health) => void seen.push(health),
    });
    const holder = await TEST_SERVER.session({ applicationName: "holder" });
    await holder.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
    const [own] = await holder.query<{ pid: number }>(
      "SELECT pg_backend_pid() AS pid",
    );
    await watch.look();
    await holder.close();
    const health = seen[0];
    assert(health !== undefined && health.oldestTransactionSeconds > 0);
    assertEquals(health.floorMisses, { count: 2, gapMs: 3 });
    assertEquals(health.unfoldedRows, 1);
    assertEquals(health.standbys, { synchronous: 0, asynchronous: 0 });
    const state = health.tables.find(({ table }) => table === "task_state");
    assert(state !== undefined && state.rowBytes > 0 && state.indexBytes > 0);
    const warning = logger.lines.find(({ fields }) =>
      fields["pid"] === own?.pid
    );
    assertEquals(warning?.fields["application"], "holder");
    await pool.close();
    await close();
  },
});
