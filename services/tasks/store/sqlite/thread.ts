/**
 * The threads of the store: one writes, so that waiting for the disk holds up no
 * request, and one checkpoints. All run the service's own program, which looks at
 * its own name to see which of them it is; so an executable that is one file has
 * them too.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { describeError } from "../../../shared/settled.ts";
import { BUSY_TIMEOUT_MS } from "../../../shared/sqlite/open_database.ts";
import { openWriting } from "./database_file.ts";
import { GroupApplier } from "./group_applier.ts";
import { migrateTasks, PROOFS_VERSION } from "./migrations.ts";
import { sealProofs } from "./proofs.ts";
import { Sweeper } from "./table_writers.ts";
import { repairCounts } from "./task_counts.ts";
import {
  APPLIED,
  type ThreadName,
  type ThreadScope,
  type WalAnswer,
  type WalRequest,
  type WriterAnswer,
  type WriterRequest,
} from "./thread_messages.ts";
import { lengthenLog, serveCheckpointer } from "./wal_checkpointer.ts";

const PREFIX = "tasks store ";

/** Starts a thread that runs a program, which has to call {@linkcode serveThread}. */
export function startThreadOf(program: string | URL, name: ThreadName): Worker {
  return new Worker(program, { type: "module", name: PREFIX + name });
}

/** Starts a thread by the program that is there for nothing else. */
export function startOwnThread(name: ThreadName): Worker {
  return startThreadOf(new URL("./thread_program.ts", import.meta.url), name);
}

/**
 * Serves as a thread of the store where the program was started as one.
 *
 * @returns whether it was
 */
export function serveThread(scope: typeof globalThis): boolean {
  const name = "name" in scope ? scope.name : undefined;
  const isThread = "WorkerGlobalScope" in scope && !("document" in scope);
  if (!isThread || typeof name !== "string" || !name.startsWith(PREFIX)) {
    return false;
  }
  // A thread of this name is sent only what it understands.
  switch (name.slice(PREFIX.length)) {
    case "writer":
      serveWriter(
        scope as unknown as ThreadScope<WriterRequest, WriterAnswer>,
      );
      return true;
    case "checkpointer":
      serveCheckpointer(scope as unknown as ThreadScope<WalRequest, WalAnswer>);
      return true;
    default:
      return false;
  }
}

interface Open {
  readonly db: DatabaseSync;
  readonly applier: GroupApplier;
  readonly sweeper: Sweeper;
}

/** Serves as the thread, until it is ended. */
function serveWriter(
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
