import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  FolderSync,
  makePrivate,
  makePrivateDatabase,
  syncFolder,
  tighten,
  writeDurableFile,
} from "./data_file.ts";

async function withFolder(
  use: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "data_file_" });
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("writeDurableFile() writes all bytes, in place of what was there", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/file`;
    for (const length of [1_000_000, 3, 0]) {
      const bytes = Uint8Array.from({ length }, (_, at) => at % 251);
      await writeDurableFile(path, bytes);
      assertEquals(await Deno.readFile(path), bytes);
    }
  });
});

Deno.test({
  name: "writeDurableFile() makes files that their owner alone may read",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withFolder(async (folder) => {
      const path = `${folder}/file`;
      await writeDurableFile(path, Uint8Array.of(1));
      assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
    });
  },
});

Deno.test("writeDurableFile() passes on that there is no folder", async () => {
  await withFolder(async (folder) => {
    await assertRejects(
      () => writeDurableFile(`${folder}/none/file`, Uint8Array.of(1)),
      Deno.errors.NotFound,
    );
  });
});

Deno.test({
  name: "syncFolder() passes on that there is no folder",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withFolder(async (folder) => {
      await syncFolder(folder);
      await assertRejects(
        () => syncFolder(`${folder}/none`),
        Deno.errors.NotFound,
      );
    });
  },
});

/** Syncs that a test ends by hand. */
class ManualSync {
  readonly begun: string[] = [];
  readonly ends: { resolve(): void; reject(error: Error): void }[] = [];
  readonly sync = (path: string): Promise<void> => {
    this.begun.push(path);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.ends.push({ resolve, reject });
    return promise;
  };
}

Deno.test("FolderSync.sync() shares the next one, never the one under way", async () => {
  const manual = new ManualSync();
  const folders = new FolderSync(manual.sync);
  const first = folders.sync("a");
  const later = [folders.sync("a"), folders.sync("a"), folders.sync("b")];
  assertEquals(manual.begun, ["a", "b"]);
  manual.ends[0]?.resolve();
  await first;
  await Promise.resolve();
  assertEquals(manual.begun, ["a", "b", "a"]);
  manual.ends[1]?.resolve();
  manual.ends[2]?.resolve();
  await Promise.all(later);
  const after = folders.sync("a");
  assertEquals(manual.begun.length, 4);
  manual.ends[3]?.resolve();
  await after;
});

Deno.test("FolderSync.sync() tells a fault to those who waited for it alone", async () => {
  const manual = new ManualSync();
  const folders = new FolderSync(manual.sync);
  const first = folders.sync("a");
  const second = folders.sync("a");
  manual.ends[0]?.reject(new Error("the disk is gone"));
  await assertRejects(() => first, Error, "the disk is gone");
  await Promise.resolve();
  manual.ends[1]?.resolve();
  await second;
});

const IS_WINDOWS = Deno.build.os === "windows";

Deno.test({
  name:
    "makePrivate() makes a file for its owner alone and keeps what is there",
  ignore: IS_WINDOWS,
  fn() {
    const folder = Deno.makeTempDirSync();
    try {
      const path = `${folder}/made`;
      makePrivate(path);
      assertEquals(readMode(path), 0o600);
      Deno.writeTextFileSync(path, "content");
      Deno.chmodSync(path, 0o644);
      makePrivate(path);
      assertEquals(readMode(path), 0o600);
      assertEquals(Deno.readTextFileSync(path), "content");
      assertThrows(
        () => makePrivate(`${folder}/none/made`),
        Deno.errors.NotFound,
      );
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "tighten() leaves files alone that are for a group, or not there",
  ignore: IS_WINDOWS,
  fn() {
    const folder = Deno.makeTempDirSync();
    try {
      const path = `${folder}/file`;
      Deno.writeTextFileSync(path, "content");
      for (
        const [before, after] of [
          [0o640, 0o640],
          [0o660, 0o660],
          [0o664, 0o600],
          [0o602, 0o600],
        ] as const
      ) {
        Deno.chmodSync(path, before);
        tighten(path);
        assertEquals(readMode(path), after);
      }
      tighten(`${folder}/none`);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "tighten() lets the owner of a folder go on using it",
  ignore: IS_WINDOWS,
  fn() {
    const folder = Deno.makeTempDirSync();
    try {
      for (const [before, after] of [[0o755, 0o700], [0o750, 0o750]] as const) {
        Deno.chmodSync(folder, before);
        tighten(folder);
        assertEquals(readMode(folder), after);
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

Deno.test({
  name:
    "makePrivateDatabase() takes the files beside a database from others, too",
  ignore: IS_WINDOWS,
  fn() {
    const folder = Deno.makeTempDirSync();
    try {
      const path = `${folder}/x.db`;
      const beside = [`${path}-wal`, `${path}-shm`, `${path}-journal`];
      for (const file of beside) {
        Deno.writeTextFileSync(file, "");
        Deno.chmodSync(file, 0o644);
      }
      makePrivateDatabase(path);
      for (const file of [path, ...beside]) {
        assertEquals([file, readMode(file)], [file, 0o600]);
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

function readMode(path: string): number {
  return (Deno.statSync(path).mode ?? 0) & 0o777;
}
