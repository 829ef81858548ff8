import { assert, assertEquals, assertRejects } from "@std/assert";
import { Buffer } from "node:buffer";
import { DatabaseSync } from "node:sqlite";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { waitUntil } from "../../../../tests/support/wait_until.ts";
import { withOwnStd } from "../../../../tests/support/with_own_std.ts";
import type { Store } from "../store.ts";
import {
  creation,
  removal,
  sampleIds,
  sampleTask,
  toTransactions,
  withHistory,
} from "../testing/sample_tasks.ts";
import { backupDatabase } from "./backup.ts";
import { compactDatabase } from "./compact.ts";
import {
  databasePath,
  fileLength,
  INCREMENTAL,
  integrityCheck,
} from "./database_file.ts";
import { withFolder, withStore } from "./testing/open_store.ts";
import {
  FIXTURE_TASK,
  FIXTURE_TENANT,
  makeV1Fixture,
} from "./testing/v1_fixture.ts";

/** Makes tasks with results that take many pages, and removes most of them. */
async function comeAndGo(store: Store, count = 200): Promise<void> {
  const ids = sampleIds(7);
  const tasks = Array.from({ length: count }, (_, index) => {
    const bare = sampleTask({
      id: ids.next(),
      resultJson: JSON.stringify(`${index}`.repeat(20_000)),
    });
    return withHistory(bare, [{ message: "ä\u0000z" }, {}]);
  });
  await store.commit(toTransactions(
    ...tasks.map(({ task, history }) => ({ ...creation(task), history })),
    { kind: "audit", tenantId: "tnt_a", entry: { ...ENTRY } },
    { kind: "usage", tenantId: "tnt_a", period: "2027-01", executions: 3 },
  ));
  const gone = tasks.slice(count / 20);
  await store.commit(toTransactions(...gone.map(({ task }) => removal(task))));
}

const ENTRY = { atMs: 5, action: "a.one", text: '{"who":"ä"}' };

/** All that is in a database, and how it is made. */
function readContent(folder: string): unknown {
  const db = new DatabaseSync(databasePath(folder));
  try {
    const schema = db.prepare(
      "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name",
    ).all();
    const tables = schema.filter(({ type }) => type === "table")
      .map(({ name }) => db.prepare(`SELECT * FROM "${name}"`).all());
    return { schema, tables };
  } finally {
    db.close();
  }
}

function pragma(path: string, name: string): unknown {
  // One that can write leaves no files behind.
  const db = new DatabaseSync(path);
  try {
    return db.prepare(`PRAGMA ${name}`).get()?.[name];
  } finally {
    db.close();
  }
}

function namesIn(folder: string): readonly string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

Deno.test("compactDatabase() leaves all rows and gives the rest back", async () => {
  await withFolder(async (folder) => {
    await withStore(folder, (store) => comeAndGo(store));
    await Deno.chmod(databasePath(folder), 0o640);
    const before = readContent(folder);
    const told: number[] = [];
    const { bytesBefore, bytesAfter } = await compactDatabase({
      dataFolder: folder,
      onProgress: ({ rows }) => told.push(rows),
    });
    assertEquals(readContent(folder), before);
    assert(bytesBefore > 10 * bytesAfter, `${bytesBefore} ${bytesAfter}`);
    assertEquals(fileLength(databasePath(folder)), bytesAfter);
    assertEquals(namesIn(folder), ["tasks.db", "tasks.lock"]);
    assertEquals(integrityCheck(folder), []);
    const { mode } = await Deno.stat(databasePath(folder));
    assertEquals((mode ?? 0o640) & 0o777, 0o640);
    await withStore(folder, async (store) => {
      const { tasks } = await store.listTasks({
        ...{ tenantId: "tnt_a", by: "date", sort: "date", order: "asc" },
        limit: 100,
      });
      assertEquals(tasks.length, 10);
      assertEquals(await store.proveCounts(), 0);
    });
  });
});

