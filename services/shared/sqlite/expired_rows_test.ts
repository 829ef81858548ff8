import { assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { ExpiredRows } from "./expired_rows.ts";

Deno.test("ExpiredRows.remove() removes what has expired, at most as much as allowed", () => {
  using db = new DatabaseSync(":memory:");
  db.exec(
    "CREATE TABLE notes(owner, key, at_ms); " +
      "CREATE INDEX notes_by_time ON notes(at_ms); " +
      "INSERT INTO notes VALUES('a', 1, 10), ('a', 2, 20), ('b', 1, 30)",
  );
  const rows = new ExpiredRows(db, {
    from: "notes INDEXED BY notes_by_time",
    key: ["owner", "key"],
    where: "at_ms <= ?",
  });
  const left = () =>
    db.prepare("SELECT at_ms FROM notes ORDER BY at_ms").all()
      .map((row) => row["at_ms"]);
  assertEquals([rows.remove(20, 1), left()], [1, [20, 30]]);
  assertEquals([rows.remove(20, 9), left()], [1, [30]]);
  assertEquals([rows.remove(20, 9), rows.remove(30, 0), left()], [0, 0, [30]]);
});
