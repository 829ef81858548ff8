import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import {
  creation,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../testing/sample_tasks.ts";
import { backupDatabase, restoreDatabase } from "./backup.ts";
import { integrityCheck } from "./database_file.ts";
import { withFolder, withStore } from "./testing/open_store.ts";

const task = sampleTask({ id: sampleIds(1).next() });
const later = sampleTask({ id: sampleIds(2).next() });

async function namesIn(folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(folder)) names.push(name);
  return names.sort();
}

Deno.test("a backup of a store in use holds what was answered", async () => {
  await withFolder(async (folder) => {
    const [data, copy] = [`${folder}/data`, `${folder}/copy`];
    const to = `${folder}/tasks.backup`;
    await Deno.mkdir(data);
    await withStore(data, async (store) => {
      await store.commit(toTransactions(creation(task)));
      await backupDatabase({ dataFolder: data, to });
      await store.commit(toTransactions(creation(later)));
      assertEquals(await store.task("tnt_a", later.id), later);
    });
    assertEquals(await namesIn(folder), ["data", "tasks.backup"]);
    await restoreDatabase({ from: to, dataFolder: copy });
    assertEquals(integrityCheck(copy), []);
    await withStore(copy, async (store) => {
      assertEquals(await store.task("tnt_a", task.id), task);
      assertEquals(await store.task("tnt_a", later.id), undefined);
    });
  });
});

Deno.test("a restore keeps what it replaces", async () => {
  await withFolder(async (folder) => {
    const to = `${folder}/tasks.backup`;
    const data = `${folder}/data`;
    await Deno.mkdir(data);
    await withStore(data, (store) => add(store, task));
    await backupDatabase({ dataFolder: data, to });
    await withStore(data, (store) => add(store, later));
    await restoreDatabase({ from: to, dataFolder: data });
    await withStore(data, async (store) => {
      assertEquals(await store.task("tnt_a", later.id), undefined);
    });
    const old = new DatabaseSync(`${data}/tasks.db.replaced`);
    const row = old.prepare("SELECT count(*) AS count FROM tasks").get();
    old.close();
    assertEquals(row?.["count"], 2);
    await restoreDatabase({ from: to, dataFolder: data });
  });
});

Deno.test("databases and backups are for their owner alone", {
  ignore: Deno.build.os === "windows",
}, async () => {
  await withFolder(async (folder) => {
    const data = `${folder}/data`;
    await Deno.mkdir(data);
    await withStore(data, async (store) => {
      await add(store, task);
      assertEquals(await openFilesIn(data), []);
    });
    // The mode is that of an earlier version.
    await Deno.chmod(`${data}/tasks.db`, 0o644);
    await withStore(data, async (store) => {
      await add(store, later);
      assertEquals(await openFilesIn(data), []);
    });
    const to = `${folder}/tasks.backup`;
    await backupDatabase({ dataFolder: data, to });
    assertEquals(await openFilesIn(folder), ["data"]);
    await Deno.chmod(to, 0o644);
    await Deno.chmod(`${data}/tasks.db`, 0o644);
    await restoreDatabase({ from: to, dataFolder: data });
    assertEquals(await openFilesIn(data), []);
    const fresh = `${folder}/fresh`;
    await restoreDatabase({ from: to, dataFolder: fresh });
    assertEquals((await Deno.stat(fresh)).mode! & 0o777, 0o700);
    assertEquals(await openFilesIn(fresh), []);
  });
});

Deno.test("backupDatabase() makes no copy of a database that is not whole", async () => {
  await withFolder(async (folder) => {
    const data = `${folder}/data`;
    await Deno.mkdir(data);
    await withStore(data, (store) => add(store, task));
    const path = `${data}/tasks.db`;
    const bytes = await Deno.readFile(path);
    bytes.fill(0x5a, 3 * 8_192, 6 * 8_192);
    await Deno.writeFile(path, bytes);
    const to = `${folder}/tasks.backup`;
    await assertRejects(
      () => backupDatabase({ dataFolder: data, to }),
      Error,
      `Cannot back up "${data}" to "${to}": it is not whole: `,
    );
    assertEquals(await namesIn(folder), ["data"]);
  });
});

Deno.test("backupDatabase() names the file that it cannot make", async () => {
  await withFolder(async (folder) => {
    await withStore(folder, (store) => add(store, task));
    const to = `${folder}/none/tasks.backup`;
    await assertRejects(
      () => backupDatabase({ dataFolder: folder, to }),
      Error,
      `to "${to}": the folder of the file is not there`,
    );
  });
});

Deno.test("backupDatabase() refuses a folder without database and a file that is there", async () => {
  await withFolder(async (folder) => {
    const to = `${folder}/tasks.backup`;
    await assertRejects(
      () => backupDatabase({ dataFolder: folder, to }),
      Error,
      "it has no database",
    );
    await withStore(folder, async () => {
      await Deno.writeTextFile(to, "precious");
      await assertRejects(
        () => backupDatabase({ dataFolder: folder, to }),
        Error,
        "there is a file already",
      );
    });
    assertEquals(await Deno.readTextFile(to), "precious");
  });
});

