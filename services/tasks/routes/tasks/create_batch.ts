/**
 * The route that creates many tasks in one request.
 *
 * @module
 */

import { asGiven, list } from "../../../shared/schema/composite.ts";
import {
  cannotTake,
  MAX_BATCH_FAULTS,
  MAX_FAULTS,
  withFewFaults,
} from "../../../shared/schema/fault.ts";
import {
  object,
  type ObjectOf,
  withDefault,
} from "../../../shared/schema/object.ts";
import {
  described,
  named,
  said,
  type Schema,
  type Shape,
  shape,
  shownObject,
} from "../../../shared/schema/schema.ts";
import { boolean } from "../../../shared/schema/values.ts";
import { seesPayloads } from "../../access/caller.ts";
import { MAX_BATCH_SIZE } from "../../domain/records.ts";
import {
  type CreateRefusal,
  type CreateResult,
  isRefusal,
} from "../../engine/create_request.ts";
import { EmbeddedJson } from "../../engine/stored_json.ts";
import {
  type Answer,
  getStatus,
  problemResult,
  resultsAnswer,
} from "../../http/answer.ts";
import {
  type Call,
  type CallContext,
  getCaller,
  getLimits,
  MINIMAL_APPLIED,
  prefersMinimal,
} from "../../http/call.ts";
import {
  invalidRequest,
  PROBLEM_SHAPE,
  type ProblemAnswer,
  type RequestFault,
} from "../../http/problem_answer.ts";
import {
  type AnyRoute,
  defineRoute,
  requiredBody,
  shownNumber,
} from "../../http/route.ts";
import {
  beginCreation,
  CREATES,
  judgeTasks,
  makerOf,
  refusalProblem,
  type TaskReading,
} from "./create_task.ts";
import {
  NEW_TASK,
  NEW_TASK_EXAMPLE,
  TASK,
  TASK_EXAMPLE,
  taskBodyBytes,
  type TasksParts,
} from "./task_schema.ts";
import { viewTask } from "./task_view.ts";

/** Most different tasks that the tasks of a batch depend on. */
const MAX_DEPENDENCIES = 10_000;

/** Most values of a batch: a thousand for each of a thousand tasks. */
const MAX_VALUES = 1_048_576;

const BATCH_FIELDS = {
  tasks: described(
    list(asGiven(NEW_TASK.json, [NEW_TASK]), {
      minItems: 1,
      maxItems: MAX_BATCH_SIZE,
    }),
    "The tasks; the plan says how many there may be",
  ),
  atomic: withDefault(
    boolean(),
    false,
    "Whether all are created or none; without it each stands for itself",
  ),
};

type BatchInput = ObjectOf<typeof BATCH_FIELDS>;

/** The schema of the body. Its tasks are not read here but one by one. */
const BATCH: Schema<BatchInput> = named(
  "TaskBatch",
  object(BATCH_FIELDS),
  "Tasks that are made in one request",
);

const PROBLEM = named("Problem", PROBLEM_SHAPE);

/** The results of a batch. */
const BATCH_RESULTS: Shape = named(
  "TaskBatchResults",
  shape(
    shownObject({
      results: {
        type: "array",
        description: "One for each task, in their order",
        items: shownObject({
          status: {
            type: "integer",
            description: "The status of an answer to this task alone",
          },
          task: said("As in the answer for this single task", TASK.json),
          id: {
            type: "string",
            description: "The task's id in place of the task, where " +
              "`Prefer: return=minimal` asks for no more",
          },
          problem: said("Why it was not created", PROBLEM.json),
        }, ["task", "id", "problem"]),
      },
    }),
    [TASK, PROBLEM],
  ),
  {
    description: "The outcomes of the tasks of a batch",
    examples: [{ results: [{ status: 201, task: TASK_EXAMPLE }] }],
  },
);

/** Makes the route that creates many tasks. */
export function createBatchRoute(parts: TasksParts): AnyRoute {
  return defineRoute({
    ...CREATES,
    path: "/v1/tasks/batch",
    operationId: "createTasks",
    summary: "Create many tasks",
    description:
      "Unless `atomic` is set, each task stands for itself and has its own " +
      "entry in `results`. All are written in one commit when it is " +
      "set, or when there is an Idempotency-Key, else in pieces. The body " +
      "may have as many bytes as the service allows, 4 MiB unless set " +
      `otherwise, and ${shownNumber(MAX_VALUES)} values; all ` +
      "faults of its tasks are listed until there are " +
      `${shownNumber(MAX_BATCH_FAULTS)}, then one for each task.`,
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
  });
}

