/**
 * What a change of a task results in, given the task as it is.
 *
 * @module
 */

import {
  dependencyRefusal,
  reportCircles,
} from "../../domain/dependency_rules.ts";
import {
  definitionChanges,
  dropUnchanged,
} from "../../domain/task_definition.ts";
import {
  definitionOf,
  isFinal,
  type Task,
  type TaskDefinition,
  type TaskStatus,
} from "../../domain/task.ts";
import type { TaskEvent } from "../../domain/task_event.ts";
import type { Pausing } from "../../../shared/slices.ts";
import { readJsonText } from "../../http/json_reader.ts";
import { jsonTextOf } from "../../http/json_writer.ts";
import { MAX_DEPTH } from "../../../shared/schema/json_value.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import {
  invalidRequest,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import { seesPayloads } from "../../access/caller.ts";
import { type Call, callerOf, limitsOf, tenantOf } from "../../http/call.ts";
import type { ApiParts } from "../api_parts.ts";
import { callbackRefusal } from "../../http/call_address.ts";
import type { Fault } from "../../../shared/schema/fault.ts";
import { readWhole } from "../../../shared/schema/schema.ts";
import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import { faultProblem, viewTask, wrongState } from "./task_view.ts";
import { defineTask } from "./define_task.ts";
import {
  problemOfFaults,
  readPrerequisites,
  statesOf,
  workerOf,
} from "./validate_task.ts";
import { copiedMember, patchedMembers } from "../../http/merge_patch.ts";
import {
  COMPARED_FIELDS,
  TASK_CHANGES,
  type TaskChangesInput,
} from "./task_schema.ts";

/** What a status asks for. */
type StatusRequest =
  | { readonly kind: "nothing" }
  | {
    readonly kind: "event";
    /** What is to happen. */
    readonly event: TaskEvent;
    /** Whether it happens before the other changes, which it makes possible. */
    readonly isFirst: boolean;
  }
  /** The service alone puts tasks into that status. */
  | { readonly kind: "read_only" }
  /** Not from the status that the task has. */
  | { readonly kind: "wrong_state"; readonly reason: string };

const NOTHING = { kind: "nothing" } as const;

/** Tells what a status asks for; the one that the task has asks for nothing. */
export function statusRequest(
  task: Pick<Task, "status">,
  wanted: TaskStatus,
): StatusRequest {
  const { status } = task;
  if (wanted === status) return NOTHING;
  switch (wanted) {
    case "canceled":
      return { kind: "event", event: { kind: "cancel" }, isFirst: false };
    case "paused":
      return { kind: "event", event: { kind: "pause" }, isFirst: false };
    case "waiting":
      return waiting(status);
    default:
      return { kind: "read_only" };
  }
}

function waiting(status: TaskStatus): StatusRequest {
  if (isFinal(status) || status === "retry") {
    return { kind: "event", event: { kind: "retry" }, isFirst: true };
  }
  if (status === "paused") {
    return { kind: "event", event: { kind: "resume" }, isFirst: false };
  }
  return {
    kind: "wrong_state",
    reason: `Cannot let the task wait: it is "${status}"; to run it before ` +
      "its date, give it another date",
  };
}

/** A request to change a task. */
interface ChangeRequest {
  /** The request, with what the client sent as its body. */
  readonly call: Call<unknown, unknown>;
  /** Whether members of objects are merged, as a merge patch has it. */
  readonly isPatch: boolean;
  /** The parts of the API. */
  readonly api: Pick<ApiParts, "engine" | "targets">;
}

/** What is to happen to the task. */
export interface Revision {
  /** What it is. */
  readonly kind: "revision";
  /** The events, in their order. */
  readonly events: readonly TaskEvent[];
  /** What the owner decides from now on. */
  readonly definition: TaskDefinition;
  /** The worker of that. */
  readonly worker: WorkerDefinition;
}

