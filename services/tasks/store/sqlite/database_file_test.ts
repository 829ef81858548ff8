import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { lockFolder } from "../../../shared/sqlite/folder_lock.ts";
import {
  creation,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../testing/sample_tasks.ts";
import { backupDatabase, restoreDatabase } from "./backup.ts";
import { integrityCheck, LOCK_FILE, openStored } from "./database_file.ts";
import { withFolder, withStore } from "./testing/open_store.ts";

/**
 * Keeps SQLite from creating the file that it needs beside the database, as in
 * a read-only folder: SQLite follows no links.
 */
async function forbidFileBeside(folder: string): Promise<void> {
  await Deno.symlink(`${folder}/none`, `${folder}/tasks.db-shm`);
}

Deno.test("a database can be backed up from where nothing can be written", async () => {
  await withFolder(async (folder) => {
    const data = `${folder}/data`;
    await Deno.mkdir(data);
    const task = sampleTask({ id: sampleIds().next() });
    await withStore(data, async (store) => {
      await store.commit(toTransactions(creation(task)));
    });
    await forbidFileBeside(data);
    assertThrows(
      () => integrityCheck(data),
      Error,
      `Cannot open "${data}/tasks.db": its folder cannot be written to, which ` +
        "is needed to read it",
    );
    const to = `${folder}/tasks.backup`;
    await backupDatabase({ dataFolder: data, to });
    const copy = `${folder}/copy`;
    await restoreDatabase({ from: to, dataFolder: copy });
    await withStore(copy, async (store) => {
      assertEquals(await store.task("tnt_a", task.id), task);
    });
  });
});

Deno.test("openStored() says why a database with a log cannot be read there", async () => {
  await withFolder(async (folder) => {
    await withStore(folder, () => Promise.resolve());
    await forbidFileBeside(folder);
    await Deno.writeTextFile(`${folder}/tasks.db-wal`, "the newest commits");
    assertThrows(
      () => openStored(folder),
      Error,
      `Cannot open "${folder}/tasks.db": its folder cannot be written to; ` +
        `copy it together with "${folder}/tasks.db-wal"`,
    );
  });
});

Deno.test("openStored() names what is no database", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/tasks.db`, "text\n".repeat(1_000));
    assertThrows(
      () => openStored(folder),
      Error,
      `Cannot open "${folder}/tasks.db": file is not a database`,
    );
  });
});

Deno.test("lockFolder() keeps others out until it is released", async () => {
  await withFolder((folder) => {
    const lock = lockFolder(folder, LOCK_FILE);
    assertThrows(
      () => lockFolder(folder, LOCK_FILE),
      Error,
      "another process has it",
    );
    lock.release();
    lock.release();
    lockFolder(folder, LOCK_FILE).release();
    return Promise.resolve();
  });
});

Deno.test("two stores do not share a folder", async () => {
  await withFolder(async (folder) => {
    await withStore(folder, async () => {
      await assertRejects(
        () => withStore(folder, () => Promise.resolve()),
        Error,
        "Cannot use the data folder",
      );
    });
    await withStore(folder, () => Promise.resolve());
  });
});
