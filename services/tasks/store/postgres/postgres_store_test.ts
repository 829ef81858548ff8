import { assertEquals } from "@std/assert";
import { serviceTest } from "../../../../tests/support/services.ts";
import { waitUntil } from "../../../../tests/support/wait_until.ts";
import { computePlacement } from "../../domain/placement.ts";
import type { Notice } from "../instances.ts";
import {
  change,
  changed,
  creation,
  removal,
  sampleIds,
  sampleTask,
} from "../testing/sample_tasks.ts";
import {
  severalStoresConformance,
  storeConformance,
} from "../testing/store_conformance.ts";
import { openSubject, TEST_SERVER } from "./testing/postgres_subject.ts";

storeConformance(
  "PostgreSQL",
  () => openSubject(),
  (test) => serviceTest(["postgres"], test),
);

severalStoresConformance(
  "PostgreSQL",
  () => openSubject(),
  (test) => serviceTest(["postgres"], test),
);

serviceTest(["postgres"], {
  name: "PostgresStore finds at once the tasks that another instance tells of",
  async fn() {
    const { store, another, close } = await openSubject();
    const other = await another();
    const ids = sampleIds();
    const first = sampleTask({ id: ids.next() });
    const { tenantId, workerId, job, group } = first;
    await store.commit([{ writes: [creation(first)] }]);
    await store.commit([{ writes: [removal(first)] }]);
    let told = Promise.withResolvers<Notice>();
    store.onNotice((notice) => told.resolve(notice));
    for (let tries = 0; tries < 5; tries++) {
      const task = sampleTask({ id: ids.next() });
      // For a second from now, only what it hears is news to the store.
      const claim = { tenantId, workerId, limit: 10 };
      assertEquals(await store.candidates(claim), []);
      told = Promise.withResolvers();
      await other.commit([{ writes: [creation(task)] }]);
      const { rank = 0 } = computePlacement(task);
      const due = { job, group, rank };
      other.tell([{ kind: "due", tenantId, workerId, task: due }]);
      assertEquals((await told.promise).kind, "due");
      const found = await store.candidates(claim);
      assertEquals(found.map(({ id }) => id), [task.id]);
      await other.commit([{ writes: [removal(task)] }]);
    }
    await close();
  },
});

for (const connections of [3, 8]) {
  serviceTest(["postgres"], {
    name:
      `PostgresStore uses ${connections} connections and two for notifications and names`,
    async fn() {
      const applicationName = `store of ${connections}`;
      const { store, close } = await openSubject({
        connections,
        connection: TEST_SERVER.connection({ applicationName }),
      });
      const ids = sampleIds();
      const workers = Array.from({ length: 30 }, (_, n) => ({
        tenantId: `tnt_${n}`,
        workerId: "wrk_a",
      }));
      const started = await Promise.all(workers.map(async (worker) => {
        const task = sampleTask({ ...worker, id: ids.next() });
        await store.commit([{ writes: [creation(task)] }]);
        await store.task(task.tenantId, task.id);
        return await store.claim(
          { ...worker, limits: "worker" },
          async ({ candidates }) => {
            const found = await candidates({ ...worker, limit: 1 });
            return found.map((one) => ({
              writes: [change(changed(one, { run: 1 }))],
            }));
          },
        );
      }));
      assertEquals(started, workers.map(() => [{ kind: "ok" }]));
      const count = async () => {
        const [row] = await TEST_SERVER.sql<{ count: number }>(
          "SELECT count(*) AS count FROM pg_stat_activity " +
            `WHERE application_name = '${applicationName}'`,
        );
        return row?.count ?? 0;
      };
      await waitUntil(async () => await count() > connections + 1, {
        what: "all connections",
      });
      assertEquals(await count(), connections + 2);
      await close();
    },
  });
}
