/**
 * The route that creates a task, and the code it shares with the route that
 * creates many.
 *
 * @module
 */

import { type Fault, report } from "../../../shared/schema/fault.ts";
import { andThen, type MaybePromise } from "../../../shared/settled.ts";
import { seesPayloads, toActor } from "../../access/caller.ts";
import {
  type CreateRefusal,
  type CreateRequest,
  type CreateResult,
  isRefusal,
} from "../../engine/create_request.ts";
import type { TaskCreation } from "../../engine/creation.ts";
import { calendarsOfRule } from "../../engine/parts.ts";
import type { Actor, PlanLimits, Tenant } from "../../domain/records.ts";
import { type FlowItem, flowOrder } from "../../domain/flow_order.ts";
import type { Answer } from "../../http/answer.ts";
import {
  type Call,
  type CallContext,
  getCaller,
  getLimits,
  getTenant,
} from "../../http/call.ts";
import { callbackRefusal } from "../../http/call_address.ts";
import { requestInProgress } from "../../http/idempotency.ts";
import { writeJson } from "../../http/json_writer.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
  problemOfError,
} from "../../http/problem_answer.ts";
import {
  type AnyRoute,
  defineRoute,
  requiredBody,
  type RouteBody,
} from "../../http/route.ts";
import { faultProblem, taskAnswer, wrongState } from "./task_view.ts";
import {
  NEW_TASK,
  NEW_TASK_EXAMPLE,
  type NewTaskInput,
  TASK,
  taskBodyBytes,
  type TasksParts,
  WRITES_TASKS,
} from "./task_schema.ts";
import {
  problemOfFaults,
  readPrerequisites,
  validateTask,
} from "./validate_task.ts";

/** What the routes that create tasks have in common. */
export const CREATES = {
  method: "POST",
  hosts: "tenant",
  tags: ["tasks"],
  access: WRITES_TASKS,
  isIdempotent: true,
  problems: [
    "quota_exceeded",
    "key_conflict",
    "wrong_state",
    "unknown_worker",
    "read_only",
    "bad_cron",
    "never_fires",
    "bad_timezone",
  ],
} as const;

/** The body that creates a task. */
export const NEW_TASK_BODY: RouteBody<NewTaskInput> = requiredBody(NEW_TASK, {
  maxBytes: taskBodyBytes,
  example: NEW_TASK_EXAMPLE,
});

const HEADERS = {
  Location: "Where the task is",
  ETag: "The entity tag of its version",
};

/** Makes the route that creates a task. */
export function createTaskRoute(parts: TasksParts): AnyRoute {
  return defineRoute({
    ...CREATES,
    path: "/v1/tasks",
    operationId: "createTask",
    summary: "Create a task",
    description: "When a live task of the worker has the same `key`, " +
      "`on_conflict` decides; the answer is 200 with that task then.",
    body: NEW_TASK_BODY,
    answers: {
      201: { description: "The new task", shape: TASK, headers: HEADERS },
      200: {
        description: "The live task that has the key",
        shape: TASK,
        headers: HEADERS,
      },
    },
    handle: (call) => createTask(parts, call),
  });
}

async function createTask(
  parts: TasksParts,
  call: Call<unknown, NewTaskInput>,
): Promise<Answer> {
  const faults: Fault[] = [];
  if (call.body.ref !== undefined) {
    report(faults, {
      pointer: "/ref",
      code: "needs_batch",
      detail: "Cannot use a ref: only tasks of a batch can name each other",
    });
  }
  const maker = makerOf(call);
  const { requests, problems: [refusal] } = await judgeTasks(parts, maker, [
    { at: "", input: call.body, faults },
  ]);
  if (refusal !== undefined) return refusal;
  const beginning = beginCreation(parts, maker, {
    requests,
    isOneCommit: true,
  });
  using creation = beginning instanceof Promise ? await beginning : beginning;
  if (creation === undefined) {
    return refusalProblem(maker, { kind: "busy" }, parts);
  }
  while (true) {
    const [result] = await creation.place();
    if (result === undefined) return problem("internal");
    if (isRefusal(result)) return refusalProblem(maker, result, parts);
    const answering = createdAnswer(parts, call, result);
    const answer = answering instanceof Promise ? await answering : answering;
    const outcome = await creation.write(call.extraWrites(answer));
    if (outcome.kind === "ok") return answer;
    if (outcome.kind !== "again") return refusalProblem(maker, outcome, parts);
  }
}

function createdAnswer(
  { engine: { parts } }: TasksParts,
  call: CallContext,
  { kind, task, request }: Exclude<CreateResult, CreateRefusal>,
): MaybePromise<Answer> {
  return andThen(
    calendarsOfRule(parts.repositories.calendars, task),
    (calendars) =>
      taskAnswer(call, task, {
        workerName: request.worker.name,
        calendars,
        parts,
        status: kind === "created" ? 201 : 200,
        hasLocation: true,
      }),
  );
}

/** A task as a request has it, where it stands there, and its faults so far. */
export interface TaskReading {
  /** The JSON pointer of the task within the body. */
  readonly at: string;
  /** The task as it was read; undefined when there were faults. */
  readonly input: NewTaskInput | undefined;
  /** The faults of the task. */
  readonly faults: Fault[];
}

/**
 * The tasks to be created, and the problems of the others; both have an entry
 * for each task, in their order.
 */
interface JudgedTasks {
  readonly requests: readonly (CreateRequest | undefined)[];
  readonly problems: readonly (ProblemAnswer | undefined)[];
}

