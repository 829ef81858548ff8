/**
 * The routes that read, remove, retry, cancel or otherwise act on one task.
 *
 * @module
 */

import { type AnyRoute, defineRoute, optionalBody } from "../../http/route.ts";
import {
  READS_TASKS,
  TASK,
  type TasksParts,
  WRITES_TASKS,
} from "./task_schema.ts";
import {
  changeCondition,
  changesTooFast,
  findTask,
  loadSurroundings,
  MAX_CHANGE_TRIES,
  noRoom,
  noTask,
  TASK_PARAMS,
  taskAnswer,
  type TaskAnswerOptions,
  wrongState,
} from "./task_view.ts";
import { toActor } from "../../access/caller.ts";
import { type ConflictReason, isOvertaken } from "../../engine/changes.ts";
import type { Engine } from "../../engine/engine.ts";
import { type Answer, empty } from "../../http/answer.ts";
import { type Call, type CallContext, getCaller } from "../../http/call.ts";
import { answerOfRead, formatEtag } from "../../http/etag.ts";
import { requestInProgress } from "../../http/idempotency.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import {
  removedWorker,
  removeTask,
  requiringWorker,
} from "../../engine/owner_actions.ts";
import type { Task } from "../../domain/task.ts";
import type { TaskEvent } from "../../domain/task_event.ts";
import { durationMs } from "../../domain/value_schemas.ts";
import type { Write } from "../../store/store.ts";
import type { ProblemCode } from "../../http/problem_catalog.ts";
import { createSchema, named } from "../../../shared/schema/schema.ts";
import {
  NO_FIELDS,
  object,
  settable,
  withDefault,
} from "../../../shared/schema/object.ts";
import { querySchema } from "../../../shared/schema/query.ts";
import { MAX_DURATION_CHARS } from "../../../shared/duration.ts";
import { text } from "../../../shared/schema/values.ts";

/** The longest wait for the end of a task, in milliseconds. */
const MAX_WAIT_MS = 30_000;

const WAIT_TIME = durationMs({ maximumMs: MAX_WAIT_MS });

const WAIT_QUERY = querySchema({
  wait: withDefault(
    createSchema(
      {
        type: "string",
        maxLength: MAX_DURATION_CHARS,
        examples: ["PT30S", "30s"],
      },
      (value, at, faults) => WAIT_TIME.read(value, at, faults),
    ),
    "PT0S",
    "How long to wait for the end of the task: a duration such as PT30S or " +
      "30s, which is the most",
  ),
});

/** Makes the route that reads a task. */
export function readTaskRoute({ engine }: TasksParts): AnyRoute {
  return defineRoute({
    ...READS_TASKS,
    path: "/v1/tasks/:id",
    operationId: "getTask",
    summary: "Read a task",
    description:
      "With `wait` it is answered when the task has ended, or as it " +
      "is when the time is over. A task that repeats has ended when no run is " +
      "left. At once it is answered where too many requests of the tenant wait " +
      "already.",
    params: TASK_PARAMS,
    query: WAIT_QUERY,
    answers: { 200: { description: "The task", shape: TASK } },
    conditions: "read",
    problems: [],
    handle: async (call) => {
      const { wait } = call.query;
      const task = await findTask(call, {
        store: {
          task: (tenantId, id) =>
            engine.ends.wait(tenantId, id, {
              waitMs: wait,
              onGone: (listener) => call.onGone(listener),
            }),
        },
      });
      if (wait > 0) {
        // The credential may have been revoked meanwhile.
        const admission = await call.reauthorize();
        if (admission.kind === "problem") return admission;
      }
      if (task === undefined) return noTask();
      const unread = answerOfRead(call, formatEtag(task.version));
      return unread ??
        taskAnswer(call, task, await loadSurroundings(task, engine.parts));
    },
  });
}

