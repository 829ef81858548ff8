import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { waitUntil } from "../../../../tests/support/wait_until.ts";
import type { DatabaseSync } from "node:sqlite";
import { openWriting, PAGE_BYTES } from "./database_file.ts";
import { LogKeeper, type LogKeeperOptions } from "./log_keeper.ts";
import { withFolder } from "./testing/open_store.ts";

interface Bench {
  readonly db: DatabaseSync;
  readonly clock: FakeClock;
  readonly logger: RecordingLogger;
  readonly restarts: { readonly truncate: boolean }[];
  readonly keeper: LogKeeper;
}

async function withKeeper(
  use: (bench: Bench) => Promise<void>,
  bounds: Partial<LogKeeperOptions> = {},
): Promise<void> {
  await withFolder(async (folder) => {
    const path = `${folder}/tasks.db`;
    const db = openWriting(path, "full");
    db.exec("CREATE TABLE large(text TEXT)");
    const clock = new FakeClock();
    const logger = new RecordingLogger();
    const restarts: { truncate: boolean }[] = [];
    const keeper = new LogKeeper({
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
      ...bounds,
    });
    try {
      await use({ db, clock, logger, restarts, keeper });
    } finally {
      await keeper.stop();
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

Deno.test("LogKeeper moves the log once it is long enough", () =>
  withKeeper(async ({ db, keeper, restarts }) => {
    write(db, 10);
    await keeper.runOnce();
    assert(unmoved(db) >= 10);
    write(db, 60);
    await keeper.runOnce();
    assertEquals(unmoved(db), 0);
    assertEquals(restarts, []);
  }));

Deno.test("LogKeeper looks again and again until it is stopped", () =>
  withKeeper(async ({ db, keeper, clock }) => {
    await keeper.start();
    for (let round = 0; round < 2; round++) {
      await waitUntil(() => clock.pendingTimers === 1, { what: "the timer" });
      write(db, 60);
      clock.advance(1_000);
      await waitUntil(() => unmoved(db) === 0, { what: "the log to be moved" });
    }
    await keeper.stop();
    assertEquals(clock.pendingTimers, 0);
    await keeper.stop();
  }));

Deno.test("LogKeeper has a long log begun anew that a reader keeps from ending", () =>
  withKeeper(async ({ db, keeper, restarts }) => {
    write(db, 300);
    const reader = openWriting(db.location() ?? "", "full");
    try {
      reader.exec("BEGIN");
      reader.prepare("SELECT count(*) FROM large").get();
      write(db, 20);
      await keeper.runOnce();
      assertEquals(restarts, [{ truncate: false }]);
      write(db, 200);
      await keeper.runOnce();
      assertEquals(restarts.at(-1), { truncate: true });
      reader.exec("COMMIT");
    } finally {
      reader.close();
    }
    await keeper.runOnce();
    assertEquals(unmoved(db), 0);
    assertEquals(restarts.length, 3);
  }));

Deno.test("LogKeeper tells when it fails and goes on", () =>
  withKeeper(async ({ keeper, logger }) => {
    await keeper.runOnce();
    assertEquals(logger.lines.map(({ level }) => level), ["warning"]);
    await keeper.runOnce();
    assertEquals(logger.lines.length, 2);
  }, { path: "/nowhere/tasks.db" }));
