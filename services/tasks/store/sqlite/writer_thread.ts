/**
 * The program of the thread that writes, so that waiting for the disk holds up
 * no request. It is a module of its own, since a thread that loaded the
 * service's main module would delay the start by modules that it never runs.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { describeError } from "../../../shared/settled.ts";
import { APPLIED } from "../result_codes.ts";
import { CommitLog, LogLengthening } from "./commit_log.ts";
import { INCREMENTAL, openWriting } from "./database_file.ts";
import { GroupApplier } from "./group_applier.ts";
import { migrateTasks } from "./migrations.ts";
import { dropStaleNoted } from "./noted_writes.ts";
import { Sweeper, trimAudit } from "./table_writers.ts";
import { repairCounts } from "./task_counts.ts";
import type {
  LogFault,
  WriterAnswer,
  WriterRequest,
} from "./thread_messages.ts";

/** The global scope of this thread. */
interface ThreadScope {
  onmessage: ((event: MessageEvent<WriterRequest>) => void) | null;
  postMessage(message: WriterAnswer | LogFault): void;
}

interface Open {
  readonly db: DatabaseSync;
  readonly applier: GroupApplier;
  readonly sweeper: Sweeper;
  readonly log: CommitLog;
  /** Lengthens the log; undefined when commits do not wait for the disk. */
  readonly lengthening: LogLengthening | undefined;
}

serve(globalThis as unknown as ThreadScope);

/** Handles the thread's messages until the thread is ended. */
function serve(scope: ThreadScope): void {
  let open: Open | undefined;
  scope.onmessage = ({ data: request }) => {
    const answer = answerTo(() => {
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
    });
    scope.postMessage(answer);
    // The answer is already computed; only the next request waits for this.
    try {
      if (answer.kind === "failed") open?.log.move();
      else if (request.kind !== "open") {
        // A timer would load modules that nothing else here needs. After a
        // failure the log is not lengthened, since the space of a full disk is
        // for the tasks.
        const nowMs = performance.now();
        open?.log.moveIfLong(nowMs);
        open?.lengthening?.lengthenIfDue(nowMs);
      }
    } catch (error) {
      scope.postMessage({ kind: "log_fault", message: describeError(error) });
    }
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
    migrateTasks(db, { nowMs: request.nowMs });
    dropStaleNoted(db, request.nowMs);
    return {
      db,
      applier: new GroupApplier(db),
      sweeper: new Sweeper(db),
      log: new CommitLog(db),
      lengthening: request.durability === "full"
        ? new LogLengthening(request.path, { openedMs: performance.now() })
        : undefined,
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

function perform(
  { db, applier, sweeper, log }: Open,
  request: Exclude<WriterRequest, { kind: "open" | "close" }>,
): WriterAnswer {
  switch (request.kind) {
    case "apply": {
      const startedMs = performance.now();
      const codes = applier.apply(request.lists);
      const { commitMs } = applier;
      return {
        kind: "applied",
        // Usually no transaction conflicts, and an empty list is the cheapest
        // to transfer.
        codes: codes.some((code) => code !== APPLIED) ? codes : [],
        workMs: performance.now() - startedMs - commitMs,
        commitMs,
      };
    }
    case "sweep":
      return done([sweeper.sweep(request.nowMs, request.limit)]);
    case "trim_audit":
      return done([trimAudit(db, request)]);
    case "count_pages":
      return done(countPages(db));
    case "give_back":
      return done([giveBack(db, request), ...countPages(db)]);
    case "move_log":
      log.move();
      return done();
    case "repair_counts":
      repairCounts(db, request.faults);
      return done();
    case "probe":
      // The write is as long as those of many tasks, and random, since equal
      // bytes would not be written again.
      db.exec("UPDATE probe SET bytes = randomblob(65536)");
      return done();
  }
}

function countPages(db: DatabaseSync): readonly number[] {
  const pragma = (name: string): number =>
    Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
  const isShrinkable = pragma("auto_vacuum") === INCREMENTAL;
  return [pragma("page_count"), pragma("freelist_count"), +isShrinkable];
}

function giveBack(
  db: DatabaseSync,
  { pages, withinMs }: Extract<WriterRequest, { readonly kind: "give_back" }>,
): number {
  const startedMs = performance.now();
  const { synchronous } = db.prepare("PRAGMA synchronous").get() ?? {};
  // A step that is lost with the machine's power is made again, so it need not
  // wait for the disk. The log keeps the order of what does.
  db.exec("PRAGMA synchronous = NORMAL");
  try {
    // There is a row for each page. To stop in between commits what was done.
    const steps = db.prepare(`PRAGMA incremental_vacuum(${pages})`).iterate();
    for (const _ of steps) {
      if (performance.now() - startedMs > withinMs) break;
    }
  } finally {
    db.exec(`PRAGMA synchronous = ${synchronous}`);
  }
  return performance.now() - startedMs;
}