Deno.test("restoreDatabase() refuses a folder in use", async () => {
  await withFolder(async (folder) => {
    const to = `${folder}/tasks.backup`;
    await withStore(folder, async (store) => {
      await backupDatabase({ dataFolder: folder, to });
      await assertRejects(
        () => restoreDatabase({ from: to, dataFolder: folder }),
        Error,
        "another process has it",
      );
      await store.commit(toTransactions(creation(task)));
    });
  });
});

Deno.test("restoreDatabase() refuses what is not whole and changes nothing", async () => {
  await withFolder(async (folder) => {
    const data = `${folder}/data`;
    await Deno.mkdir(data);
    await withStore(data, (store) => add(store, task));
    const good = `${folder}/good`;
    await backupDatabase({ dataFolder: data, to: good });
    const bytes = await Deno.readFile(good);
    const before = await namesIn(data);
    const faulty: Record<string, Uint8Array> = {
      text: new TextEncoder().encode("no database"),
      empty: new Uint8Array(0),
      cut: bytes.slice(0, Math.floor(bytes.length / 2)),
      scribbled: bytes.map((byte, index) =>
        index > 9_000 && index < 60_000 ? byte ^ 0x5a : byte
      ),
    };
    for (const [name, content] of Object.entries(faulty)) {
      const from = `${folder}/${name}`;
      await Deno.writeFile(from, content);
      await assertRejects(
        () => restoreDatabase({ from, dataFolder: data }),
        Error,
        "Cannot restore",
        name,
      );
    }
    const later = `${folder}/later`;
    await Deno.copyFile(good, later);
    const db = new DatabaseSync(later);
    db.exec("INSERT INTO migrations VALUES(99, 'later', 5)");
    db.close();
    await assertRejects(
      () => restoreDatabase({ from: later, dataFolder: data }),
      Error,
      "it is of version 99",
    );
    await Deno.writeTextFile(`${good}-wal`, "the newest commits");
    await assertRejects(
      () => restoreDatabase({ from: good, dataFolder: data }),
      Error,
      "a log stands beside it",
    );
    await assertRejects(
      () => restoreDatabase({ from: `${folder}/none`, dataFolder: data }),
      Error,
      "there is no such file",
    );
    assertEquals(await namesIn(data), before);
    await withStore(data, async (store) => {
      assertEquals(await store.task("tnt_a", task.id), task);
    });
  });
});

Deno.test("integrityCheck() finds a page that was scribbled on", async () => {
  await withFolder(async (folder) => {
    await withStore(folder, (store) => add(store, task));
    assertEquals(integrityCheck(folder), []);
    const path = `${folder}/tasks.db`;
    const bytes = await Deno.readFile(path);
    bytes.fill(0x5a, 3 * 8_192, 6 * 8_192);
    await Deno.writeFile(path, bytes);
    assertEquals(integrityCheck(folder).length > 0, true);
    assertThrows(
      () => integrityCheck(`${folder}/none`),
      Error,
      `Cannot open "${folder}/none/tasks.db": there is no such database`,
    );
  });
});

async function add(
  store: Parameters<Parameters<typeof withStore>[1]>[0],
  fresh: typeof task,
): Promise<void> {
  await store.commit(toTransactions(creation(fresh)));
}

/** The files that others than their owner may use. */
async function openFilesIn(folder: string): Promise<readonly string[]> {
  const modes = await Promise.all(
    (await namesIn(folder)).map(async (name) => {
      const { mode } = await Deno.stat(`${folder}/${name}`);
      return { name, mode: mode ?? 0 };
    }),
  );
  return modes.filter(({ mode }) => (mode & 0o077) !== 0)
    .map(({ name }) => name);
}

Deno.test("a restore keeps each database that was there, with a name of its own", async () => {
  await withFolder(async (folder) => {
    const to = `${folder}/tasks.backup`;
    const data = `${folder}/data`;
    await Deno.mkdir(data);
    await withStore(data, (store) => add(store, task));
    await backupDatabase({ dataFolder: data, to });
    await withStore(data, (store) => add(store, later));
    const path = `${data}/tasks.db`;
    const files: (readonly string[])[] = [];
    for (let count = 0; count < 3; count++) {
      files.push((await restoreDatabase({ from: to, dataFolder: data })).files);
    }
    assertEquals(files, [
      [`${path}.replaced`],
      [`${path}.replaced.2`],
      [`${path}.replaced.3`],
    ]);
    assertEquals(countTasks(`${path}.replaced`), 2);
    assertEquals(countTasks(`${path}.replaced.2`), 1);
    assertEquals(
      await restoreDatabase({ from: to, dataFolder: `${folder}/fresh` }),
      { files: [] },
    );
  });
});

