import { assert, assertEquals } from "@std/assert";
import type { DatabaseSync } from "node:sqlite";
import { PAGE_BYTES } from "../../../shared/sqlite/open_database.ts";
import { CommitLog, lengthenLog, LogLengthening } from "./commit_log.ts";
import {
  fileLength,
  logPath,
  openReading,
  openWriting,
} from "./database_file.ts";
import { withFolder } from "./testing/open_store.ts";

interface Bench {
  readonly db: DatabaseSync;
  readonly path: string;
  readonly log: CommitLog;
  /** Calls {@linkcode CommitLog.moveIfLong} a second after the last call. */
  readonly moveIfLong: () => void;
}

async function withLog(use: (bench: Bench) => void): Promise<void> {
  await withFolder((folder) => {
    const path = `${folder}/tasks.db`;
    const db = openWriting(path, "full");
    db.exec("CREATE TABLE large(text TEXT)");
    const log = new CommitLog(db, {
      moveFromBytes: 50 * PAGE_BYTES,
      truncateFromBytes: 400 * PAGE_BYTES,
    });
    let nowMs = 0;
    try {
      use({ db, path, log, moveIfLong: () => log.moveIfLong(nowMs += 1_000) });
    } finally {
      db.close();
    }
    return Promise.resolve();
  });
}

function write(db: DatabaseSync, pages: number): void {
  db.prepare("INSERT INTO large VALUES(?)").run("x".repeat(pages * PAGE_BYTES));
}

/** The pages of the log that are not in the file yet. */
function unmoved(db: DatabaseSync): number {
  const row = db.prepare("PRAGMA wal_checkpoint(NOOP)").get();
  return Number(row?.["log"]) - Number(row?.["checkpointed"]);
}

Deno.test("CommitLog moves the log once it is long enough", () =>
  withLog(({ db, moveIfLong }) => {
    write(db, 10);
    moveIfLong();
    assert(unmoved(db) >= 10);
    write(db, 60);
    moveIfLong();
    assertEquals(unmoved(db), 0);
  }));

Deno.test("CommitLog looks at the log again after ten milliseconds", () =>
  withLog(({ db, log }) => {
    log.moveIfLong(100);
    write(db, 60);
    log.moveIfLong(109);
    assert(unmoved(db) >= 60);
    log.moveIfLong(110);
    assertEquals(unmoved(db), 0);
  }));

Deno.test("CommitLog moves a short log when it is told to", () =>
  withLog(({ db, log }) => {
    write(db, 10);
    log.move();
    assertEquals(unmoved(db), 0);
  }));

Deno.test("a log that is moved is written over from its beginning", () =>
  withLog(({ db, path, moveIfLong }) => {
    write(db, 60);
    const bytes = fileLength(logPath(path));
    for (let round = 0; round < 5; round++) {
      moveIfLong();
      write(db, 60);
    }
    const grown = (fileLength(logPath(path)) ?? 0) - (bytes ?? 0);
    assert(grown < 5 * PAGE_BYTES, `${grown} bytes`);
  }));

Deno.test("CommitLog leaves what is being read, and tries again when the log has grown", () =>
  withLog(({ db, path, moveIfLong }) => {
    write(db, 60);
    const reader = openReading(path);
    try {
      reader.exec("BEGIN");
      reader.prepare("SELECT count(*) FROM large").get();
      write(db, 60);
      moveIfLong();
      const kept = unmoved(db);
      assert(kept >= 60);
      reader.exec("COMMIT");
      moveIfLong();
      assertEquals(unmoved(db), kept);
      write(db, 60);
      moveIfLong();
      assertEquals(unmoved(db), 0);
    } finally {
      reader.close();
    }
  }));

Deno.test("CommitLog cuts the file of a very long log, and waits for no reader", () =>
  withLog(({ db, path, moveIfLong }) => {
    write(db, 450);
    const reader = openReading(path);
    try {
      reader.exec("BEGIN");
      reader.prepare("SELECT count(*) FROM large").get();
      write(db, 60);
      const startedMs = performance.now();
      moveIfLong();
      // Otherwise SQLite would wait for five seconds.
      assert(performance.now() - startedMs < 4_000);
      assert((fileLength(logPath(path)) ?? 0) > 400 * PAGE_BYTES);
      reader.exec("COMMIT");
      write(db, 60);
      moveIfLong();
      assertEquals(fileLength(logPath(path)), 0);
      assertEquals(
        { ...db.prepare("PRAGMA busy_timeout").get() },
        { timeout: 5_000 },
      );
    } finally {
      reader.close();
    }
  }));

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

function lengthenWholly(path: string): void {
  while (lengthenLog(path, BYTES));
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
    assertEquals(lengthenLog(path, BYTES), true);
    lengthenWholly(path);
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
  await withDatabase((_, path) => {
    lengthenWholly(path);
    const bytes = Deno.statSync(logPath(path)).size;
    lengthenWholly(path);
    assertEquals(Deno.statSync(logPath(path)).size, bytes);
  });
});

Deno.test("LogLengthening adds a portion when it is due, until the log is long", async () => {
  await withDatabase((_, path) => {
    const length = () => fileLength(logPath(path)) ?? 0;
    const lengthening = new LogLengthening(path, { openedMs: 5_000 });
    const atFirst = length();
    lengthening.lengthenIfDue(5_999);
    assertEquals(length(), atFirst);
    lengthening.lengthenIfDue(6_000);
    assertEquals(length(), atFirst + 1_048_576);
    lengthening.lengthenIfDue(6_099);
    assertEquals(length(), atFirst + 1_048_576);
    for (let nowMs = 6_100; nowMs < 9_000; nowMs += 100) {
      lengthening.lengthenIfDue(nowMs);
    }
    assertEquals(length(), 16 * 1_048_576);
  });
});

Deno.test("lengthenLog() leaves the room of a full disk to the tasks", async () => {
  await withDatabase((db, path) => {
    const bytes = fileLength(logPath(path));
    const { writeSync } = Deno.FsFile.prototype;
    let writes = 0;
    Deno.FsFile.prototype.writeSync = function (data) {
      if (writes++ > 0) throw new Error("disk is full");
      return writeSync.call(this, data.subarray(0, 1_000));
    };
    try {
      assertEquals(lengthenLog(path, BYTES), false);
    } finally {
      Deno.FsFile.prototype.writeSync = writeSync;
    }
    assertEquals(writes, 2);
    assertEquals(fileLength(logPath(path)), bytes);
    db.exec("INSERT INTO kept VALUES('b')");
    assertEquals(texts(db), ["a", "b"]);
  });
});

Deno.test("a log that was made long before its first commit can be read after a crash", async () => {
  await withDatabase((db, path) => {
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    assertEquals(fileLength(logPath(path)), 0);
    lengthenWholly(path);
    const copy = `${path}.copy`;
    Deno.copyFileSync(path, copy);
    Deno.copyFileSync(logPath(path), logPath(copy));
    const other = openWriting(copy, "full");
    try {
      assertEquals(texts(other), ["a"]);
      other.exec("INSERT INTO kept VALUES('b')");
      assertEquals(texts(other), ["a", "b"]);
    } finally {
      other.close();
    }
  });
});

Deno.test("another connection reads on when the file was made long and written over", async () => {
  await withDatabase((db, path) => {
    const other = openWriting(path, "full");
    try {
      lengthenWholly(path);
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
