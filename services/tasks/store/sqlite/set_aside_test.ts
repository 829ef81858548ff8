import { assertEquals, assertRejects } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import {
  creation,
  sampleIds,
  sampleTask,
  transactionsOf,
} from "../testing/sample_tasks.ts";
import { backupDatabase, restoreDatabase } from "./backup.ts";
import { integrityCheck } from "./integrity.ts";
import { withFolder, withStore } from "./testing/open_store.ts";

const task = sampleTask({ id: sampleIds(1).next() });
const later = sampleTask({ id: sampleIds(2).next() });

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
    const to = await backupOf(task, folder);
    const data = `${folder}/killed`;
    await leaveAsKilled(data, [task, later]);
    const path = `${data}/tasks.db`;
    // As a full disk does, a reader keeps the log from being moved.
    const reader = new DatabaseSync(path, { readOnly: true });
    reader.exec("BEGIN; SELECT * FROM tasks");
    const kept = await restoreDatabase({ from: to, dataFolder: data });
    reader.close();
    assertEquals(kept, {
      files: [`${path}.replaced`, `${path}.replaced-wal`],
      logReason: "somebody is reading it",
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
    const to = await backupOf(task, folder);
    const data = `${folder}/killed`;
    await leaveAsKilled(data, [task, later]);
    const path = `${data}/tasks.db`;
    // SQLite follows no link to the file that it reads the log by.
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
    const to = await backupOf(task, folder);
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
    // What lies there is a whole backup itself.
    await restoreDatabase({ from: marker, dataFolder: data });
    assertEquals(countTasks(`${data}/tasks.db`), 1);
    assertEquals(await namesIn(data), ["tasks.db", "tasks.lock"]);
  });
});

Deno.test("a store does not begin anew where a restore was cut short", async () => {
  await withFolder(async (folder) => {
    const to = await backupOf(task, folder);
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

/** A backup that holds a task. */
async function backupOf(fresh: typeof task, folder: string): Promise<string> {
  const dataFolder = `${folder}/backed_up`;
  const to = `${folder}/tasks.backup`;
  await Deno.mkdir(dataFolder);
  await withStore(dataFolder, (store) => add(store, fresh));
  await backupDatabase({ dataFolder, to });
  return to;
}

/** Leaves what a process leaves that is killed: all commits are in the log. */
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

async function add(
  store: Parameters<Parameters<typeof withStore>[1]>[0],
  fresh: typeof task,
): Promise<void> {
  await store.commit(transactionsOf(creation(fresh)));
}

async function namesIn(folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(folder)) names.push(name);
  return names.sort();
}
