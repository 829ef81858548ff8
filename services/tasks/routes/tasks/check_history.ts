/**
 * The route that checks the chain of a task's history.
 *
 * @module
 */

import {
  named,
  said,
  type Shape,
  shape,
  shownObject,
} from "../../../shared/schema/schema.ts";
import type { Pausing } from "../../../shared/slices.ts";
import {
  beginReading,
  type ChainVerdict,
  endReading,
  readOn,
} from "../../domain/history.ts";
import type { Task } from "../../domain/task.ts";
import { COUNT, TEXT_OR_NULL } from "../../domain/value_schemas.ts";
import { type Answer, json } from "../../http/answer.ts";
import type { CallContext } from "../../http/call.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { sha256 } from "../../store/digest.ts";
import type { Store } from "../../store/store.ts";
import { findTask, noTask, TASK_PARAMS } from "./task_view.ts";
import { READS_TASKS, type TasksParts } from "./task_schema.ts";

/** The schema of the outcome of checking a history. */
const CHECK: Shape = named(
  "HistoryCheck",
  shape(shownObject({
    is_whole: said(
      "Whether each record has its own hash and that of the one before, up to " +
        "the last one that the task names",
      { type: "boolean" },
    ),
    records: said("Records that were checked", COUNT),
    seq: said("The first record that does not fit; null when all do", {
      type: ["integer", "null"],
    }),
    reason: said("What is wrong with it, for people", TEXT_OR_NULL),
  })),
  {
    description: "Whether a history is whole",
    examples: [{ is_whole: true, records: 12, seq: null, reason: null }],
  },
);

/** The route that follows the chain of a history. */
export function checkHistoryRoute({ engine }: TasksParts): AnyRoute {
  return defineRoute({
    ...READS_TASKS,
    path: "/v1/tasks/:id/history/check",
    operationId: "checkTaskHistory",
    summary: "Check a task's history",
    description: "Computes the hash of each stored record again and follows " +
      "the chain to its end.",
    params: TASK_PARAMS,
    answers: { 200: { description: "The outcome", shape: CHECK } },
    problems: [],
    handle: (call) => checkHistory(engine, call),
  });
}

/** Records that are checked at a time. */
const CHECKED = 250;

async function checkHistory(
  { parts: { store } }: TasksParts["engine"],
  call: CallContext,
): Promise<Answer> {
  for (let isLast = false;; isLast = true) {
    const task = await findTask(call, { store });
    if (task === undefined) return noTask();
    const verdict = await followChain(task, { store, pausing: call.pausing });
    const now = await findTask(call, { store });
    // The task may have dropped its oldest records meanwhile.
    const isSame = now?.historyFolded?.count === task.historyFolded?.count;
    if (verdict.kind === "broken" && !isSame && !isLast) continue;
    const { count: dropped = 0 } = task.historyFolded ?? {};
    return json(
      verdict.kind === "ok"
        ? {
          is_whole: true,
          records: verdict.end.count - dropped,
          seq: null,
          reason: null,
        }
        : {
          is_whole: false,
          records: Math.max(0, verdict.seq - 1 - dropped),
          seq: verdict.seq,
          reason: `Cannot trust record ${verdict.seq}: ${verdict.reason}`,
        },
    );
  }
}

async function followChain(
  task: Task,
  { store, pausing }: {
    readonly store: Pick<Store, "history">;
    readonly pausing: Pausing;
  },
): Promise<ChainVerdict> {
  const { tenantId, id: taskId, historyCount: count, historyHash: hash } = task;
  let reading = beginReading(task.historyFolded);
  while (reading.end.count < count) {
    const { records } = await store.history({
      tenantId,
      taskId,
      order: "asc",
      limit: Math.min(CHECKED, count - reading.end.count),
      afterSeq: reading.end.count,
    });
    if (records.length === 0) break;
    const read = readOn(reading, { records, digest: sha256 });
    if (read.kind === "broken") return read;
    reading = read.reading;
    await pausing.pause();
  }
  return endReading(reading, { count, hash });
}
