import { assert, assertEquals } from "@std/assert";
import type { DatabaseSync } from "node:sqlite";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { waitUntil } from "../../../../tests/support/wait_until.ts";
import { PAGE_BYTES } from "../../../shared/sqlite/open_database.ts";
import { logPath, openWriting } from "./database_file.ts";
import { withFolder } from "./testing/open_store.ts";
import { startOwnThread } from "./thread.ts";
import {
  lengthenLog,
  WalCheckpointer,
  type WalCheckpointerOptions,
} from "./wal_checkpointer.ts";

interface Bench {
  readonly db: DatabaseSync;
  readonly clock: FakeClock;
  readonly logger: RecordingLogger;
  readonly restarts: { readonly truncate: boolean }[];
  readonly checkpointer: WalCheckpointer;
}

async function withCheckpointer(
  use: (bench: Bench) => Promise<void>,
  bounds: Partial<WalCheckpointerOptions> = {},
): Promise<void> {
  await withFolder(async (folder) => {
    const path = `${folder}/tasks.db`;
    const db = openWriting(path, "full");
    db.exec("CREATE TABLE large(text TEXT)");
    const clock = new FakeClock();
    const logger = new RecordingLogger();
    const restarts: { truncate: boolean }[] = [];
    const checkpointer = new WalCheckpointer({
      path,
      clock,
      logger,
      restartLog: (options) => {
        restarts.push(options);
        return Promise.resolve();
      },
      moveFromBytes: 50 * PAGE_BYTES,
      restartFromBytes: 200 * PAGE_BYTES,
      truncateFromBytes: 400 * PAGE_BYTES,
      startThread: startOwnThread,
      ...bounds,
    });
    try {
      await use({ db, clock, logger, restarts, checkpointer });
    } finally {
      await checkpointer.stop();
      db.close();
    }
  });
}

function write(db: DatabaseSync, pages: number): void {
  db.prepare("INSERT INTO large VALUES(?)").run("x".repeat(pages * PAGE_BYTES));
}

/** Pages of the log that are not in the file yet. */
function unmoved(db: DatabaseSync): number {
  const row = db.prepare("PRAGMA wal_checkpoint(NOOP)").get();
  return Number(row?.["log"]) - Number(row?.["checkpointed"]);
}

Deno.test("WalCheckpointer moves the log once it is long enough", () =>
  withCheckpointer(async ({ db, checkpointer, restarts }) => {
    write(db, 10);
    await checkpointer.runOnce();
    assert(unmoved(db) >= 10);
    write(db, 60);
    await checkpointer.runOnce();
    assertEquals(unmoved(db), 0);
    assertEquals(restarts, []);
  }));

Deno.test("WalCheckpointer looks again and again until it is stopped", () =>
  withCheckpointer(async ({ db, checkpointer, clock }) => {
    await checkpointer.start();
    for (let round = 0; round < 2; round++) {
      await waitUntil(() => clock.pendingTimers === 1, { what: "the timer" });
      write(db, 60);
      await waitUntil(() => {
        // A check that is due while another one is under way is left out.
        clock.advance(1_000);
        return unmoved(db) === 0;
      }, { what: "the log to be moved" });
    }
    await checkpointer.stop();
    assertEquals(clock.pendingTimers, 0);
    await checkpointer.stop();
  }));

Deno.test("WalCheckpointer has a long log restarted that a reader keeps from ending", () =>
  withCheckpointer(async ({ db, checkpointer, restarts }) => {
    write(db, 300);
    const reader = openWriting(db.location() ?? "", "full");
    try {
      reader.exec("BEGIN");
      reader.prepare("SELECT count(*) FROM large").get();
      write(db, 20);
      await checkpointer.runOnce();
      assertEquals(restarts, [{ truncate: false }]);
      write(db, 200);
      await checkpointer.runOnce();
      assertEquals(restarts.at(-1), { truncate: true });
      reader.exec("COMMIT");
    } finally {
      reader.close();
    }
    await checkpointer.runOnce();
    assertEquals(unmoved(db), 0);
    assertEquals(restarts.length, 3);
  }));

Deno.test("WalCheckpointer logs that it failed and goes on", () =>
  withCheckpointer(async ({ checkpointer, logger }) => {
    await checkpointer.runOnce();
    assertEquals(logger.lines.map(({ level }) => level), ["warning"]);
    await checkpointer.runOnce();
    assertEquals(logger.lines.length, 2);
  }, { path: "/nowhere/tasks.db" }));

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

Deno.test("lengthenLog() leaves the database alone when there is no room", async () => {
  await withDatabase((db, path) => {
    db.exec("PRAGMA max_page_count = 4");
    lengthenLog(db, { path, bytes: BYTES });
    assertEquals(db.isTransaction, false);
    db.exec("INSERT INTO kept VALUES('b')");
    assertEquals(texts(db), ["a", "b"]);
  });
});

Deno.test("lengthenLog() leaves the database alone when its log cannot be moved either", async () => {
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
