import { assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { StoreFailedError } from "../../../shared/store_failed_error.ts";
import { FileErrors } from "./file_errors.ts";

const errors = new FileErrors({ path: "/d/x.db", whenDamaged: "mend it" });

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