/** Judges a change of a task. */
export async function reviseTask(
  task: Task,
  request: ChangeRequest,
): Promise<Revision | ProblemAnswer> {
  const { call, api: { engine: { parts }, targets } } = request;
  const { id: tenantId, timezone } = tenantOf(call);
  const limits = limitsOf(call);
  const current = await parts.workers.get(task.tenantId, task.workerId);
  const workerName = current?.name ?? task.workerId;
  const read = await readChanges(task, request, workerName);
  if (read.kind === "problem") return read;
  const { input, dataJson } = read;
  const prerequisites = await readPrerequisites(parts, tenantId, {
    workers: input.worker === undefined ? [] : [input.worker],
    tasks: input.dependencies ?? [],
  });
  const faults: Fault[] = [...read.faults];
  const place = { prerequisites, at: "", faults };
  // A task whose worker was removed keeps its id, and is shown with it.
  const isSameWorker = input.worker === undefined ||
    input.worker === workerName || input.worker === task.workerId;
  const worker = isSameWorker ? current : workerOf(input.worker, place);
  if (isSameWorker && current === undefined) return orphaned(task);
  const states = statesOf(input.dependencies ?? [], place);
  reportCircles(task, states, place);
  const wanted = typeof input.status === "string"
    ? statusRequest(task, input.status)
    : NOTHING;
  const isFirst = wanted.kind === "event" && wanted.isFirst;
  const isReopened = isFirst && isFinal(task.status);
  const nowMs = parts.clock.nowMs();
  const before = isReopened ? unexpired(task, nowMs) : task;
  const defined = worker && defineTask(input, {
    base: definitionOf(before),
    task,
    isReopened,
    dataJson,
    worker,
    nowMs,
    timezone,
    limits,
    targets,
    at: "",
    faults,
  });
  if (worker === undefined || defined === undefined || faults.length > 0) {
    return problemOfFaults(faults, limits);
  }
  const { definition, dateMs } = defined;
  const forbidden = callbackRefusal(
    { payloads: seesPayloads(callerOf(call)) },
    { before: task.callback, after: definition.callback },
  );
  if (forbidden !== undefined) return forbidden;
  const refusal = workerRefusal(task, worker) ??
    (input.dependencies === undefined
      ? undefined
      : dependencyRefusal(task, definition, states));
  if (refusal !== undefined) return wrongState(refusal, task);
  const changes = definitionChanges(before, definition, {
    from: workerName,
    to: worker.name,
  });
  const update: TaskEvent = { kind: "update", definition, changes, dateMs };
  const unfit = statusRefusal(task, wanted, input.status);
  if (unfit !== undefined) return unfit;
  const asked = wanted.kind === "event" ? [wanted.event] : [];
  const events = isFirst ? [...asked, update] : [update, ...asked];
  return { kind: "revision", events, definition, worker };
}

async function readChanges(
  task: Task,
  { call, isPatch }: ChangeRequest,
  workerName: string,
): Promise<
  | {
    readonly kind: "ok";
    readonly input: TaskChangesInput;
    readonly faults: readonly Fault[];
    /** The data that was given, unless it is the task's own; as JSON text. */
    readonly dataJson: string | undefined;
  }
  | ProblemAnswer
> {
  const { body, pausing } = call;
  const payloads = seesPayloads(callerOf(call));
  // Data is compared as text, and read only where it is merged with some.
  const whole = viewTask(task, { workerName, payloads: true, data: null });
  const given = isPatch
    ? await patchedMembers(body, {
      pausing,
      memberOf: (name) =>
        name === "data"
          ? readStored(task.dataJson, pausing)
          : copiedMember(whole, name),
    })
    : body;
  const outcome = readWhole(TASK_CHANGES, given);
  if (outcome.kind === "invalid") {
    return invalidRequest(outcome.faults);
  }
  const faults = readOnlyFaults({
    given: { ...outcome.value },
    current: payloads ? whole : viewTask(task, { workerName, payloads }),
    fields: COMPARED_FIELDS,
  });
  const { data } = outcome.value;
  const dataJson = data === undefined
    ? undefined
    : await jsonTextOf(data, pausing);
  const input = dropUnchanged(outcome.value, { task, dataJson });
  return {
    kind: "ok",
    input,
    faults,
    dataJson: input.data === undefined ? undefined : dataJson,
  };
}

/** Reads the data of a task, which may be long. */
async function readStored(json: string, pausing: Pausing): Promise<unknown> {
  const bytes = new TextEncoder().encode(json);
  const limits = { maxDepth: MAX_DEPTH, maxValues: Infinity };
  const read = await readJsonText(bytes, { limits, pausing });
  if (read.kind === "ok") return read.value;
  throw new TypeError("Cannot read the task's data: it is no JSON");
}

/**
 * As a task is that has ended and is tried again: without an expiry that has
 * passed.
 */
function unexpired(task: Task, nowMs: number): Task {
  const { expiresAtMs } = task;
  return expiresAtMs === undefined || expiresAtMs > nowMs
    ? task
    : { ...task, expiresAtMs: undefined };
}

/** Why the status that was asked for cannot be; undefined when it can. */
function statusRefusal(
  task: Task,
  wanted: StatusRequest,
  status: TaskChangesInput["status"],
): ProblemAnswer | undefined {
  switch (wanted.kind) {
    case "read_only":
      return faultProblem("read_only", {
        field: "status",
        detail: `Cannot make the status "${status}": the service ` +
          'decides it; "canceled", "paused" and "waiting" can be asked for',
      });
    case "wrong_state":
      return wrongState(wanted.reason, task);
    default:
      return undefined;
  }
}

function workerRefusal(
  task: Task,
  worker: WorkerDefinition,
): string | undefined {
  return task.status === "running" && worker.id !== task.workerId
    ? "Cannot give the task to another worker: it is running; wait for the " +
      "attempt's end or cancel it"
    : undefined;
}

function orphaned(task: Task): ProblemAnswer {
  return faultProblem("unknown_worker", {
    field: "worker",
    detail: `Cannot change task: its worker "${task.workerId}" was ` +
      "removed; name another worker",
  });
}
