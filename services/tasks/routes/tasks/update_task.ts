/**
 * The routes that change a task.
 *
 * @module
 */

import {
  TASK,
  TASK_CHANGES,
  taskBodyBytes,
  type TasksParts,
  WRITES_TASKS,
} from "./task_schema.ts";
import { toActor } from "../../access/caller.ts";
import { isFinal, type Task } from "../../domain/task.ts";
import { foldFor } from "../../engine/event_plan.ts";
import type { Answer } from "../../http/answer.ts";
import { type Call, getCaller, getLimits, getTenant } from "../../http/call.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, requiredBody } from "../../http/route.ts";
import { asGiven } from "../../../shared/schema/composite.ts";
import type { TaskRoom } from "../../engine/plan_usage.ts";
import { restBeforeTry } from "../../engine/key_locks.ts";
import { KEY_RETRY_MS } from "../../engine/key_reservations.ts";
import { planEvents, PLANNED_RECORDS } from "../../engine/owner_actions.ts";
import { reviseTask, type Revision } from "./revision.ts";
import {
  changeCondition,
  changesTooFast,
  findTask,
  MAX_CHANGE_TRIES,
  noRoom,
  noTask,
  TASK_PARAMS,
  taskAnswer,
  wrongState,
} from "./task_view.ts";

const DESCRIPTION = "Given fields are changed, others stay, null resets " +
  "to the default. While the task runs, changes take effect from its next " +
  "attempt on; one that has ended takes labels alone unless a date or the " +
  "status `waiting` lets it live again, for which the plan must have room. " +
  "Fields sent back unchanged stay and are not checked again; fields that the " +
  "service decides must be sent so.";

/** Makes the routes that change a task. */
export function updateTaskRoutes(parts: TasksParts): readonly AnyRoute[] {
  const common = {
    path: "/v1/tasks/:id",
    hosts: "tenant",
    tags: ["tasks"],
    access: WRITES_TASKS,
    params: TASK_PARAMS,
    answers: { 200: { description: "The task as it is now", shape: TASK } },
    conditions: "change",
    problems: [
      "wrong_state",
      "key_conflict",
      "unknown_worker",
      "quota_exceeded",
      "read_only",
      "bad_cron",
      "never_fires",
      "bad_timezone",
    ],
  } as const;
  // The body is read later, when the task that it changes is known.
  const body = asGiven(TASK_CHANGES.json, [TASK_CHANGES]);
  const example = { date: "2027-02-01T08:00:00Z", tags: ["urgent"] };
  return [
    defineRoute({
      ...common,
      method: "PUT",
      operationId: "updateTask",
      summary: "Change a task",
      description: DESCRIPTION,
      body: requiredBody(body, { maxBytes: taskBodyBytes, example }),
      handle: (call) => updateTask(parts, call, false),
    }),
    defineRoute({
      ...common,
      method: "PATCH",
      operationId: "patchTask",
      summary: "Change a task by a merge patch",
      description: `${DESCRIPTION} Members of objects are merged (RFC 7396).`,
      body: requiredBody(body, {
        maxBytes: taskBodyBytes,
        mediaTypes: ["application/merge-patch+json", "application/json"],
        example,
      }),
      handle: (call) => updateTask(parts, call, true),
    }),
  ];
}

async function updateTask(
  parts: TasksParts,
  call: Call<unknown, unknown>,
  isPatch: boolean,
): Promise<Answer> {
  const name = `${getTenant(call).id}\n${call.params.id ?? ""}`;
  const lock = await parts.locks.acquire([name], call);
  // There is no lock when the client has disconnected or too many others wait.
  if (lock.kind !== "ok") return changesTooFast("change");
  try {
    return await updateWhileLocked(parts, call, isPatch);
  } finally {
    lock.release();
  }
}

async function updateWhileLocked(
  parts: TasksParts,
  call: Call<unknown, unknown>,
  isPatch: boolean,
): Promise<Answer> {
  for (let tries = 0; tries < MAX_CHANGE_TRIES; tries++) {
    await restBeforeTry(tries, parts.engine.parts);
    const task = await findTask(call, parts.engine.parts);
    if (task === undefined) return noTask();
    const refusal = changeCondition(call, task);
    if (refusal !== undefined) return refusal;
    const revision = await reviseTask(task, { call, isPatch, api: parts });
    if (revision.kind === "problem") return revision;
    const answer = await apply(parts, { call, task, revision });
    if (answer !== undefined) return answer;
  }
  return changesTooFast("change");
}

/**
 * Applies a revision; undefined when the task or its worker has changed
 * meanwhile.
 */
async function apply(
  { engine }: TasksParts,
  { call, task, revision }: {
    readonly call: Call<unknown, unknown>;
    readonly task: Task;
    readonly revision: Revision;
  },
): Promise<Answer | undefined> {
  const { parts, changes } = engine;
  const { events, definition, worker, calendars } = revision;
  const planned = planEvents(task, {
    events,
    definition,
    worker,
    calendars,
    actor: toActor(getCaller(call)),
    retentionMs: getLimits(call).retentionMs,
    fold: await foldFor(task, { added: PLANNED_RECORDS, parts }),
    parts,
  });
  if (planned.kind === "refused") return wrongState(planned.reason, task);
  const answer = taskAnswer(call, planned.task, {
    workerName: worker.name,
    calendars,
    parts,
  });
  if (planned.kind === "unchanged") return answer;
  const room = await roomFor(engine, { call, task, next: planned.task });
  if (room?.kind === "problem") return room;
  try {
    const [result] = await parts.store.commit([{
      writes: [
        ...room?.require(1) ?? [],
        ...planned.writes,
        parts.repositories.workers.assertExists(task.tenantId, worker.id),
      ],
    }]);
    if (result?.kind === "ok") {
      changes.announce(task, planned.task);
      for (const made of planned.made) changes.announce(undefined, made);
      return answer;
    }
    if (result?.reason === "quota") {
      changes.activeTasks.recount(task.tenantId);
    }
    return result?.reason !== "key" ? undefined : problem("key_conflict", {
      detail: "Cannot change task: another live task of the worker has the key",
      retryAfterMs: KEY_RETRY_MS,
    });
  } finally {
    // The task is counted by now.
    room?.release();
  }
}

/**
 * Reserves room in the tenant's plan for a task that had ended and lives again;
 * undefined when none is needed. The room has to be released once the task is
 * written or not written.
 */
async function roomFor(
  { changes }: TasksParts["engine"],
  { call, task, next }: {
    readonly call: Call<unknown, unknown>;
    readonly task: Task;
    readonly next: Task;
  },
): Promise<
  ({ readonly kind: "room" } & TaskRoom) | ProblemAnswer | undefined
> {
  const { activeTasks: limit } = getLimits(call);
  const isRevived = isFinal(task.status) && !isFinal(next.status);
  if (limit === null || !isRevived) return undefined;
  const room = await changes.activeTasks
    .reserve(task.tenantId, { wanted: 1, limit });
  if (room.granted > 0) return { kind: "room", ...room };
  const reason =
    `Cannot reopen the task: the plan allows ${limit} active tasks`;
  return noRoom(call, { reason, limit, used: room.used });
}
