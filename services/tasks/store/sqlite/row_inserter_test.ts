import { assertEquals, assertThrows } from "@std/assert";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { RowInserter } from "./row_inserter.ts";
import type { OperationValue } from "./thread_messages.ts";

const WIDTH = 3;

function withTable(use: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(":memory:");
  try {
    db.exec("CREATE TABLE things(n INTEGER PRIMARY KEY, name, rest)");
    use(db);
  } finally {
    db.close();
  }
}

function inserterInto(
  db: DatabaseSync,
  insert = "INSERT INTO things VALUES",
): RowInserter {
  return new RowInserter(db, { insert, width: WIDTH });
}

/** Rows with values of every type. */
function createRows(count: number, from = 1): readonly OperationValue[][] {
  return Array.from({ length: count }, (_, index) => {
    const n = from + index;
    return [n, `name ${n}`, n % 3 === 0 ? null : n / 2];
  });
}

function storedIn(db: DatabaseSync): unknown {
  return db.prepare("SELECT n, name, rest FROM things ORDER BY n").all()
    .map((row) => [row["n"], row["name"], row["rest"]]);
}

Deno.test("RowInserter.run() inserts any number of rows and tells how many", () => {
  withTable((db) => {
    const inserter = inserterInto(db);
    for (let count = 0; count <= 70; count++) {
      db.exec("DELETE FROM things");
      const rows = createRows(count);
      assertEquals(inserter.run(rows.flat()), count);
      assertEquals([count, storedIn(db)], [count, rows]);
    }
  });
});

Deno.test("RowInserter.run() inserts rows in their order", () => {
  withTable((db) => {
    db.exec("CREATE TABLE notes(number INTEGER PRIMARY KEY, a, b, c)");
    const insert = "INSERT INTO notes(a, b, c) VALUES";
    const rows = createRows(37).toReversed();
    inserterInto(db, insert).run(rows.flat());
    const stored = db.prepare("SELECT a, b, c FROM notes ORDER BY number")
      .all().map(({ a, b, c }) => [a, b, c]);
    assertEquals(stored, rows);
  });
});

Deno.test("RowInserter.run() does not count rows that are ignored", () => {
  withTable((db) => {
    const inserter = inserterInto(db, "INSERT OR IGNORE INTO things VALUES");
    // Each of the statements for 16, 8, 4, 2 and 1 rows inserts one row.
    const there = [3, 20, 27, 30, 31].flatMap((n) => createRows(1, n));
    assertEquals(inserter.run(there.flat()), 5);
    assertEquals(inserter.run(createRows(31).flat()), 26);
    assertEquals(storedIn(db), createRows(31));
  });
});

Deno.test("RowInserter.run() throws when a row does not fit", () => {
  withTable((db) => {
    const inserter = inserterInto(db);
    inserter.run(createRows(1, 25).flat());
    assertThrows(() => inserter.run(createRows(31).flat()), Error, "UNIQUE");
    // The statement with the bad row did nothing; a transaction undoes the
    // rest.
    assertEquals(storedIn(db), [...createRows(24), ...createRows(1, 25)]);
    assertEquals(inserter.run(createRows(5, 40).flat()), 5);
  });
});

Deno.test("RowInserter.run() calls few statements, the largest first", () => {
  const ran: number[] = [];
  const db = {
    prepare(sql: string): Pick<StatementSync, "run"> {
      const rows = sql.split("(").length - 1;
      return {
        run(...values: unknown[]) {
          assertEquals(values.length, rows * WIDTH);
          ran.push(rows);
          return { changes: rows, lastInsertRowid: 0 };
        },
      };
    },
  };
  const inserter = inserterInto(db as unknown as DatabaseSync);
  assertEquals(inserter.run(createRows(47).flat()), 47);
  assertEquals(ran, [16, 16, 8, 4, 2, 1]);
  ran.length = 0;
  assertEquals([inserter.run([]), ran], [0, []]);
});

Deno.test("RowInserter.run() throws when the last row is not whole", () => {
  withTable((db) => {
    const inserter = inserterInto(db);
    const values = createRows(2).flat().slice(0, -1);
    assertThrows(() => inserter.run(values), TypeError, "not whole");
  });
});
