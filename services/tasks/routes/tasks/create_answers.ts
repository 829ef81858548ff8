/**
 * Answers to requests that create tasks: a task, the results of a batch, and the
 * problems of what was refused.
 *
 * @module
 */

import { NEW_TASK, TASK, TASK_EXAMPLE } from "./task_schema.ts";
import { seesPayloads } from "../../access/caller.ts";
import {
  type CreateOutcome,
  type CreateResult,
  isRefusal,
} from "../../engine/creation.ts";
import { EmbeddedJson } from "../../engine/stored_json.ts";
import type { CreateRefusal } from "../../engine/key_reservations.ts";
import { type Answer, problemText, statusOf } from "../../http/answer.ts";
import { type CallContext, callerOf, tenantOf } from "../../http/call.ts";
import { requestInProgress } from "../../http/idempotent_answers.ts";
import {
  invalidRequest,
  problem,
  PROBLEM_SHAPE,
  type ProblemAnswer,
  problemOfError,
  type RequestFault,
} from "../../http/problem_answer.ts";
import { MINIMAL_APPLIED, prefersMinimal } from "../../http/request_headers.ts";
import {
  cannotTake,
  MAX_BATCH_FAULTS,
  MAX_FAULTS,
} from "../../../shared/schema/fault.ts";
import {
  described,
  named,
  type Schema,
  type Shape,
  shape,
  shownObject,
} from "../../../shared/schema/schema.ts";
import { boolean } from "../../../shared/schema/values.ts";
import { asGiven, list } from "../../../shared/schema/composite.ts";
import { object, withDefault } from "../../../shared/schema/object.ts";
import { taskAnswer, wrongState } from "./task_answer.ts";
import { viewTask } from "./task_view.ts";
import type { TasksParts } from "./tasks_parts.ts";

/** Most tasks of a batch, whatever the plan says. */
const MAX_TASKS = 10_000;

/** The body as it was read. */
export interface BatchInput {
  /** The tasks as they came. */
  readonly tasks: readonly unknown[];
  /** Whether all are created or none. */
  readonly atomic: boolean;
}

/** The body; its tasks are read one by one. */
export const BATCH: Schema<BatchInput> = named(
  "TaskBatch",
  object({
    tasks: described(
      list(asGiven(NEW_TASK.json, [NEW_TASK]), {
        minItems: 1,
        maxItems: MAX_TASKS,
      }),
      "The tasks; the plan says how many there may be",
    ),
    atomic: withDefault(
      described(boolean(), "Whether all are created or none"),
      false,
    ),
  }),
);

const PROBLEM = named("Problem", PROBLEM_SHAPE);

/** The results of a batch. */
export const BATCH_RESULTS: Shape = named(
  "TaskBatchResults",
  described(
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
            task: TASK.json,
            id: {
              type: "string",
              description: "The task's id in place of the task, where " +
                "`Prefer: return=minimal` asks for no more",
            },
            problem: PROBLEM.json,
          }, ["task", "id", "problem"]),
        },
      }),
      [TASK, PROBLEM],
    ),
    { examples: [{ results: [{ status: 201, task: TASK_EXAMPLE }] }] },
  ),
);

/** A call that creates tasks. */
interface CreateCall {
  /** The request. */
  readonly call: CallContext;
  /** The parts of the routes. */
  readonly parts: TasksParts;
}

/** The answer to a request for one task. */
export function createdAnswer(
  { call, parts }: CreateCall,
  [result]: readonly CreateResult[],
): Answer {
  if (result === undefined) return problem("internal");
  if (isRefusal(result)) return refusalProblem({ call, parts }, result);
  return taskAnswer(call, result.task, {
    workerName: result.request.worker.name,
    parts: parts.engine.parts,
    status: result.kind === "created" ? 201 : 200,
    hasLocation: true,
  });
}

/** What became of a task of a batch. */
export type BatchResult =
  | Exclude<CreateResult, CreateRefusal>
  | ProblemAnswer;

/** The answer with a result for each task of a batch, in their order. */
export async function batchAnswer(
  call: CallContext,
  outcomes: readonly BatchResult[],
): Promise<Answer> {
  const isMinimal = prefersMinimal(call.header("prefer"));
  const payloads = seesPayloads(callerOf(call));
  let faults = 0;
  const results: string[] = [];
  for (const one of outcomes) {
    if (one.kind === "problem") {
      const shown = faults < MAX_BATCH_FAULTS ? one : withOneFault(one);
      faults += shown.errors?.length ?? 1;
      results.push(
        `{"status":${statusOf(one)},"problem":${problemText(call, shown)}}`,
      );
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
  return {
    kind: "text",
    status: 200,
    text: `{"results":[${results.join(",")}]}`,
    contentType: "application/json",
    ...(isMinimal ? { headers: MINIMAL_APPLIED } : {}),
  };
}

function withOneFault(problem: ProblemAnswer): ProblemAnswer {
  return problem.errors === undefined
    ? problem
    : { ...problem, errors: problem.errors.slice(0, 1) };
}

/** The problem of an atomic batch of which nothing was created. */
export function atomicProblem(results: readonly BatchResult[]): ProblemAnswer {
  const problems = results.flatMap((one, index) =>
    one.kind === "problem" ? [{ problem: one, index }] : []
  );
  const errors = problems.flatMap(({ problem, index }) =>
    problem.errors ?? [faultOf(problem, index)]
  ).slice(0, MAX_FAULTS);
  const [first] = problems;
  // A problem that is no fault of the request, such as a quota, has precedence.
  const other = problems.find(({ problem }) => statusOf(problem) !== 422);
  if (first === undefined || other === undefined) return invalidRequest(errors);
  return { ...other.problem, errors };
}

function faultOf(
  { code, detail }: ProblemAnswer,
  index: number,
): RequestFault {
  return { pointer: `/tasks/${index}`, code, detail: detail ?? code };
}

/** The problem of a batch with more tasks than the plan allows. */
export function tooManyTasks(batchSize: number): ProblemAnswer {
  return tooMany(`the plan allows ${batchSize} tasks in a batch`);
}

/** The problem of a batch whose tasks depend on too many others. */
export function tooManyDependencies(max: number): ProblemAnswer {
  return tooMany(`its tasks depend on more than ${max} others`);
}

function tooMany(reason: string): ProblemAnswer {
  const detail = cannotTake(reason);
  return invalidRequest([{ pointer: "/tasks", code: "too_many", detail }]);
}

/** The problem of a request for a task that was refused. */
export function refusalProblem(
  { call, parts }: CreateCall,
  refusal:
    | CreateRefusal
    | Exclude<CreateOutcome, { readonly results: unknown }>,
): ProblemAnswer {
  switch (refusal.kind) {
    case "skipped":
      return problem("internal");
    case "invalid":
      return invalidRequest(refusal.faults);
    case "unknown_worker": {
      const detail = `Cannot use worker "${refusal.worker.name}": it was ` +
        "removed";
      return problem("unknown_worker", {
        detail,
        errors: [{ pointer: "/worker", code: "unknown_worker", detail }],
      });
    }
    case "key_conflict":
      return problem("key_conflict", { detail: refusal.reason });
    case "wrong_state":
      return wrongState(refusal.reason, refusal);
    case "over_quota": {
      const { what, limit, used } = refusal;
      return problem("quota_exceeded", {
        detail: `Cannot create task: the plan allows ${limit} ${what}`,
        extensions: { limit, used, plan: tenantOf(call).plan },
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
        requestId: call.requestId,
        logger: parts.engine.parts.logger,
      });
  }
}
