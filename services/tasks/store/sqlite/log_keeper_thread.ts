/**
 * The thread that moves commits from the log to the database's file, so that
 * writing the file keeps no commit waiting.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { describeError } from "../../../shared/settled.ts";
import type {
  LogKeeperAnswer,
  LogKeeperRequest,
} from "./log_keeper_messages.ts";
import type { ThreadScope } from "./thread_scope.ts";

const BUSY_TIMEOUT_MS = 1_000;

/** Serves the one that started the thread, until it is ended. */
export function serveLogKeeper(
  scope: ThreadScope<LogKeeperRequest, LogKeeperAnswer>,
): void {
  let db: DatabaseSync | undefined;
  scope.onmessage = ({ data: request }) => {
    try {
      if (request.kind === "close") {
        db?.close();
        db = undefined;
        return scope.postMessage({ kind: "closed" });
      }
      if (db === undefined) {
        db = new DatabaseSync(request.path, { timeout: BUSY_TIMEOUT_MS });
        db.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL");
      }
      scope.postMessage(keep(db, request.fromPages));
    } catch (error) {
      scope.postMessage({ kind: "failed", message: describeError(error) });
    }
  };
}

/** Moves what is in the log when it is long enough. */
function keep(db: DatabaseSync, fromPages: number): LogKeeperAnswer {
  const before = look(db, "NOOP");
  return before.logPages - before.movedPages < fromPages
    ? before
    : look(db, "PASSIVE");
}

function look(
  db: DatabaseSync,
  mode: string,
): Extract<LogKeeperAnswer, { kind: "looked" }> {
  const row = db.prepare(`PRAGMA wal_checkpoint(${mode})`).get();
  return {
    kind: "looked",
    logPages: Math.max(0, Number(row?.["log"] ?? 0)),
    movedPages: Math.max(0, Number(row?.["checkpointed"] ?? 0)),
  };
}
