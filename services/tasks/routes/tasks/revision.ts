/**
 * Works out what a request to change a task does to it: the events, and the new
 * definition.
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
  isFinal,
  pickDefinition,
  type Task,
  type TaskDefinition,
  type TaskStatus,
} from "../../domain/task.ts";
import { guidedFault, TASK_WORDS } from "../../domain/other_words.ts";
import type { TaskEvent } from "../../domain/task_event.ts";
import type { Pausing } from "../../../shared/slices.ts";
import { readJsonText } from "../../http/json_reader.ts";
import { writeJson } from "../../http/json_writer.ts";
import { MAX_DEPTH } from "../../../shared/schema/json_value.ts";
import type { Calendars } from "../../domain/schedule.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import {
  invalidRequest,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import { seesPayloads } from "../../access/caller.ts";
import { type Call, getCaller, getLimits, getTenant } from "../../http/call.ts";
import type { ApiParts } from "../api_parts.ts";
import { callbackRefusal } from "../../http/call_address.ts";
import type { Fault } from "../../../shared/schema/fault.ts";
import { readWhole } from "../../../shared/schema/schema.ts";
import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import { faultProblem, viewTask, wrongState } from "./task_view.ts";
import { defineTask } from "./define_task.ts";
import {
  findStates,
  findWorker,
  problemOfFaults,
  readPrerequisites,
} from "./validate_task.ts";
import { copiedMember, patchedMembers } from "../../http/merge_patch.ts";
import {
  COMPARED_FIELDS,
  TASK_CHANGES,
  type TaskChangesInput,
} from "./task_schema.ts";

/** What a requested status means for a task. */
type StatusRequest =
  | { readonly kind: "nothing" }
  | {
    readonly kind: "event";
    /** The event that leads to the status. */
    readonly event: TaskEvent;
    /**
     * Whether the event comes before the other changes, because it makes them
     * possible.
     */
    readonly isFirst: boolean;
  }
  /** Only the service puts tasks into the status. */
  | { readonly kind: "read_only" }
  /** The task cannot get there from the status that it has. */
  | { readonly kind: "wrong_state"; readonly reason: string };

const NOTHING = { kind: "nothing" } as const;

/**
 * Tells what a requested status means for a task. The task's own status means
 * nothing.
 */
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
    reason: `Cannot set the task to waiting: it is "${status}"; to run it ` +
      "before its date, give it another date",
  };
}

/** A request to change a task. */
interface ChangeRequest {
  /** The call, with the body as the client sent it. */
  readonly call: Call<unknown, unknown>;
  /** Whether members of objects are merged, as in a merge patch. */
  readonly isPatch: boolean;
  /** The parts of the API. */
  readonly api: Pick<ApiParts, "engine" | "targets" | "onTimeMs">;
}

/** The outcome of a change request that is valid. */
export interface Revision {
  /** Tells a revision from a problem. */
  readonly kind: "revision";
  /** The events to apply, in their order. */
  readonly events: readonly TaskEvent[];
  /** The definition from now on. */
  readonly definition: TaskDefinition;
  /** The worker of that definition. */
  readonly worker: WorkerDefinition;
  /** The calendars that it names. */
  readonly calendars: Calendars;
}

/** Validates a change of a task and works out what it does. */
export async function reviseTask(
  task: Task,
  request: ChangeRequest,
): Promise<Revision | ProblemAnswer> {
  const { call, api: { engine: { parts }, targets, onTimeMs } } = request;
  const { id: tenantId, timezone } = getTenant(call);
  const limits = getLimits(call);
  const current = await parts.workers.get(task.tenantId, task.workerId);
  const workerName = current?.name ?? task.workerId;
  const read = await readChanges(task, request, workerName);
  if (read.kind === "problem") return read;
  const { input, dataJson } = read;
  const prerequisites = await readPrerequisites(parts, tenantId, {
    workers: new Set(input.worker === undefined ? [] : [input.worker]),
    tasks: new Set(input.dependencies),
    calendars: new Set(
      input.repeat === undefined
        ? task.repeat?.calendars
        : input.repeat?.calendars,
    ),
  });
  const { calendars } = prerequisites;
  const faults: Fault[] = [...read.faults];
  const place = { prerequisites, at: "", faults };
  // A task whose worker was removed keeps the worker's id, and shows the id as
  // the name.
  const isSameWorker = input.worker === undefined ||
    input.worker === workerName || input.worker === task.workerId;
  const worker = isSameWorker ? current : findWorker(input.worker, place);
  if (isSameWorker && current === undefined) return orphaned(task);
  const states = findStates(input.dependencies ?? [], place);
  reportCircles(task, states, place);
  const wanted = typeof input.status === "string"
    ? statusRequest(task, input.status)
    : NOTHING;
  const isFirst = wanted.kind === "event" && wanted.isFirst;
  const isReopened = isFirst && isFinal(task.status);
  const nowMs = parts.clock.nowMs();
  const before = isReopened ? unexpired(task, nowMs) : task;
  const defined = worker && defineTask(input, {
    base: pickDefinition(before),
    task,
    isReopened,
    dataJson,
    worker,
    calendars,
    nowMs,
    timezone,
    limits,
    targets,
    onTimeMs,
    at: "",
    faults,
  });
  if (worker === undefined || defined === undefined || faults.length > 0) {
    return problemOfFaults(faults, limits);
  }
  const { definition, dateMs } = defined;
  const forbidden = callbackRefusal(
    { payloads: seesPayloads(getCaller(call)) },
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
  return { kind: "revision", events, definition, worker, calendars };
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
    /** The new data as JSON text; undefined when the task's own data stays. */
    readonly dataJson: string | undefined;
  }
  | ProblemAnswer
> {
  const { body, pausing } = call;
  const payloads = seesPayloads(getCaller(call));
  // Data is compared as text, and parsed only when a patch has to be merged
  // into it.
  const whole = viewTask(task, { workerName, payloads: true, data: null });
  const given = isPatch
    ? await patchedMembers(body, {
      pausing,
      copyMember: (name) =>
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
  }).map((fault) =>
    guidedFault(fault, { value: given, at: "", guide: TASK_WORDS })
  );
  const { data } = outcome.value;
  const dataJson = data === undefined
    ? undefined
    : await writeJson(data, pausing);
  const input = dropUnchanged(outcome.value, { task, dataJson });
  return {
    kind: "ok",
    input,
    faults,
    dataJson: input.data === undefined ? undefined : dataJson,
  };
}

/** Parses the data of a task, which may be long. */
async function readStored(json: string, pausing: Pausing): Promise<unknown> {
  const bytes = new TextEncoder().encode(json);
  const limits = { maxDepth: MAX_DEPTH, maxValues: Infinity };
  const read = await readJsonText(bytes, { limits, pausing });
  if (read.kind === "ok") return read.value;
  throw new TypeError("Cannot read the task's data: it is not JSON");
}

/**
 * An ended task as it is when it is tried again: without an expiry that has
 * passed.
 */
function unexpired(task: Task, nowMs: number): Task {
  const { expiresAtMs } = task;
  return expiresAtMs === undefined || expiresAtMs > nowMs
    ? task
    : { ...task, expiresAtMs: undefined };
}

/** Why the requested status is refused; undefined when it is possible. */
function statusRefusal(
  task: Task,
  wanted: StatusRequest,
  status: TaskChangesInput["status"],
): ProblemAnswer | undefined {
  switch (wanted.kind) {
    case "read_only":
      return faultProblem("read_only", {
        field: "status",
        detail: `Cannot set the status to "${status}": the service sets it; ` +
          'you can set "canceled", "paused" and "waiting"',
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
