import { DatabaseSync } from "node:sqlite";
import { assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import { StoreFailedError } from "../../../shared/store_failed.ts";
import { FileErrors, openDatabase } from "./database_file.ts";
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
    });
    const read = (name: string) =>
      Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    assertEquals(read("secure_delete"), 1);
    assertEquals(read("wal_autocheckpoint"), 1_000);
    db.close();
    assertThrows(() => openDatabase(`${folder}/none/x.db`));
    return Promise.resolve();
  });
});

const errors = new FileErrors("/d/x.db", "mend it");

Deno.test("FileErrors.run() names the file and what can be done when the disk is full", () => {
  using db = new DatabaseSync(":memory:");
  db.exec("PRAGMA max_page_count = 2; CREATE TABLE t(x)");
  const error = assertThrows(
    () => errors.run(() => db.exec("INSERT INTO t VALUES(zeroblob(100000))")),
    StoreFailedError,
  );
  assertEquals(
    error.message,
    'Cannot use "/d/x.db": database or disk is full; its disk may be full: ' +
      "make room on it",
  );
  assertEquals(errors.named(error), error);
});

Deno.test("FileErrors.named() says what to do with a damaged file", () => {
  const cause = Object.assign(new Error("malformed"), { errcode: 0x10b });
  const error = errors.named(cause);
  assertInstanceOf(error, StoreFailedError);
  assertEquals(error.message, 'Cannot use "/d/x.db": malformed; mend it');
});

Deno.test("FileErrors.run() leaves results and faults of the program as they are", () => {
  using db = new DatabaseSync(":memory:");
  assertEquals(errors.run(() => 5), 5);
  const fault = assertThrows(() => errors.run(() => db.exec("no SQL")));
  assertEquals(fault instanceof StoreFailedError, false);
});
