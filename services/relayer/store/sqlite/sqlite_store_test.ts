import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import type { Change } from "../changes.ts";
import { StoreBusyError } from "../store.ts";
import { ALICE, sampleJob, sampleMemory } from "../testing/sample_rows.ts";
import { storeConformance } from "../testing/store_conformance.ts";
import { migrate } from "../../../shared/sqlite/migrations.ts";
import { RELAYER_MIGRATIONS } from "./migrations.ts";
import { SqliteStore } from "./sqlite_store.ts";
import { openSubject, withFolder, withStore } from "./testing/open_store.ts";

storeConformance("sqlite", openSubject);

const newJob = (id: string, payload = new Uint8Array(8)) =>
  [{ kind: "new_job", job: sampleJob({ id, payload }) }] as const;

Deno.test("SqliteStore.start() refuses a folder that another store has", async () => {
  await withStore(async (_store, { dataFolder, clock }) => {
    const logger = new RecordingLogger();
    const second = new SqliteStore({ dataFolder, clock, logger });
    await assertRejects(() => second.start(), Error, "another process has it");
    await assertRejects(() => second.nonces(0), Error, "it is not started");
    await second.stop();
  });
});

Deno.test("SqliteStore.start() refuses a database of a later program", async () => {
  await withStore(async (store, { dataFolder }) => {
    await store.stop();
    const db = new DatabaseSync(`${dataFolder}/relayer.db`);
    db.exec("INSERT INTO migrations VALUES(99, 'later', 0)");
    db.close();
    const error = await assertRejects(() => store.start(), Error);
    assertStringIncludes(error.message, "it is of version 99");
    // The lock was let go of: the next attempt fails for the same reason.
    const again = await assertRejects(() => store.start(), Error);
    assertEquals(again.message, error.message);
  });
});

Deno.test("SqliteStore.start() forgets which blobs an earlier program left out of restores, as it did with those that were only missing", async () => {
  await withFolder(async (dataFolder) => {
    const fileName = "relayer.db";
    const db = new DatabaseSync(`${dataFolder}/${fileName}`);
    const earlier = RELAYER_MIGRATIONS.filter(({ version }) => version <= 3);
    migrate(db, { nowMs: 0, migrations: earlier, fileName });
    db.prepare("INSERT INTO bad_blobs VALUES(?, ?)").run(ALICE, "blob");
    db.close();
    const [clock, logger] = [new FakeClock(), new RecordingLogger()];
    const store = new SqliteStore({ dataFolder, clock, logger });
    await store.start();
    assertEquals(await store.badBlobs(ALICE, ["blob"]), new Set());
    await store.commit([{ kind: "bad_blob", owner: ALICE, blobId: "blob" }]);
    await store.stop();
    await store.start();
    assertEquals(await store.badBlobs(ALICE, ["blob"]), new Set(["blob"]));
    await store.stop();
  });
});

Deno.test("SqliteStore.start() refuses a file that is no database", async () => {
  await withFolder(async (dataFolder) => {
    await Deno.writeTextFile(`${dataFolder}/relayer.db`, "x".repeat(5_000));
    const [clock, logger] = [new FakeClock(), new RecordingLogger()];
    const store = new SqliteStore({ dataFolder, clock, logger });
    await assertRejects(() => store.start(), Error, "not a database");
  });
});

Deno.test("commit() refuses what there is no room for and takes it later", async () => {
  await withStore(async (store) => {
    const outcomes = await Promise.allSettled(
      ["a", "b", "c"].map((id) => store.commit(newJob(id))),
    );
    assertEquals(
      outcomes.map(({ status }) => status),
      ["fulfilled", "fulfilled", "rejected"],
    );
    const reason: unknown = outcomes[2]?.status === "rejected" &&
      outcomes[2].reason;
    assertInstanceOf(reason, StoreBusyError);
    assert(reason.retryAfterMs >= 50);
    assertEquals(await store.commit(newJob("c")), { kind: "ok" });
  }, { maxQueuedCommits: 2 });
});

Deno.test("commit() refuses by bytes, yet takes what is alone", async () => {
  await withStore(async (store) => {
    const large = store.commit(newJob("large", new Uint8Array(20_000)));
    await assertRejects(() => store.commit(newJob("b")), StoreBusyError);
    assertEquals(await large, { kind: "ok" });
    assertEquals((await store.openJobs(ALICE)).bytes, 20_000);
  }, { maxQueuedBytes: 10_000 });
});

