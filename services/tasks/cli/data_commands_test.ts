import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import {
  openSubject,
  TEST_SERVER,
} from "../store/postgres/testing/postgres_subject.ts";
import { databasePath } from "../store/sqlite/database_file.ts";
import { SqliteStore } from "../store/sqlite/sqlite_store.ts";
import {
  creation,
  sampleIds,
  sampleTask,
  toTransactions,
  withHistory,
} from "../store/testing/sample_tasks.ts";
import {
  runBackup,
  runCheck,
  runCompact,
  runRestore,
} from "./data_commands.ts";
import { readDataSettings } from "./testing/data_settings.ts";

interface Told {
  readonly out: string[];
  readonly err: string[];
}

async function withFolder(
  run: (folder: string, told: Told) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await run(folder, { out: [], err: [] });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function options(told: Told, dataDir: string) {
  return {
    settings: readDataSettings({ DATA_DIR: dataDir }),
    clock: new FakeClock(),
    io: {
      out: (text: string) => void told.out.push(text),
      err: (text: string) => void told.err.push(text),
    },
  };
}

function open(dataFolder: string) {
  return new SqliteStore({
    dataFolder,
    clock: new FakeClock(),
    logger: new RecordingLogger(),
  });
}

Deno.test("runBackup() and runRestore() carry tasks to another folder while a store is open", async () => {
  await withFolder(async (folder, told) => {
    await Deno.mkdir(`${folder}/a`);
    const store = open(`${folder}/a`);
    await store.start();
    const task = sampleTask({ id: sampleIds().next() });
    await store.commit(toTransactions(creation(task)));
    const file = `${folder}/copy`;
    assertEquals(await runBackup([file], options(told, `${folder}/a`)), 0);
    await store.stop();
    const to = options(told, `${folder}/b`);
    assertEquals(await runRestore([file, "--json"], to), 0);
    const restored = open(`${folder}/b`);
    await restored.start();
    assertEquals(await restored.task(task.tenantId, task.id), task);
    await restored.stop();
    assertEquals(await runCheck([], to), 0);
    assertEquals(told.err, []);
  });
});

Deno.test("runRestore() tells where it keeps what was there", async () => {
  await withFolder(async (folder, told) => {
    const from = `${folder}/a`;
    await Deno.mkdir(from);
    const store = open(from);
    await store.start();
    const file = `${folder}/copy`;
    assertEquals(await runBackup([file], options(told, from)), 0);
    const killed = `${folder}/killed`;
    await Deno.mkdir(killed);
    for (const name of ["tasks.db", "tasks.db-wal"]) {
      await Deno.copyFile(`${from}/${name}`, `${killed}/${name}`);
    }
    await store.stop();
    told.out.splice(0);
    const to = options(told, `${folder}/b`);
    assertEquals(await runRestore([file], to), 0);
    assertEquals(await runRestore([file], to), 0);
    assertEquals(await runRestore([file, "--json"], to), 0);
    const path = `${folder}/b/tasks.db`;
    assertEquals(told.out.splice(0), [
      `Restored "${file}" to "${folder}/b"`,
      `Restored "${file}" to "${folder}/b"`,
      `What was there is kept as "${path}.replaced"`,
      JSON.stringify({ dataDir: `${folder}/b`, kept: [`${path}.replaced.2`] }),
    ]);
    // A database cannot be opened with such a file beside it.
    await Deno.symlink(`${folder}/none`, `${killed}/tasks.db-shm`);
    assertEquals(await runRestore([file], options(told, killed)), 0);
    assertEquals(told.out.slice(1), [
      `What was there is kept as "${killed}/tasks.db.replaced" and ` +
      `"${killed}/tasks.db.replaced-wal"`,
      "The one with -wal is the log, which holds the newest writes and " +
      "belongs to the other one; it could not be moved into it: unable to " +
      "open database file",
    ]);
  });
});

Deno.test("runRestore() exits with 1 when the file is no backup", async () => {
  await withFolder(async (folder, told) => {
    await Deno.writeTextFile(`${folder}/text`, "nothing");
    const code = await runRestore(
      [`${folder}/text`],
      options(told, `${folder}/data`),
    );
    assertEquals(code, 1);
    assertStringIncludes(told.err.join("\n"), "Cannot restore");
  });
});

Deno.test("runCheck() exits with 1 when there is no database", async () => {
  await withFolder(async (folder, told) => {
    assertEquals(await runCheck([], options(told, folder)), 1);
    assertEquals(told.err.length, 1);
  });
});

Deno.test("runCheck() exits with 1 when a history was tampered with, and says of which task", async () => {
  await withFolder(async (folder, told) => {
    const { task, history } = withHistory(
      sampleTask({ id: sampleIds().next() }),
      [{}, {}],
    );
    const store = open(folder);
    await store.start();
    await store.commit(toTransactions({ ...creation(task), history }));
    await store.stop();
    assertEquals(await runCheck([], options(told, folder)), 0);
    assertEquals(told.out.splice(0), ["The database is whole"]);
    const db = new DatabaseSync(databasePath(folder));
    db.exec("UPDATE history SET text = replace(text, 'log', 'lag')");
    db.close();
    assertEquals(await runCheck([], options(told, folder)), 1);
    const fault = `Cannot trust history of task "${task.id}" at record 1: ` +
      "its content has another hash";
    assertEquals(told.out.splice(0), [fault]);
    assertEquals(await runCheck(["--json"], options(told, folder)), 1);
    assertEquals(told.out, [JSON.stringify({ faults: [fault] })]);
    assertEquals(told.err, []);
  });
});

Deno.test("runCheck() says how far it has come when it accepts long, but for --json", async () => {
  await withFolder(async (folder, told) => {
    const store = open(folder);
    await store.start();
    const ids = sampleIds();
    for (let count = 0; count < 5; count++) {
      const { task, history } = withHistory(sampleTask({ id: ids.next() }), [
        {},
        {},
      ]);
      await store.commit(toTransactions({ ...creation(task), history }));
    }
    await store.stop();
    let nowMs = 0;
    const clock = { nowMs: () => nowMs += 2_500 };
    const slow = { ...options(told, folder), clock };
    assertEquals(await runCheck(["--json"], slow), 0);
    assertEquals(told.err, []);
    assertEquals(await runCheck([], slow), 0);
    assertEquals(told.err, [
      "Histories checked so far: 1 (4 records)",
      "Histories checked so far: 3 (8 records)",
    ]);
  });
});

Deno.test("runBackup() exits with 2 when the file is not named", async () => {
  await withFolder(async (folder, told) => {
    assertEquals(await runBackup([], options(told, folder)), 2);
    assertEquals(await runBackup([""], options(told, folder)), 2);
    assertStringIncludes(told.err.join("\n"), "the file needs a name");
  });
});

Deno.test("runCompact() tells the sizes, and exits with 1 while a store is open", async () => {
  await withFolder(async (folder, told) => {
    const to = options(told, folder);
    assertEquals(await runCompact([], to), 1);
    const store = open(folder);
    await store.start();
    const task = sampleTask({ id: sampleIds().next() });
    await store.commit(toTransactions(creation(task)));
    assertEquals(await runCompact([], to), 1);
    await store.stop();
    assertEquals(told.err.splice(0), [
      `Cannot compact "${folder}": it has no database`,
      `Cannot use the data folder "${folder}": another process has it; ` +
      "stop that one first, or name another folder",
    ]);
    assertEquals(await runCompact([], to), 0);
    assertMatch(
      told.out[0] ?? "",
      /^Compacted "[^"]+": \d+\.\d MB before, \d+\.\d MB after$/,
    );
    assertEquals(await runCompact(["--json"], to), 0);
    const { dataDir, bytesBefore, bytesAfter } = JSON.parse(told.out[1] ?? "");
    assertEquals([dataDir, bytesBefore], [folder, bytesAfter]);
    assertEquals(await runCompact(["file"], to), 2);
    assertEquals(await runCheck([], to), 0);
  });
});

