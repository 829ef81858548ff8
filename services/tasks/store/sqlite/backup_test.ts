import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { backupDatabase, restoreDatabase } from "./backup.ts";
import { integrityCheck } from "./integrity.ts";
import {
  creation,
  sampleIds,
  sampleTask,
  transactionsOf,
} from "../testing/sample_tasks.ts";
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
      await store.commit(transactionsOf(creation(task)));
      await backupDatabase({ dataFolder: data, to });
      await store.commit(transactionsOf(creation(later)));
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
    // As an earlier version made it.
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
      await store.commit(transactionsOf(creation(task)));
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
  await store.commit(transactionsOf(creation(fresh)));
}

/** Files that not only their owner may use. */
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