/** Makes the route that removes a task. */
export function removeTaskRoute({ engine }: TasksParts): AnyRoute {
  return defineRoute({
    method: "DELETE",
    path: "/v1/tasks/:id",
    hosts: "tenant",
    operationId: "deleteTask",
    summary: "Remove a task",
    description: "One that is live is canceled first. Its history goes with " +
      "it; the audit log keeps that it was removed.",
    tags: ["tasks"],
    access: WRITES_TASKS,
    params: TASK_PARAMS,
    answers: { 204: { description: "It is gone" } },
    conditions: "change",
    problems: [],
    handle: (call) => answerRemoval(engine, call),
  });
}

async function answerRemoval(
  engine: Engine,
  call: CallContext,
): Promise<Answer> {
  for (let tries = 0; tries < MAX_CHANGE_TRIES; tries++) {
    const task = await findTask(call, engine.parts);
    if (task === undefined) return noTask();
    const refusal = changeCondition(call, task);
    if (refusal !== undefined) return refusal;
    const isRemoved = await removeTask(engine, {
      task,
      actor: toActor(getCaller(call)),
    });
    if (isRemoved) return empty();
  }
  return changesTooFast("remove");
}

const REASON = object({
  reason: settable(text({ maxLength: 500 }), "Why; it is kept in the history"),
});

const CANCELING = named("Cancelation", REASON, {
  description: "Why a task is canceled",
  examples: [{ reason: "The order was withdrawn" }],
});

interface Verb {
  readonly name: "run" | "pause" | "resume";
  readonly summary: string;
  readonly description: string;
  /** @default the only problem is `wrong_state` */
  readonly problems?: readonly ProblemCode[] | undefined;
}

const VERBS: readonly Verb[] = [
  {
    name: "run",
    summary: "Run a task now",
    description: "Whatever its date and its dependencies; the schedule of a " +
      "task that repeats goes on as before. In the mode `spawn` it makes one " +
      "more task, if the plan has room for it.",
    problems: ["wrong_state", "quota_exceeded"],
  },
  {
    name: "pause",
    summary: "Pause a task",
    description: "It is kept and not started until it is resumed.",
  },
  {
    name: "resume",
    summary: "Resume a task",
    description: "It goes on where it was paused; what became due meanwhile " +
      "is due.",
  },
];

/** What the routes of the verbs have in common. */
export const VERB_ROUTE = {
  method: "POST",
  hosts: "tenant",
  tags: ["tasks"],
  access: WRITES_TASKS,
  params: TASK_PARAMS,
  answers: {
    200: {
      description: "The task as it is now",
      shape: TASK,
      headers: { ETag: "The entity tag of its version" },
    },
  },
  isIdempotent: true,
  conditions: "change",
  problems: ["wrong_state"],
} as const;

/** Makes the routes of the verbs, but for the one that retries. */
export function taskVerbRoutes(parts: TasksParts): readonly AnyRoute[] {
  return [
    defineRoute({
      ...VERB_ROUTE,
      path: "/v1/tasks/:id/cancel",
      operationId: "cancelTask",
      summary: "Cancel a task",
      description: "At once, also while it runs: its worker is told at its " +
        "next sign of life. Canceling twice is fine.",
      body: optionalBody(CANCELING),
      handle: (call) =>
        applyVerb(parts, call, {
          kind: "cancel",
          reason: call.body.reason ?? undefined,
        }),
    }),
    ...VERBS.map(({ name, summary, description, problems }) =>
      defineRoute({
        ...VERB_ROUTE,
        problems: problems ?? VERB_ROUTE.problems,
        path: `/v1/tasks/:id/${name}`,
        operationId: `${name}Task`,
        summary,
        description,
        body: optionalBody(NO_FIELDS),
        handle: (call) => applyVerb(parts, call, { kind: name }),
      })
    ),
  ];
}