async function createBatch(
  parts: TasksParts,
  call: Call<unknown, BatchInput>,
): Promise<Answer> {
  const { atomic: isAtomic, tasks } = call.body;
  const { batchSize } = getLimits(call);
  if (tasks.length > batchSize) {
    return tooMany(`the plan allows ${batchSize} tasks in a batch`);
  }
  call.charge(tasks.length);
  const read = await readBatch(call, tasks);
  const dependencies = new Set(
    read.flatMap(({ input }) => input?.dependencies ?? []),
  );
  if (dependencies.size > MAX_DEPENDENCIES) {
    return tooMany(`its tasks depend on more than ${MAX_DEPENDENCIES} others`);
  }
  const maker = makerOf(call);
  const { requests, problems } = await judgeTasks(parts, maker, read);
  using creation = await beginCreation(parts, maker, {
    requests,
    // An answer that is kept is written with the tasks.
    isOneCommit: isAtomic || call.answerPlace !== undefined,
  });
  if (creation === undefined) {
    return refusalProblem(maker, { kind: "busy" }, parts);
  }
  const toBatch = (results: readonly CreateResult[]): readonly BatchResult[] =>
    results.map((result, index) =>
      problems[index] ??
        (isRefusal(result) ? refusalProblem(maker, result, parts) : result)
    );
  while (true) {
    const results = await creation.place();
    if (isAtomic && results.some(isRefusal)) {
      return atomicProblem(toBatch(results));
    }
    // Without a kept answer, some tasks may still fail by themselves.
    const kept = call.answerPlace &&
      await batchAnswer(call, toBatch(results));
    const outcome = await creation.write(kept && call.extraWrites(kept));
    if (outcome.kind === "ok") {
      return kept ?? await batchAnswer(call, toBatch(outcome.results));
    }
    if (outcome.kind !== "again") return refusalProblem(maker, outcome, parts);
  }
}

async function readBatch(
  call: CallContext,
  tasks: readonly unknown[],
): Promise<readonly TaskReading[]> {
  const read: TaskReading[] = [];
  let faultsLeft = MAX_BATCH_FAULTS;
  for (const [index, task] of tasks.entries()) {
    const at = `/tasks/${index}`;
    const { value: input, faults } = withFewFaults(
      faultsLeft,
      (faults) => NEW_TASK.read(task, at, faults),
    );
    faultsLeft -= faults.length;
    read.push({ at, input, faults });
    const pause = call.pausing.pause();
    if (pause !== undefined) await pause;
  }
  return read;
}

/** The outcome of one task of a batch. */
type BatchResult =
  | Exclude<CreateResult, CreateRefusal>
  | ProblemAnswer;

/** The answer with the result of each task of a batch, in their order. */
async function batchAnswer(
  call: CallContext,
  outcomes: readonly BatchResult[],
): Promise<Answer> {
  const isMinimal = prefersMinimal(call.header("prefer"));
  const payloads = seesPayloads(getCaller(call));
  let faults = 0;
  const results: string[] = [];
  for (const one of outcomes) {
    if (one.kind === "problem") {
      const shown = faults < MAX_BATCH_FAULTS ? one : withOneFault(one);
      faults += shown.errors?.length ?? 1;
      results.push(problemResult(call, shown));
    } else {
      const { kind, task, request: { worker } } = one;
      const status = kind === "created" ? 201 : 200;
      const embedded = new EmbeddedJson();
      const view = { workerName: worker.name, payloads, embedded };
      results.push(embedded.stringify(
        isMinimal
          ? { status, id: task.id }
          : { status, task: viewTask(task, view) },
      ));
    }
    const pause = call.pausing.pause();
    if (pause !== undefined) await pause;
  }
  return resultsAnswer(results, isMinimal ? MINIMAL_APPLIED : undefined);
}

function withOneFault(problem: ProblemAnswer): ProblemAnswer {
  return problem.errors === undefined
    ? problem
    : { ...problem, errors: problem.errors.slice(0, 1) };
}

/**
 * The problem of an atomic batch, in which one task failed and none was
 * created.
 */
function atomicProblem(results: readonly BatchResult[]): ProblemAnswer {
  const problems = results.flatMap((one, index) =>
    one.kind === "problem" ? [{ problem: one, index }] : []
  );
  const errors = problems.flatMap(({ problem, index }) =>
    problem.errors ?? [toFault(problem, index)]
  ).slice(0, MAX_FAULTS);
  const [first] = problems;
  // A problem that is not a fault of the request, such as a used-up quota,
  // takes precedence.
  const other = problems.find(({ problem }) => getStatus(problem) !== 422);
  if (first === undefined || other === undefined) return invalidRequest(errors);
  return { ...other.problem, errors };
}

function toFault(
  { code, detail }: ProblemAnswer,
  index: number,
): RequestFault {
  return { pointer: `/tasks/${index}`, code, detail: detail ?? code };
}

function tooMany(reason: string): ProblemAnswer {
  const detail = cannotTake(reason);
  return invalidRequest([{ pointer: "/tasks", code: "too_many", detail }]);
}