serviceTest(["postgres"], {
  name: "runCheck() reads PostgreSQL, and the other commands name its programs",
  fn: async () => {
    const { store, schema, close } = await openSubject();
    const told: Told = { out: [], err: [] };
    const of = {
      ...options(told, ""),
      settings: readDataSettings({
        STORE: "postgres",
        DATABASE_URL: TEST_SERVER.url,
        DATABASE_SCHEMA: schema,
      }),
    };
    const { task, history } = withHistory(
      sampleTask({ id: sampleIds().next() }),
      [{}],
    );
    await store.commit(toTransactions({ ...creation(task), history }));
    assertEquals(await runCheck([], of), 0);
    assertEquals(told.out.splice(0), ["The database is whole"]);
    await TEST_SERVER.sql(`UPDATE ${schema}.history SET hash = 'x'`);
    assertEquals(await runCheck(["--json"], of), 1);
    assertEquals(JSON.parse(told.out.splice(0)[0] ?? "").faults.length, 1);
    await close();
    assertEquals(await runCheck([], of), 1);
    assertEquals(told.err.splice(0), [
      `Cannot use the schema "${schema}": it has no tables; start the ` +
      "service, or migrate it",
    ]);
    assertEquals(await runBackup(["file"], of), 1);
    assertEquals(await runRestore(["file"], of), 1);
    assertEquals(await runCompact([], of), 1);
    assertMatch(told.err[0] ?? "", /^Cannot back up: .*pg_dump.*`tasks check`/);
    assertMatch(told.err[1] ?? "", /^Cannot restore: .*pg_restore/);
    assertMatch(told.err[2] ?? "", /^Cannot compact: .*VACUUM/);
    // A folder that is named is looked at, whatever the settings say.
    assertEquals(await runCheck(["--data-dir", "/none"], of), 1);
    assertStringIncludes(told.err[3] ?? "", '"/none/tasks.db"');
  },
});