/** Changes of other tasks that are made together with a verb. */
export interface Companions {
  /** Tells companions from a problem. */
  readonly kind: "companions";
  /** The writes of the changes. */
  readonly writes: readonly Write[];
  /** Notifies the listeners; called after the commit. */
  readonly announce: () => void;
  /** Ends what was reserved for them; called whatever the outcome. */
  readonly release: () => void;
  /** What to do when the plan has no room, added to the reason. */
  readonly advice: string;
  /** What the answer shows of them. */
  readonly shown: Pick<TaskAnswerOptions, "revivedDependents">;
}

/** Options of {@linkcode applyVerb}. */
interface VerbOptions {
  /**
   * Plans the changes of other tasks that go with the verb; a problem refuses
   * the verb.
   *
   * @default {none}
   */
  readonly companions?:
    | ((task: Task) => Promise<Companions | ProblemAnswer | undefined>)
    | undefined;
}

/**
 * How often a verb is tried again when its task changes meanwhile. Verbs take
 * no lock, so many of them at once may change the task of each other.
 */
const MAX_VERB_TRIES = 50;

/** Applies the event of a verb to the task of the path. */
export async function applyVerb(
  parts: TasksParts,
  call: Call<unknown, unknown>,
  event: TaskEvent,
  { companions }: VerbOptions = {},
): Promise<Answer> {
  for (let tries = 0; tries < MAX_VERB_TRIES; tries++) {
    const known = await findTask(call, parts.engine.parts);
    if (known === undefined) return noTask();
    const others = await companions?.(known);
    if (others?.kind === "problem") return others;
    try {
      const applied = await applyOnce(parts, { call, event, known, others });
      if (applied !== "again") return applied;
    } finally {
      others?.release();
    }
  }
  return changesTooFast("change");
}

async function applyOnce(
  { engine }: TasksParts,
  { call, event, known, others }: {
    readonly call: Call<unknown, unknown>;
    readonly event: TaskEvent;
    readonly known: Task;
    readonly others: Companions | undefined;
  },
): Promise<Answer | "again"> {
  const refusal = changeCondition(call, known);
  if (refusal !== undefined) return refusal;
  const { parts, changes } = engine;
  const surroundings = await loadSurroundings(known, parts);
  const { tenantId, id } = known;
  const actor = toActor(getCaller(call));
  const plan = await changes.planStrictly(
    { tenantId, id, event, actor },
    known,
  );
  try {
    const { settled } = plan;
    if (settled.kind === "purged") return noTask();
    if (settled.kind === "refused") {
      return settled.code === "quota_exceeded"
        ? noRoom(call, {
          ...settled,
          reason: settled.reason + (others?.advice ?? ""),
        })
        : wrongState(settled.reason, known);
    }
    const answer = taskAnswer(call, settled.task, {
      ...surroundings,
      ...others?.shown,
    });
    if (settled.kind === "unchanged") return answer;
    const result = await changes.commitPlan(plan, [
      ...requiringWorker(parts, settled),
      ...others?.writes ?? [],
      ...call.extraWrites(answer),
    ]);
    if (result?.kind === "ok") {
      others?.announce();
      return answer;
    }
    const { reason = "version", write = 0 } = result ?? {};
    // The task, or one of the others, may have changed meanwhile.
    const mayFit = isOvertaken(reason) && write < plan.ownWrites ||
      reason !== "idempotency" && (others?.writes.length ?? 0) > 0;
    return mayFit ? "again" : conflictAnswer(known, reason);
  } finally {
    plan.releaseRoom?.();
  }
}

/** The answer to a change that conflicts with what others have written. */
function conflictAnswer(
  known: Task,
  reason: ConflictReason,
): Answer {
  switch (reason) {
    case "missing":
      return problem("unknown_worker", { detail: removedWorker(known) });
    case "key":
      return problem("wrong_state", {
        detail: "Cannot reopen the task: another live task of the worker has " +
          "its key now",
      });
    case "idempotency":
      return requestInProgress();
    default:
      return changesTooFast("change");
  }
}
