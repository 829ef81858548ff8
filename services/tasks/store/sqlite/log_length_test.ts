import { assert, assertEquals } from "@std/assert";
import type { DatabaseSync } from "node:sqlite";
import { logPath, openWriting } from "./database_file.ts";
import { lengthenLog } from "./log_length.ts";
import { withFolder } from "./testing/open_store.ts";

const BYTES = 2_000_000;

async function withDatabase(
  use: (db: DatabaseSync, path: string) => void,
): Promise<void> {
  await withFolder((folder) => {
    const path = `${folder}/tasks.db`;
    const db = openWriting(path, "full");
    try {
      db.exec("CREATE TABLE kept(text TEXT); INSERT INTO kept VALUES('a')");
      use(db, path);
    } finally {
      db.close();
    }
    return Promise.resolve();
  });
}

function logPages(db: DatabaseSync): unknown {
  return db.prepare("PRAGMA wal_checkpoint(NOOP)").get()?.["log"];
}

function texts(db: DatabaseSync): readonly unknown[] {
  return db.prepare("SELECT text FROM kept").all().map((row) => row["text"]);
}

Deno.test("lengthenLog() makes the file long and leaves what the log holds", async () => {
  await withDatabase((db, path) => {
    const pages = logPages(db);
    lengthenLog(db, { path, bytes: BYTES });
    const bytes = Deno.statSync(logPath(path)).size;
    assert(bytes >= BYTES, `${bytes} bytes`);
    assertEquals(logPages(db), pages);
    db.exec("INSERT INTO kept VALUES('b')");
    assertEquals(texts(db), ["a", "b"]);
    assertEquals(Deno.statSync(logPath(path)).size, bytes);
    assertEquals(
      db.prepare("PRAGMA integrity_check").all(),
      [
        { integrity_check: "ok" },
      ].map((row) => Object.assign(Object.create(null), row)),
    );
  });
});

Deno.test("lengthenLog() leaves a file alone when it is long enough", async () => {
  await withDatabase((db, path) => {
    lengthenLog(db, { path, bytes: BYTES });
    const bytes = Deno.statSync(logPath(path)).size;
    lengthenLog(db, { path, bytes: BYTES });
    assertEquals(Deno.statSync(logPath(path)).size, bytes);
  });
});

Deno.test("lengthenLog() lets the database be when there is no room", async () => {
  await withDatabase((db, path) => {
    db.exec("PRAGMA max_page_count = 4");
    lengthenLog(db, { path, bytes: BYTES });
    assertEquals(db.isTransaction, false);
    db.exec("INSERT INTO kept VALUES('b')");
    assertEquals(texts(db), ["a", "b"]);
  });
});

Deno.test("lengthenLog() lets the database be when its log cannot be moved either", async () => {
  await withDatabase((db, path) => {
    db.exec("PRAGMA max_page_count = 4");
    const asked: string[] = [];
    const full = new Proxy(db, {
      get(target, name) {
        if (name !== "exec") {
          const value: unknown = Reflect.get(target, name);
          return typeof value === "function" ? value.bind(target) : value;
        }
        return (sql: string) => {
          asked.push(sql);
          if (sql.includes("wal_checkpoint")) throw new Error("disk is full");
          target.exec(sql);
        };
      },
    });
    lengthenLog(full, { path, bytes: BYTES });
    assertEquals(asked.at(-1), "PRAGMA wal_checkpoint(TRUNCATE)");
    assertEquals(texts(db), ["a"]);
  });
});

Deno.test("another connection reads on when the file was made long and written over", async () => {
  await withDatabase((db, path) => {
    const other = openWriting(path, "full");
    try {
      lengthenLog(db, { path, bytes: BYTES });
      assertEquals(texts(other), ["a"]);
      db.exec("INSERT INTO kept VALUES('b')");
      assertEquals(texts(other), ["a", "b"]);
      db.exec("PRAGMA wal_checkpoint(RESTART)");
      db.exec("INSERT INTO kept VALUES('c')");
      assertEquals(texts(other), ["a", "b", "c"]);
    } finally {
      other.close();
    }
  });
});