Deno.test("compactDatabase() and a backup of a file of an earlier version make one that can give pages back", async () => {
  await withFolder(async (folder) => {
    makeV1Fixture(folder);
    const path = databasePath(folder);
    await withStore(folder, (store) => comeAndGo(store));
    assertEquals(pragma(path, "auto_vacuum"), 0);
    const backup = `${folder}/tasks.backup`;
    await backupDatabase({ dataFolder: folder, to: backup });
    assert((fileLength(backup) ?? 0) * 5 < (fileLength(path) ?? 0));
    await compactDatabase({ dataFolder: folder });
    for (const file of [path, backup]) {
      assertEquals(pragma(file, "auto_vacuum"), INCREMENTAL, file);
      assertEquals(pragma(file, "freelist_count"), 0, file);
    }
    await withStore(folder, async (store) => {
      const { id } = FIXTURE_TASK;
      assertEquals(await store.task(FIXTURE_TENANT, id), FIXTURE_TASK);
    });
    assertEquals(namesIn(folder), ["tasks.backup", "tasks.db", "tasks.lock"]);
  });
});

Deno.test("a backup of a running store has no free pages", async () => {
  await withFolder(async (folder) => {
    await withStore(folder, async (store) => {
      await comeAndGo(store);
      const to = `${folder}/tasks.backup`;
      await backupDatabase({ dataFolder: folder, to });
      assertEquals(pragma(to, "freelist_count"), 0);
      const { length } = namesIn(folder).filter((name) =>
        name.startsWith("tasks.backup")
      );
      assertEquals(length, 1);
    });
  });
});

Deno.test("compactDatabase() leaves a file alone that is used, read, damaged or not there", async () => {
  await withFolder(async (folder) => {
    const compact = () => compactDatabase({ dataFolder: folder });
    await assertRejects(compact, Error, "it has no database");
    await withStore(folder, async (store) => {
      await comeAndGo(store);
      await assertRejects(compact, Error, "another process has it");
    });
    const path = databasePath(folder);
    const reader = new DatabaseSync(path, { readOnly: true });
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM tasks").get();
    const writer = new DatabaseSync(path);
    writer.exec("CREATE TABLE other(a); DROP TABLE other");
    writer.close();
    await assertRejects(compact, Error, "another program is reading it");
    reader.close();
    readContent(folder);

    const bytes = await Deno.readFile(path);
    bytes.fill(0x5a, 4_096 * 3, 4_096 * 5);
    await Deno.writeFile(path, bytes);
    await assertRejects(compact, Error, "it is not whole");
    assertEquals(Buffer.compare(await Deno.readFile(path), bytes), 0);
    assertEquals(namesIn(folder), ["tasks.db", "tasks.lock"]);
  });
});

Deno.test("a compaction that is killed loses nothing, and the next one succeeds", async () => {
  const random = new SeededRandom(20_261_129);
  await withFolder(async (folder) => {
    await withStore(folder, (store) => comeAndGo(store, 2_000));
    const content = readContent(folder);
    const copy = `${databasePath(folder)}.compacting`;
    for (let round = 0; round < 3; round++) {
      await killWhileCompacting(folder, 1 + random.below(2_000_000));
      assertEquals(integrityCheck(folder), []);
      assertEquals(readContent(folder), content);
    }
    await compactDatabase({ dataFolder: folder });
    assertEquals(fileLength(copy), undefined);
    assertEquals(readContent(folder), content);
  });
});

/** Kills a compaction once its copy has so many bytes, unless it has ended. */
async function killWhileCompacting(
  folder: string,
  bytes: number,
): Promise<void> {
  const flags = ["--no-check", "--no-prompt", "-R", "-W", "-E"];
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...withOwnStd(["run", ...flags]),
      new URL("../../main.ts", import.meta.url).href,
      ...["compact", "--data-dir", folder],
    ],
    ...{ stdin: "null", stdout: "null", stderr: "inherit" },
  }).spawn();
  let hasEnded = false;
  const ended = child.status.then(() => hasEnded = true);
  const path = `${databasePath(folder)}.compacting`;
  await waitUntil(() => hasEnded || (fileLength(path) ?? 0) >= bytes, {
    ...{ what: "the copy", timeoutMs: 30_000, intervalMs: 1 },
  });
  if (!hasEnded) child.kill("SIGKILL");
  await ended;
}
