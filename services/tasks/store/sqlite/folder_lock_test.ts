import { assertRejects, assertThrows } from "@std/assert";
import { lockFolder } from "../../../shared/sqlite/folder_lock.ts";
import { LOCK_FILE } from "./database_file.ts";
import { withFolder, withStore } from "./testing/open_store.ts";

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