Deno.test("a restore keeps the log that it cannot move into the database", async () => {
  await withFolder(async (folder) => {
    const to = await createBackup(task, folder);
    const data = `${folder}/killed`;
    await leaveAsKilled(data, [task, later]);
    const path = `${data}/tasks.db`;
    // A reader keeps the log from being moved, as a full disk does.
    const reader = new DatabaseSync(path, { readOnly: true });
    reader.exec("BEGIN; SELECT * FROM tasks");
    const kept = await restoreDatabase({ from: to, dataFolder: data });
    reader.close();
    assertEquals(kept, {
      files: [`${path}.replaced`, `${path}.replaced-wal`],
      logReason: "another program is reading it",
    });
    assertEquals(await namesIn(data), [
      "tasks.db",
      "tasks.db.replaced",
      "tasks.db.replaced-wal",
      "tasks.lock",
    ]);
    assertEquals(integrityCheck(data), []);
    assertEquals(countTasks(path), 1);
    assertEquals(countTasks(`${path}.replaced`), 2);
  });
});

Deno.test("a restore keeps the log of a database that cannot be opened", async () => {
  await withFolder(async (folder) => {
    const to = await createBackup(task, folder);
    const data = `${folder}/killed`;
    await leaveAsKilled(data, [task, later]);
    const path = `${data}/tasks.db`;
    // SQLite follows no link for the file that it needs to read the log.
    await Deno.symlink(`${folder}/none`, `${path}-shm`);
    const log = await Deno.readFile(`${path}-wal`);
    const kept = await restoreDatabase({ from: to, dataFolder: data });
    assertEquals(kept, {
      files: [`${path}.replaced`, `${path}.replaced-wal`],
      logReason: "unable to open database file",
    });
    assertEquals(await Deno.readFile(`${path}.replaced-wal`), log);
    assertEquals(countTasks(`${path}.replaced`), 2);
    assertEquals(countTasks(path), 1);
  });
});

Deno.test("a restore that fails leaves what an earlier one was cut short with", async () => {
  await withFolder(async (folder) => {
    const to = await createBackup(task, folder);
    const data = `${folder}/data`;
    await Deno.mkdir(data);
    const marker = `${data}/tasks.db.restoring`;
    await Deno.copyFile(to, marker);
    const broken = `${folder}/broken`;
    await Deno.writeTextFile(broken, "no database");
    await assertRejects(() =>
      restoreDatabase({ from: broken, dataFolder: data })
    );
    assertEquals(await namesIn(data), ["tasks.db.restoring", "tasks.lock"]);
    // The file there is a complete backup itself.
    await restoreDatabase({ from: marker, dataFolder: data });
    assertEquals(countTasks(`${data}/tasks.db`), 1);
    assertEquals(await namesIn(data), ["tasks.db", "tasks.lock"]);
  });
});

Deno.test("a store does not begin anew where a restore was cut short", async () => {
  await withFolder(async (folder) => {
    const to = await createBackup(task, folder);
    const data = `${folder}/cut`;
    await Deno.mkdir(data);
    await Deno.copyFile(to, `${data}/tasks.db.restoring`);
    await Deno.writeTextFile(`${data}/tasks.db-wal`, "of the one before");
    await assertRejects(
      () => withStore(data, () => Promise.resolve()),
      Error,
      "a restore was cut short; run it again",
    );
    await restoreDatabase({ from: to, dataFolder: data });
    assertEquals(
      await Deno.readTextFile(`${data}/tasks.db.replaced-wal`),
      "of the one before",
    );
    await withStore(data, async (store) => {
      assertEquals(await store.task("tnt_a", task.id), task);
    });
  });
});

/** Creates a backup that holds a task. */
async function createBackup(
  fresh: typeof task,
  folder: string,
): Promise<string> {
  const dataFolder = `${folder}/backed_up`;
  const to = `${folder}/tasks.backup`;
  await Deno.mkdir(dataFolder);
  await withStore(dataFolder, (store) => add(store, fresh));
  await backupDatabase({ dataFolder, to });
  return to;
}

/** Leaves a folder as a killed process does: all commits are in the log. */
async function leaveAsKilled(
  to: string,
  tasks: readonly (typeof task)[],
): Promise<void> {
  const from = `${to}.running`;
  await Deno.mkdir(from);
  await Deno.mkdir(to);
  await withStore(from, async (store) => {
    for (const one of tasks) await add(store, one);
    for (const name of ["tasks.db", "tasks.db-wal"]) {
      await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
    }
  }, { durability: "relaxed" });
}

function countTasks(path: string): unknown {
  const db = new DatabaseSync(path);
  try {
    return db.prepare("SELECT count(*) AS count FROM tasks").get()?.["count"];
  } finally {
    db.close();
  }
}