/** The origin of new tasks: a request of the API, or one of an inbox. */
export interface TaskMaker
  extends Pick<CallContext, "requestId" | "pausing" | "onGone"> {
  /** The tenant. */
  readonly tenant: Tenant;
  /** The limits of the tenant's plan. */
  readonly limits: PlanLimits;
  /** The actor, as histories name it. */
  readonly actor: Actor;
  /** Whether it sees the data and results of tasks. */
  readonly payloads: boolean;
}

/** The maker of the tasks of a call. */
export function makerOf(call: CallContext): TaskMaker {
  const caller = getCaller(call);
  return {
    requestId: call.requestId,
    pausing: call.pausing,
    onGone: (listener) => call.onGone(listener),
    tenant: getTenant(call),
    limits: getLimits(call),
    actor: toActor(caller),
    payloads: seesPayloads(caller),
  };
}

/** The parts that creating tasks needs. */
export type MakingParts = Pick<TasksParts, "engine" | "targets" | "onTimeMs">;

/** Validates the tasks of a request, all against the state of one moment. */
export async function judgeTasks(
  { engine: { parts }, targets, onTimeMs }: MakingParts,
  maker: TaskMaker,
  read: readonly TaskReading[],
): Promise<JudgedTasks> {
  const { tenant: { id: tenantId, timezone }, limits, pausing } = maker;
  const refs = flowRefs(read);
  const workers = new Set<string>();
  const tasks = new Set<string>();
  const calendars = new Set<string>();
  for (const { input } of read) {
    if (input === undefined) continue;
    workers.add(input.worker);
    for (const id of input.dependencies ?? []) {
      if (!refs?.has(id)) tasks.add(id);
    }
    for (const name of input.repeat?.calendars ?? []) calendars.add(name);
  }
  const wanted = { workers, tasks, calendars };
  const prerequisites = {
    ...await readPrerequisites(parts, tenantId, wanted),
    refs,
  };
  const nowMs = parts.clock.nowMs();
  const requests: (CreateRequest | undefined)[] = [];
  const problems: (ProblemAnswer | undefined)[] = [];
  for (const { input, at, faults } of read) {
    // Long data is written as text in slices, before the task is validated.
    const dataJson = input?.data === undefined
      ? undefined
      : await writeJson(input.data, pausing);
    const valid = input && validateTask(input, {
      ...{ prerequisites, limits, timezone, nowMs, targets, onTimeMs },
      ...{ at, faults, dataJson },
    });
    const request = faults.length === 0 ? valid : undefined;
    const after = request?.definition.callback;
    const problem = request === undefined
      ? problemOfFaults(faults, limits)
      : after && callbackRefusal(maker, { after });
    requests.push(problem === undefined ? request : undefined);
    problems.push(problem);
    const pause = pausing.pause();
    if (pause !== undefined) await pause;
  }
  return { requests, problems };
}

/**
 * The names that the tasks of a request have for each other; undefined when
 * they have none. Reports names that are given twice, and circles.
 */
function flowRefs(
  read: readonly TaskReading[],
): ReadonlySet<string> | undefined {
  const refs = new Set<string>();
  for (const { input, at, faults } of read) {
    if (input?.ref === undefined) continue;
    if (refs.has(input.ref)) {
      report(faults, {
        pointer: `${at}/ref`,
        code: "not_unique",
        detail: `Cannot use ref "${input.ref}": another task has it`,
      });
    }
    refs.add(input.ref);
  }
  if (refs.size === 0) return undefined;
  const items = read.map(({ input }): FlowItem => ({
    ref: input?.ref,
    refs: new Set(input?.dependencies?.filter((id) => refs.has(id))),
  }));
  for (const position of flowOrder(items).circular) {
    const { at, faults } = read[position] ?? { at: "", faults: [] };
    report(faults, {
      pointer: `${at}/dependencies`,
      code: "circular",
      detail: "Cannot depend on tasks that depend on this one",
    });
  }
  return refs;
}

/**
 * Begins to create tasks; undefined when others keep their keys busy.
 *
 * @returns A value at once where no key has to be locked.
 */
export function beginCreation(
  { engine }: MakingParts,
  maker: TaskMaker,
  { requests, isOneCommit }: Pick<JudgedTasks, "requests"> & {
    /** Whether all tasks are written in one commit. */
    readonly isOneCommit: boolean;
  },
): MaybePromise<TaskCreation | undefined> {
  return engine.creation.begin(requests, {
    tenantId: maker.tenant.id,
    actor: maker.actor,
    limits: maker.limits,
    client: maker,
    isOneCommit,
  });
}

/** The problem of a task that was not created. */
export function refusalProblem(
  { requestId, tenant }: TaskMaker,
  refusal: CreateRefusal,
  { engine }: MakingParts,
): ProblemAnswer {
  switch (refusal.kind) {
    case "skipped":
      return problem("internal");
    case "invalid":
      return invalidRequest(refusal.faults);
    case "unknown_worker":
      return faultProblem("unknown_worker", {
        field: "worker",
        detail: `Cannot use worker "${refusal.worker.name}": it was removed`,
      });
    case "key_conflict":
      return problem("key_conflict", {
        detail: refusal.reason,
        retryAfterMs: refusal.retryAfterMs,
      });
    case "wrong_state":
      return wrongState(refusal.reason, refusal);
    case "over_quota": {
      const { what, limit, used } = refusal;
      return problem("quota_exceeded", {
        detail: `Cannot create task: the plan allows ${limit} ${what}`,
        extensions: { limit, used, plan: tenant.plan },
      });
    }
    case "busy":
      return problem("overloaded", {
        detail:
          "Cannot create tasks: others with the same keys change too fast",
        retryAfterMs: 1_000,
      });
    case "answered_elsewhere":
      return requestInProgress();
    case "failed":
      return problemOfError(refusal.error, {
        requestId,
        logger: engine.parts.logger,
      });
  }
}
