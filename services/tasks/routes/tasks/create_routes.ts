/**
 * The routes that create tasks, one or many.
 *
 * @module
 */

import {
  NEW_TASK,
  NEW_TASK_EXAMPLE,
  type NewTaskInput,
  TASK,
} from "./task_schema.ts";
import { actorOf, seesPayloads } from "../../access/caller.ts";
import type { CreateOptions, CreateResult } from "../../engine/creation.ts";
import { isRefusal } from "../../engine/creation.ts";
import type { CreateRequest } from "../../engine/key_reservations.ts";
import { callbackRefusal } from "../../http/call_address.ts";
import type { Answer } from "../../http/answer.ts";
import { type Call, callerOf, limitsOf, tenantOf } from "../../http/call.ts";
import { jsonTextOf } from "../../http/json_writer.ts";
import type { ProblemAnswer } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, requiredBody } from "../../http/route.ts";
import {
  type Fault,
  MAX_BATCH_FAULTS,
  withFewFaults,
} from "../../../shared/schema/fault.ts";
import type { Pausing } from "../../../shared/slices.ts";
import {
  atomicProblem,
  BATCH,
  BATCH_RESULTS,
  batchAnswer,
  type BatchInput,
  type BatchResult,
  createdAnswer,
  refusalProblem,
  tooManyDependencies,
  tooManyTasks,
} from "./create_answers.ts";
import { taskBodyBytes, type TasksParts, WRITES_TASKS } from "./tasks_parts.ts";
import {
  problemOfFaults,
  readPrerequisites,
  validateTask,
} from "./validate_task.ts";

/** Most different tasks that the tasks of a batch depend on. */
const MAX_DEPENDENCIES = 10_000;

/** Most values of a batch: a thousand for each of a thousand tasks. */
const MAX_VALUES = 1_048_576;

const HEADERS = {
  Location: "Where the task is",
  ETag: "The entity tag of its version",
};

