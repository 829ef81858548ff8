/**
 * The thread that writes, so that waiting for the disk holds up no request.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { describeError } from "../../../shared/settled.ts";
import { BUSY_TIMEOUT_MS } from "../../../shared/sqlite/open_database.ts";
import { openWriting } from "./database_file.ts";
import { APPLIED, GroupApplier } from "./group_applier.ts";
import { migrateTasks, PROOFS_VERSION } from "./migrations.ts";
import { sealProofs } from "./proofs.ts";
import { Sweeper } from "./table_writers.ts";
import { repairCounts } from "./task_counts.ts";
import type {
  ThreadScope,
  WriterAnswer,
  WriterRequest,
} from "./thread_messages.ts";
import { lengthenLog } from "./wal_checkpointer.ts";

interface Open {
  readonly db: DatabaseSync;
  readonly applier: GroupApplier;
  readonly sweeper: Sweeper;
}

/** Serves as the thread, until it is ended. */
export function serveWriter(
  scope: ThreadScope<WriterRequest, WriterAnswer>,
): void {
  let open: Open | undefined;
  scope.onmessage = ({ data: request }) => {
    scope.postMessage(answerTo(() => {
      if (request.kind === "open") {
        open = openAll(request);
        return done();
      }
      if (open === undefined) throw new Error("the database is not open");
      if (request.kind === "close") {
        open.db.close();
        open = undefined;
        return done();
      }
      return perform(open, request);
    }));
  };
}

function answerTo(work: () => WriterAnswer): WriterAnswer {
  try {
    return work();
  } catch (error) {
    return { kind: "failed", message: describeError(error) };
  }
}

function done(numbers: readonly number[] = []): WriterAnswer {
  return { kind: "done", numbers };
}

function openAll(
  request: Extract<WriterRequest, { kind: "open" }>,
): Open {
  const db = openWriting(request.path, request.durability);
  try {
    const keys = request.proofKeys;
    migrateTasks(db, {
      nowMs: request.nowMs,
      // Rows of an earlier version are trusted as they are, this once.
      finish: (from) => {
        if (from < PROOFS_VERSION) sealProofs(db, { keys, also: ["unsealed"] });
      },
    });
    if (request.durability === "full") lengthenLog(db, request);
    return {
      db,
      applier: new GroupApplier(db, keys),
      sweeper: new Sweeper(db),
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

function perform(
  { db, applier, sweeper }: Open,
  request: Exclude<WriterRequest, { kind: "open" | "close" }>,
): WriterAnswer {
  switch (request.kind) {
    case "apply": {
      const startedMs = performance.now();
      const codes = applier.apply(request.lists);
      const { commitMs } = applier;
      return {
        kind: "applied",
        // Usually none conflicts, and nothing is cheaper to hand over than nothing.
        codes: codes.some((code) => code !== APPLIED) ? codes : [],
        workMs: performance.now() - startedMs - commitMs,
        commitMs,
      };
    }
    case "sweep":
      return done([sweeper.sweep(request.nowMs, request.limit)]);
    case "repair_counts":
      repairCounts(db, request.faults);
      return done();
    case "probe":
      // As long as what many tasks need; equal bytes would not be written again.
      db.exec("UPDATE probe SET bytes = randomblob(65536)");
      return done();
    case "restart_log":
      // A reader in the middle of a long proof must not hold up the commits: the
      // log is looked at again soon.
      db.exec("PRAGMA busy_timeout = 0");
      try {
        db.exec(
          `PRAGMA wal_checkpoint(${request.truncate ? "TRUNCATE" : "RESTART"})`,
        );
      } finally {
        db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      }
      return done();
  }
}