Deno.test("commit() fails alone when its values do not fit the tables", async () => {
  await withStore(async (store) => {
    const odd = sampleJob({ id: "odd", createdAtMs: 0.5 });
    const [first, second, third] = await Promise.allSettled([
      store.commit(newJob("a")),
      store.commit([
        { kind: "new_memory", memory: sampleMemory() },
        { kind: "new_job", job: odd },
      ]),
      store.commit(newJob("b")),
    ]);
    assertEquals(first?.status, "fulfilled");
    assertEquals(second?.status, "rejected");
    assertEquals(third?.status, "fulfilled");
    assertEquals((await store.openJobs(ALICE)).jobs, 2);
    assertEquals(await store.memories(ALICE, ["memory-1"]), [undefined]);
  });
});

Deno.test("commit() is on disk when it answers", async () => {
  await withStore(async (store, { dataFolder }) => {
    await Promise.all(
      Array.from(
        { length: 40 },
        (_, index) => store.commit(newJob(`job-${index}`)),
      ),
    );
    // A copy has the data that would be left if this process ended now.
    const copy = await Deno.makeTempDir();
    try {
      for (const name of ["relayer.db", "relayer.db-wal"]) {
        await Deno.copyFile(`${dataFolder}/${name}`, `${copy}/${name}`);
      }
      const [clock, logger] = [new FakeClock(), new RecordingLogger()];
      const found = new SqliteStore({ dataFolder: copy, clock, logger });
      await found.start();
      assertEquals((await found.openJobs(ALICE)).jobs, 40);
      assertEquals(
        (await found.leaseJobs({
          ...{ nowMs: clock.nowMs(), limit: 99, instance: "", leaseMs: 0 },
        })).length,
        40,
      );
      await found.stop();
    } finally {
      await Deno.remove(copy, { recursive: true });
    }
  });
});

Deno.test("stop() writes what waits", async () => {
  await withStore(async (store) => {
    const waiting = store.commit(newJob("a"));
    await store.stop();
    assertEquals(await waiting, { kind: "ok" });
    await assertRejects(() => store.commit(newJob("b")), Error, "not started");
    await store.start();
    assertEquals((await store.openJobs(ALICE)).jobs, 1);
  });
});

Deno.test("memories() and listings need no scan of the tables", async () => {
  await withStore(async (store, { dataFolder }) => {
    await store.stop();
    const db = new DatabaseSync(`${dataFolder}/relayer.db`);
    const explainPlan = (sql: string) =>
      db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
        .map((row) => String(row["detail"])).join("; ");
    for (
      const sql of [
        "SELECT * FROM jobs WHERE owner = 'o' AND id = 'i'",
        "SELECT * FROM jobs WHERE status < 3 AND next_attempt_ms <= 5 " +
        "ORDER BY next_attempt_ms, n LIMIT 5",
        "SELECT min(next_attempt_ms) FROM jobs WHERE status < 3",
        "SELECT n FROM jobs WHERE status >= 3 AND updated_ms < 5 " +
        "ORDER BY updated_ms LIMIT 5",
        "SELECT * FROM memories WHERE owner = 'o' AND change > 5 " +
        "ORDER BY change LIMIT 5",
        "SELECT * FROM memories WHERE owner = 'o' AND namespace = 'n' " +
        "AND id > 'i' ORDER BY id LIMIT 5",
        "SELECT * FROM memories WHERE owner = 'o' AND id > 'i' " +
        "ORDER BY id LIMIT 5",
      ]
    ) {
      const plan = explainPlan(sql);
      assertStringIncludes(plan, "INDEX", sql);
      assertEquals(plan.includes("TEMP B-TREE"), false, `${sql}: ${plan}`);
    }
    db.close();
  });
});

Deno.test("commit() settles in the order of the calls when a namespace is removed between others", async () => {
  await withStore(async (store) => {
    await store.commit([{ kind: "new_memory", memory: sampleMemory() }]);
    const settled: string[] = [];
    const commit = async (what: string, changes: readonly Change[]) => {
      await store.commit(changes);
      settled.push(what);
    };
    const { owner, namespace } = sampleMemory();
    await Promise.all([
      commit("before", [{
        kind: "new_memory",
        memory: sampleMemory({ id: "before" }),
      }]),
      commit("removal", [{ kind: "remove_namespace", owner, namespace }]),
      commit("after", [{
        kind: "new_memory",
        memory: sampleMemory({ id: "after" }),
      }]),
    ]);
    const ids = ["before", "after"];
    const rows = await store.memories(owner, ids);
    assertEquals(rows.map((row) => row?.id), [undefined, "after"]);
    assertEquals(settled, ["before", "removal", "after"]);
  });
});
