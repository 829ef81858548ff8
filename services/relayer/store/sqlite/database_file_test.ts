import { assertEquals, assertThrows } from "@std/assert";
import { openDatabase } from "./database_file.ts";
import { withFolder } from "./testing/open_store.ts";

Deno.test("openDatabase() waits for the disk with each commit", async () => {
  await withFolder((folder) => {
    const db = openDatabase(`${folder}/x.db`);
    const read = (name: string) =>
      Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    assertEquals(read("journal_mode"), "wal");
    assertEquals(read("synchronous"), 2);
    assertEquals(read("wal_autocheckpoint"), 1_000);
    assertEquals(read("secure_delete"), 0);
    db.close();
    return Promise.resolve();
  });
});

Deno.test("openDatabase() erases what is deleted where it is told to", async () => {
  await withFolder((folder) => {
    const db = openDatabase(`${folder}/x.db`, {
      isErasing: true,
      checkpointPages: 50,
    });
    const read = (name: string) =>
      Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    assertEquals(read("secure_delete"), 1);
    assertEquals(read("wal_autocheckpoint"), 50);
    db.close();
    assertThrows(() => openDatabase(`${folder}/none/x.db`));
    return Promise.resolve();
  });
});
