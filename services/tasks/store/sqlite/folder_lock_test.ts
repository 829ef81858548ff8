import { assertRejects, assertThrows } from "@std/assert";
import { lockFolder } from "./folder_lock.ts";
import { withFolder, withStore } from "./testing/open_store.ts";

Deno.test("lockFolder() keeps others out until it is released", async () => {
  await withFolder((folder) => {
    const lock = lockFolder(folder);
    assertThrows(() => lockFolder(folder), Error, "another process has it");
    lock.release();
    lock.release();
    lockFolder(folder).release();
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