/** Makes the routes. */
export function createTaskRoutes(parts: TasksParts): readonly AnyRoute[] {
  const common = {
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
  return [
    defineRoute({
      ...common,
      path: "/v1/tasks",
      operationId: "createTask",
      summary: "Create a task",
      description: "When a live task of the worker has the same `key`, " +
        "`on_conflict` decides; the answer is 200 with that task then.",
      body: requiredBody(NEW_TASK, {
        maxBytes: taskBodyBytes,
        example: NEW_TASK_EXAMPLE,
      }),
      answers: {
        201: { description: "The new task", shape: TASK, headers: HEADERS },
        200: {
          description: "The live task that has the key",
          shape: TASK,
          headers: HEADERS,
        },
      },
      handle: (call) => createTask(parts, call),
    }),
    defineRoute({
      ...common,
      path: "/v1/tasks/batch",
      operationId: "createTasks",
      summary: "Create many tasks",
      description:
        "Unless `atomic` is set, each task stands for itself and has its own " +
        "entry in `results`. All are written in one commit when it is " +
        "set, or when there is an Idempotency-Key, else in pieces. The body " +
        "may have as many bytes as the service allows, 4 MiB unless set " +
        `otherwise, and ${MAX_VALUES.toLocaleString("en")} values; all ` +
        "faults of its tasks are listed until there are " +
        `${MAX_BATCH_FAULTS.toLocaleString("en")}, then one for each task.`,
      body: requiredBody(BATCH, {
        maxBytes: ({ batchSize, ...limits }) =>
          Math.min(
            parts.maxBatchBytes,
            Math.max(1, batchSize) * taskBodyBytes({ batchSize, ...limits }),
          ),
        maxValues: MAX_VALUES,
        tooLargeAdvice: "send fewer tasks in a batch",
        example: { tasks: [NEW_TASK_EXAMPLE] },
      }),
      answers: {
        200: { description: "The result for each task", shape: BATCH_RESULTS },
      },
      heedsPrefer: true,
      handle: (call) => createBatch(parts, call),
    }),
  ];
}

async function createTask(
  parts: TasksParts,
  call: Call<unknown, NewTaskInput>,
): Promise<Answer> {
  const { engine, targets } = parts;
  const { body } = call;
  const tenant = tenantOf(call);
  const prerequisites = await readPrerequisites(engine.parts, tenant.id, {
    workers: [body.worker],
    tasks: body.dependencies ?? [],
  });
  const dataJson = body.data === undefined
    ? undefined
    : await jsonTextOf(body.data, call.pausing);
  const faults: Fault[] = [];
  const request = validateTask(body, {
    prerequisites,
    timezone: tenant.timezone,
    dataJson,
    nowMs: engine.parts.clock.nowMs(),
    targets,
    at: "",
    faults,
  });
  if (request === undefined) {
    return problemOfFaults(faults, prerequisites.limits);
  }
  const caller = callerOf(call);
  const refusal = callbackRefusal({ payloads: seesPayloads(caller) }, {
    after: request.definition.callback,
  });
  if (refusal !== undefined) return refusal;
  const answerOf = remembered((results: readonly CreateResult[]) =>
    createdAnswer({ call, parts }, results)
  );
  const outcome = await engine.creation.create([request], {
    ...createOptions(call, prerequisites),
    isAtomic: true,
    inSameCommit: call.answerPlace === undefined
      ? undefined
      : (results) => call.extraWrites(answerOf(results)),
  });
  return "results" in outcome
    ? answerOf(outcome.results)
    : refusalProblem({ call, parts }, outcome);
}

/** A task of the batch, as far as it could be read. */
interface ReadTask {
  readonly at: string;
  readonly input: NewTaskInput | undefined;
  readonly faults: Fault[];
  readonly dataJson: string | undefined;
}

async function createBatch(
  parts: TasksParts,
  call: Call<unknown, BatchInput>,
): Promise<Answer> {
  const { engine, targets } = parts;
  const { atomic: isAtomic, tasks } = call.body;
  const tenant = tenantOf(call);
  const { batchSize } = limitsOf(call);
  if (tasks.length > batchSize) return tooManyTasks(batchSize);
  call.charge(tasks.length);
  const read: ReadTask[] = [];
  let faultsLeft = MAX_BATCH_FAULTS;
  for (const [index, task] of tasks.entries()) {
    const one = await readTask(task, {
      index,
      faultsLeft,
      pausing: call.pausing,
    });
    faultsLeft -= one.faults.length;
    read.push(one);
    const pause = call.pausing.pause();
    if (pause !== undefined) await pause;
  }
  const references = referencesOf(read);
  if (references.tasks.size > MAX_DEPENDENCIES) {
    return tooManyDependencies(MAX_DEPENDENCIES);
  }
  const prerequisites = await readPrerequisites(
    engine.parts,
    tenant.id,
    references,
  );
  const options = {
    prerequisites,
    timezone: tenant.timezone,
    nowMs: engine.parts.clock.nowMs(),
    targets,
  };
  const sight = { payloads: seesPayloads(callerOf(call)) };
  const requests: (CreateRequest | undefined)[] = [];
  // Of the tasks that are not to be created.
  const problems: (ProblemAnswer | undefined)[] = [];
  for (const { input, ...place } of read) {
    const request = input && validateTask(input, { ...options, ...place });
    const problem = request === undefined
      ? problemOfFaults(place.faults, prerequisites.limits)
      : callbackRefusal(sight, { after: request.definition.callback });
    requests.push(problem === undefined ? request : undefined);
    problems.push(problem);
    const pause = call.pausing.pause();
    if (pause !== undefined) await pause;
  }
  const toBatch = (results: readonly CreateResult[]): readonly BatchResult[] =>
    results.map((result, index) =>
      problems[index] ??
        (isRefusal(result) ? refusalProblem({ call, parts }, result) : result)
    );
  const answerOf = remembered((results: readonly CreateResult[]) =>
    batchAnswer(call, toBatch(results))
  );
  const outcome = await engine.creation.create(requests, {
    ...createOptions(call, prerequisites),
    isAtomic,
    inSameCommit: call.answerPlace === undefined
      ? undefined
      : async (results) => call.extraWrites(await answerOf(results)),
  });
  switch (outcome.kind) {
    case "ok":
      return await answerOf(outcome.results);
    case "refused":
      return atomicProblem(toBatch(outcome.results));
    default:
      return refusalProblem({ call, parts }, outcome);
  }
}

function createOptions(
  call: Call<unknown, unknown>,
  { limits }: Pick<CreateOptions, "limits">,
): Omit<CreateOptions, "isAtomic" | "inSameCommit"> {
  return {
    tenantId: tenantOf(call).id,
    actor: actorOf(callerOf(call)),
    limits,
    client: call,
  };
}

/** Calls a function once for the same value after another. */
function remembered<Value, Result>(
  compute: (value: Value) => Result,
): (value: Value) => Result {
  let last: { readonly value: Value; readonly result: Result } | undefined;
  return (value) => {
    if (last?.value !== value) last = { value, result: compute(value) };
    return last.result;
  };
}

async function readTask(
  task: unknown,
  { index, faultsLeft, pausing }: {
    readonly index: number;
    readonly faultsLeft: number;
    readonly pausing: Pausing;
  },
): Promise<ReadTask> {
  const at = `/tasks/${index}`;
  const { value: input, faults } = withFewFaults(
    faultsLeft,
    (faults) => NEW_TASK.read(task, at, faults),
  );
  const dataJson = input?.data === undefined
    ? undefined
    : await jsonTextOf(input.data, pausing);
  return { at, input, faults, dataJson };
}

function referencesOf(
  read: readonly ReadTask[],
): { readonly workers: Set<string>; readonly tasks: Set<string> } {
  const workers = new Set<string>();
  const tasks = new Set<string>();
  for (const { input } of read) {
    if (input === undefined) continue;
    workers.add(input.worker);
    for (const id of input.dependencies ?? []) tasks.add(id);
  }
  return { workers, tasks };
}
