import { assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { createSqliteStore } from "../store/sqlite/sqlite_store.ts";
import {
  creation,
  sampleIds,
  sampleTask,
  unitsOf,
} from "../store/testing/sample_tasks.ts";
import { runBackup, runCheck, runRestore } from "./data_commands.ts";

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
    dataDir,
    io: {
      out: (text: string) => void told.out.push(text),
      err: (text: string) => void told.err.push(text),
    },
  };
}

function open(dataFolder: string) {
  return createSqliteStore({
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
    await store.commit(unitsOf(creation(task)));
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

Deno.test("runBackup() exits with 2 when the file is not named", async () => {
  await withFolder(async (folder, told) => {
    assertEquals(await runBackup([], options(told, folder)), 2);
  });
});
