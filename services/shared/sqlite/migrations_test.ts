import { assertEquals, assertThrows } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { migrate, type Migration } from "./migrations.ts";

const STEPS: readonly Migration[] = [
  { version: 1, name: "first", sql: "CREATE TABLE a(x)" },
  { version: 2, name: "second", sql: "CREATE TABLE b(x); CREATE TABLE c(x)" },
];

function tables(db: DatabaseSync): string[] {
  return db.prepare("SELECT name FROM sqlite_schema ORDER BY name").all()
    .map((row) => String(row["name"]));
}

const of = (migrations: readonly Migration[]) => ({
  nowMs: 5,
  migrations,
  fileName: "x.db",
});

Deno.test("migrate() applies each step once", () => {
  const db = new DatabaseSync(":memory:");
  migrate(db, of(STEPS.slice(0, 1)));
  assertEquals(tables(db), ["a", "migrations"]);
  migrate(db, of(STEPS));
  migrate(db, of(STEPS));
  assertEquals(tables(db), ["a", "b", "c", "migrations"]);
  db.close();
});

Deno.test("migrate() applies all steps or none", () => {
  const db = new DatabaseSync(":memory:");
  const broken = { version: 3, name: "broken", sql: "CREATE TABLE a(x)" };
  assertThrows(() => migrate(db, of([...STEPS, broken])), Error, "already");
  assertEquals(tables(db), []);
  assertEquals(db.isTransaction, false);
  db.close();
});

Deno.test("migrate() refuses a later database and leaves it as it is", () => {
  const db = new DatabaseSync(":memory:");
  migrate(db, of(STEPS));
  assertThrows(
    () => migrate(db, of(STEPS.slice(0, 1))),
    Error,
    'Cannot open "x.db": it is of version 2, this program knows up to ' +
      "version 1",
  );
  assertEquals(tables(db).length, 4);
  db.close();
});

Deno.test("migrate() writes nothing when all steps were applied, as on a full disk", () => {
  const path = Deno.makeTempFileSync();
  try {
    using db = new DatabaseSync(path);
    migrate(db, of(STEPS));
    using other = new DatabaseSync(path);
    // The number changes as soon as another connection has written.
    const version = () => other.prepare("PRAGMA data_version").get();
    const before = version();
    migrate(db, of(STEPS));
    assertEquals(version(), before);
  } finally {
    Deno.removeSync(path);
  }
});
