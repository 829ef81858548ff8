import { assertEquals, assertThrows } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { isFullError } from "./sqlite_error.ts";
import { inTransaction } from "./transaction.ts";

/** A database with a table that holds what is written. */
function openTable(): DatabaseSync {
  const db = new DatabaseSync(":memory:");
  db.exec("CREATE TABLE t(x)");
  return db;
}

function countRows(db: DatabaseSync): number {
  return Number(db.prepare("SELECT count(*) AS n FROM t").get()?.["n"]);
}

Deno.test("inTransaction() writes all or nothing", () => {
  using db = openTable();
  assertEquals(
    inTransaction(db, () => {
      db.exec("INSERT INTO t VALUES(1); INSERT INTO t VALUES(2)");
      return "done";
    }),
    "done",
  );
  assertThrows(
    () =>
      inTransaction(db, () => {
        db.exec("INSERT INTO t VALUES(3)");
        throw new Error("the work failed");
      }),
    Error,
    "the work failed",
  );
  assertEquals([countRows(db), db.isTransaction], [2, false]);
});

Deno.test("inTransaction() tells the reason when SQLite has rolled back by itself", () => {
  using db = openTable();
  assertThrows(
    () =>
      inTransaction(db, () => {
        // As SQLite does on some errors.
        db.exec("ROLLBACK");
        throw new Error("database or disk is full");
      }),
    Error,
    "database or disk is full",
  );
  assertEquals(db.isTransaction, false);
});

Deno.test("inTransaction() can be used again after the file was full", () => {
  using db = openTable();
  db.exec("PRAGMA max_page_count = 3");
  const fill = () =>
    inTransaction(
      db,
      () => db.prepare("INSERT INTO t VALUES(zeroblob(?))").run(100_000),
    );
  assertEquals(isFullError(assertThrows(fill)), true);
  inTransaction(db, () => db.exec("INSERT INTO t VALUES(1)"));
  assertEquals(countRows(db), 1);
});
