import { assertEquals, assertThrows } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import {
  isCannotOpenError,
  isConstraintError,
  isDamagedError,
  isFullError,
  isStorageError,
} from "./sqlite_error.ts";

/** Runs SQL in both ways of the runtime: errors of only one have a code. */
function catchErrors(path: string, sql: string): readonly unknown[] {
  using db = new DatabaseSync(path);
  return [
    assertThrows(() => db.exec(sql)),
    assertThrows(() => db.prepare(sql).run()),
  ];
}

Deno.test("isFullError() knows a full file, whatever ran the statement", () => {
  using db = new DatabaseSync(":memory:");
  db.exec("PRAGMA max_page_count = 2; CREATE TABLE t(x)");
  const sql = "INSERT INTO t VALUES(zeroblob(100000))";
  for (const run of [() => db.exec(sql), () => db.prepare(sql).run()]) {
    const error = assertThrows(run);
    assertEquals([isFullError(error), isStorageError(error)], [true, true]);
    assertEquals(isDamagedError(error), false);
  }
});

Deno.test("isDamagedError() knows a file that is no database, whatever ran the statement", () => {
  const path = Deno.makeTempFileSync();
  try {
    Deno.writeTextFileSync(path, "no database ".repeat(1_000));
    for (const error of catchErrors(path, "PRAGMA journal_mode = WAL")) {
      assertEquals([isDamagedError(error), isStorageError(error)], [
        true,
        true,
      ]);
    }
  } finally {
    Deno.removeSync(path);
  }
});

Deno.test("isStorageError() leaves faults of the program and others alone", () => {
  for (const error of catchErrors(":memory:", "SELECT * FROM nothing")) {
    assertEquals(isStorageError(error), false);
  }
  using db = new DatabaseSync(":memory:");
  db.exec("CREATE TABLE t(x UNIQUE); INSERT INTO t VALUES(1)");
  const doubled = assertThrows(() =>
    db.prepare("INSERT INTO t VALUES(1)").run()
  );
  assertEquals(
    [isConstraintError(doubled), isStorageError(doubled)],
    [true, false],
  );
  for (const error of [new Error("disk I/O error"), "full", undefined]) {
    assertEquals(isStorageError(error), false);
  }
});

Deno.test("isCannotOpenError() knows a folder that is not there", () => {
  const error = assertThrows(() => new DatabaseSync("/nowhere/at/all/x.db"));
  assertEquals([isCannotOpenError(error), isStorageError(error)], [true, true]);
});
