import { assert, assertEquals, assertRejects } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { systemClock } from "../../../shared/clock.ts";
import { StoreBusyError } from "../store.ts";
import {
  creation,
  removal,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../testing/sample_tasks.ts";
import { storeConformance } from "../testing/store_conformance.ts";
import { databasePath, fileLength } from "./database_file.ts";
import { withFolder, withStore } from "./testing/open_store.ts";
import { SqliteStore } from "./sqlite_store.ts";
import { startWriterThread } from "./writer.ts";

storeConformance("SQLite", async () => {
  const dataFolder = await Deno.makeTempDir({ prefix: "sqlite_store_" });
  const logger = new RecordingLogger();
  const options = { dataFolder, clock: systemClock, logger };
  let store = new SqliteStore(options);
  await store.start();
  return {
    store,
    async reopen() {
      await store.stop();
      store = new SqliteStore(options);
      await store.start();
      return store;
    },
    async close() {
      await store.stop();
      await Deno.remove(dataFolder, { recursive: true });
    },
  };
});

Deno.test("a store that is not started rejects and stops without harm", async () => {
  await withFolder(async (dataFolder) => {
    const store = new SqliteStore({
      dataFolder,
      clock: systemClock,
      logger: new RecordingLogger(),
    });
    await store.stop();
    const message = "Cannot use the store: it is not started";
    await assertRejects(() => store.commit([]), Error, message);
    await assertRejects(() => store.nextWakeMs(), Error, message);
    await store.start();
    await store.start();
    assertEquals(await store.nextWakeMs(), undefined);
    await store.stop();
    await store.stop();
    await assertRejects(() => store.commit([]), Error, message);
    await store.start();
    assertEquals(await store.commit([]), []);
    await store.stop();
  });
});

Deno.test("a store that stops answers what is under way", async () => {
  await withFolder(async (folder) => {
    const ids = sampleIds();
    const tasks = Array.from(
      { length: 3_000 },
      () => sampleTask({ id: ids.next() }),
    );
    let commits: Promise<unknown>[] = [];
    await withStore(folder, (store) => {
      commits = tasks.map((task) =>
        store.commit(toTransactions(creation(task)))
      );
      return Promise.resolve();
    });
    assertEquals(
      await Promise.all(commits),
      tasks.map(() => [{ kind: "ok" }]),
    );
    await withStore(folder, async (store) => {
      const found = await store.tasks("tnt_a", tasks.map(({ id }) => id));
      assertEquals(found, tasks);
    });
  });
});

Deno.test("a store refuses more than it has room for and goes on", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      const ids = sampleIds();
      const write = () => creation(sampleTask({ id: ids.next() }));
      const first = store.commit(
        toTransactions(...Array.from({ length: 30 }, write)),
      );
      const refused = await assertRejects(
        () =>
          store.commit(toTransactions(...Array.from({ length: 30 }, write))),
        StoreBusyError,
      );
      assert(refused.retryAfterMs > 0);
      assertEquals((await first).length, 30);
      const large = JSON.stringify("x".repeat(2_000_000));
      const task = sampleTask({ id: ids.next(), dataJson: large });
      const second = store.commit(toTransactions(creation(task)));
      await assertRejects(
        () => store.commit(toTransactions(write())),
        StoreBusyError,
      );
      assertEquals(await second, [{ kind: "ok" }]);
      assertEquals(await store.commit(toTransactions(write())), [{
        kind: "ok",
      }]);
    }, { maxQueuedRows: 100, maxQueuedMegabytes: 1 })
  );
});

Deno.test("a commit that cannot be encoded harms no other", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      const task = sampleTask({ id: sampleIds().next() });
      const good = store.commit(toTransactions(creation(task)));
      const bad = sampleTask({ id: "tsk_nonsense" });
      await assertRejects(
        () => store.commit(toTransactions(creation(task), creation(bad))),
        TypeError,
      );
      assertEquals(await good, [{ kind: "ok" }]);
    })
  );
});

Deno.test("a relaxed store keeps what was answered when it stops", async () => {
  await withFolder(async (folder) => {
    const task = sampleTask({ id: sampleIds().next() });
    await withStore(folder, async (store) => {
      await store.commit(toTransactions(creation(task)));
    }, { durability: "relaxed" });
    await withStore(folder, async (store) => {
      assertEquals(await store.task("tnt_a", task.id), task);
    });
  });
});

Deno.test("reading leaves nothing open that keeps the log from beginning anew", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      const ids = sampleIds();
      const tasks = Array.from(
        { length: 300 },
        () => sampleTask({ id: ids.next() }),
      );
      await store.commit(toTransactions(...tasks.map(creation)));
      const claim = { tenantId: "tnt_a", workerId: "wrk_a", limit: 3 };
      await store.candidates(claim);
      await store.listTasks({
        tenantId: "tnt_a",
        by: "date",
        sort: "date",
        order: "asc",
        limit: 3,
      });
      await store.waking(Number.MAX_SAFE_INTEGER, 3);
      await store.scan({ status: "running", limit: 3 });
      await store.taskByKey({ tenantId: "tnt_a", workerId: "wrk_a", key: "k" });
      const db = new DatabaseSync(databasePath(folder), { timeout: 0 });
      try {
        const row = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
        assertEquals(row?.["busy"], 0);
      } finally {
        db.close();
      }
    })
  );
});

Deno.test("a task that is made where another of its id is being removed keeps its data", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      const dataJson = JSON.stringify("x".repeat(5_000));
      const task = sampleTask({ id: sampleIds().next(), dataJson });
      await store.commit(toTransactions(creation(task)));
      const results = await Promise.all([
        store.commit(toTransactions(removal(task))),
        store.commit(toTransactions(creation(task))),
      ]);
      assertEquals(results, [[{ kind: "ok" }], [{ kind: "ok" }]]);
      const read = await store.task(task.tenantId, task.id);
      assertEquals(read?.dataJson, dataJson);
    })
  );
});

Deno.test("a store starts its thread when it starts, as later no file may be left for its program", async () => {
  await withFolder(async (folder) => {
    let started = 0;
    const startThread = () => {
      started++;
      return startWriterThread();
    };
    await withStore(folder, () => {
      assertEquals(started, 1);
      return Promise.resolve();
    }, { startThread });
  });
});

Deno.test("a store moves its log of commits to the file when it has become long", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      const ids = sampleIds();
      const dataJson = JSON.stringify("x".repeat(1_000_000));
      const before = fileLength(databasePath(folder)) ?? 0;
      for (let round = 0; round < 12; round++) {
        const task = sampleTask({ id: ids.next(), dataJson });
        await store.commit(toTransactions(creation(task)));
      }
      const moved = (fileLength(databasePath(folder)) ?? 0) - before;
      assertEquals(moved > 8_000_000, true, `${moved} bytes`);
    })
  );
});
